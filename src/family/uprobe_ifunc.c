/* SPDX-License-Identifier: Apache-2.0 */
/* Which implementation of an IFUNC the target chose: read from the slots that the loader filled. In: symbol. Out: a refusal. No state. */
#include "family/uprobe_symbol.h"

#include <string.h>
#include <unistd.h>

#include "elf/reloc.h"

enum { MAX_SLOTS = 16 };

/* Reads the slots in the target's memory; the first value that lies in the defining file is the implementation's address there. */
static bool read_slots(const struct xp_probe_file *slots_in, const struct xp_probe_file *defines, const uint64_t *slots, size_t n,
		       uint64_t *ret_offset)
{
	const struct xp_maps *maps = xp_target_maps(defines->target);
	xp_auto_fd memory = xp_target_openat(defines->target, "mem");
	uint64_t address, value;

	for (size_t i = 0; i < n && memory >= 0; i++) {
		if (!xp_probe_file_address(slots_in, slots[i], &address) ||
		    pread(memory, &value, sizeof(value), (off_t)address) != (ssize_t)sizeof(value))
			continue;
		const struct xp_mapping *mapping = xp_maps_find(maps, value);
		if (!mapping || !mapping->exec || !xp_same_mapped_file(mapping, defines->mapping))
			continue;
		*ret_offset = value - mapping->start + mapping->offset;
		return true;
	}
	return false;
}

/* The file's own slots: bound to the resolver directly, or by name when others may override it. */
static bool chosen_inside(const struct xp_probe_file *file, const struct xp_symbol *symbol, const char *name, uint64_t *ret_offset)
{
	uint64_t slots[MAX_SLOTS];
	size_t n = xp_elf_ifunc_slots(file->elf, symbol->address, slots, MAX_SLOTS);

	if (read_slots(file, file, slots, n, ret_offset))
		return true;
	n = xp_elf_import_slots(file->elf, name, slots, MAX_SLOTS);
	return read_slots(file, file, slots, n, ret_offset);
}

/* The slots of everyone who calls the function from outside. */
static bool chosen_outside(const struct xp_probe_file *file, const char *name, struct xp_arena *arena, uint64_t *ret_offset)
{
	const struct xp_mapping **files;
	size_t n = xp_probe_files(file->target, arena, &files);
	bool found = false;

	for (size_t i = 0; i < n && !found; i++) {
		xp_auto_err ignored = { 0 }; /* the next file is asked */
		struct xp_probe_file other;
		uint64_t slots[MAX_SLOTS];

		if (xp_same_mapped_file(files[i], file->mapping) || xp_probe_file_open_mapping(file->target, files[i], &other, &ignored))
			continue;
		found = read_slots(&other, file, slots, xp_elf_import_slots(other.elf, name, slots, MAX_SLOTS), ret_offset);
		xp_probe_file_done(&other);
	}
	return found;
}

int xp_uprobe_refuse_ifunc(const struct xp_endpoint *ep, const struct xp_probe_file *file, const struct xp_symbol *symbol,
			   struct xp_err *reterr)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	const char *name = xp_arena_dup(arena, symbol->name, symbol->name_len);
	const char *word = ep->boundary == XP_AT_EXIT ? "return" : "entry";
	uint64_t offset, vaddr;

	xp_fail(reterr, XP_E_PROBE_REFUSED, "%.256s is an IFUNC: its code only chooses an implementation and runs once", name);
	xp_err_object(reterr, "%s", ep->selector);
	if (!chosen_inside(file, symbol, name, &offset) && !chosen_outside(file, name, arena, &offset)) {
		xp_err_hint(reterr, "which implementation the process uses cannot be read; select one of them by name or by file offset");
		return -XP_E_PROBE_REFUSED;
	}
	struct xp_symbol chosen = { 0 };
	if (xp_elf_to_vaddr(file->elf, offset, &vaddr))
		xp_symbols_resolve(file->elf, &vaddr, 1, &chosen);
	const char *selector = xp_arena_fmt(arena, "uprobe:%s:+0x%lx:%s", file->mapping->path, (unsigned long)offset, word);
	if (chosen.name)
		xp_err_hint(reterr, "the process uses %.*s: %s", (int)chosen.name_len, chosen.name, selector);
	else
		xp_err_hint(reterr, "the process uses the implementation at file offset 0x%lx: %s", (unsigned long)offset, selector);
	xp_err_detail(reterr, "candidates", json_pack("[o]", xp_json_text(selector)));
	return -XP_E_PROBE_REFUSED;
}
