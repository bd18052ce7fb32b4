/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a target -> addresses of what looks like an NVTX header's globals. In: mappings, .data sections. Out: calls of a visitor. */
#include "elf/nvtx.h"

#include <string.h>

#include "base/hash.h"
#include "elf/image.h"

enum { STEP = 8, GLOBALS_BYTES = 1168 };

static uint64_t file_key(const struct xp_mapping *mapping)
{
	return xp_hash_mix((uint64_t)mapping->dev_major << 52 ^ (uint64_t)mapping->dev_minor << 32 ^ mapping->inode);
}

static bool same_file(const struct xp_mapping *a, const struct xp_mapping *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

/* Numbers that no call changes; pointers are relocated, so the file says nothing of them. */
static bool looks_alike(const unsigned char *at)
{
	uint64_t word[5];

	memcpy(word, at, sizeof(word));
	return word[1] == 16 && !word[0] && word[3] == 24 && word[4] == 3;
}

/* One file may be mapped more than once. */
static void tell_place(const struct xp_maps *maps, const struct xp_mapping *first, const struct xp_nvtx_file *file, uint64_t offset,
		       const struct xp_nvtx_visitor *visitor)
{
	for (size_t i = 0; i < maps->n; i++) {
		const struct xp_mapping *mapping = &maps->at[i];

		if (mapping->write && !mapping->shared && same_file(mapping, first) && offset >= mapping->offset &&
		    offset - mapping->offset < mapping->end - mapping->start)
			visitor->found(visitor->arg, file, mapping->start + (offset - mapping->offset));
	}
}

/* How many bytes were read. */
static uint64_t look_through_elf(const struct xp_elf *elf, const struct xp_maps *maps, const struct xp_mapping *first,
				 const struct xp_nvtx_file *file, const struct xp_nvtx_visitor *visitor)
{
	struct xp_elf_section data;

	if (!xp_elf_section(elf, ".data", &data) || !data.bytes)
		return 0;
	for (uint64_t at = -data.vaddr % STEP; at + GLOBALS_BYTES <= data.size; at += STEP)
		if (data.bytes[at + 8] == 16 && looks_alike(data.bytes + at))
			tell_place(maps, first, file, data.offset + at, visitor);
	return data.size;
}

static uint64_t look_through(struct xp_target *target, const struct xp_mapping *first, const struct xp_nvtx_file *file,
			     const struct xp_nvtx_visitor *visitor)
{
	xp_auto(xp_elf_close) struct xp_elf *elf = NULL;
	xp_auto_err ignored = { 0 };
	xp_auto_fd fd = -1;

	if (xp_target_open_mapping(target, first, &fd, &ignored) || xp_elf_open(fd, first->path, &elf, &ignored))
		return 0;
	return look_through_elf(elf, xp_target_maps(target), first, file, visitor);
}

static bool is_first_of_file(const struct xp_maps *maps, size_t index)
{
	for (size_t i = index; i-- > 0;)
		if (maps->at[i].exec && maps->at[i].inode && same_file(&maps->at[i], &maps->at[index]))
			return false;
	return true;
}

void xp_nvtx_find(struct xp_target *target, const struct xp_nvtx_visitor *visitor)
{
	const struct xp_maps *maps = xp_target_maps(target);

	for (size_t i = 0; i < maps->n; i++) {
		const struct xp_mapping *mapping = &maps->at[i];
		const struct xp_nvtx_file file = { .start = mapping->start, .file = file_key(mapping) };

		if (!mapping->exec || !mapping->inode || !is_first_of_file(maps, i))
			continue;
		if (visitor->knows && visitor->knows(visitor->arg, &file))
			continue;
		uint64_t bytes = look_through(target, mapping, &file, visitor);
		if (visitor->looked)
			visitor->looked(visitor->arg, &file, bytes);
	}
}
