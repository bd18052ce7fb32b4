/* SPDX-License-Identifier: Apache-2.0 */
/* From a selector's path to the file that the target maps. In: target and path. Out: mapping and image. No state. */
#include "family/probe_file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/symbols.h"

bool xp_same_mapped_file(const struct xp_mapping *a, const struct xp_mapping *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor && !strcmp(a->path, b->path);
}

static bool is_file(const struct xp_mapping *mapping)
{
	return mapping->inode && mapping->path[0] == '/';
}

/* Executable ones first; among them one whose file was not deleted, for the program may have loaded its new version as well. */
static const struct xp_mapping *find_by_path(const struct xp_maps *maps, const char *path)
{
	const struct xp_mapping *best = NULL;
	int best_rank = -1;

	for (size_t i = 0; i < maps->n; i++) {
		const struct xp_mapping *mapping = &maps->at[i];
		int rank = 2 * mapping->exec + !mapping->deleted;

		if (is_file(mapping) && rank > best_rank && !strcmp(mapping->path, path)) {
			best = mapping;
			best_rank = rank;
		}
	}
	return best;
}

static const struct xp_mapping *find_by_file(const struct xp_target *target, const struct stat *st)
{
	const struct xp_maps *maps = xp_target_maps(target);
	const struct xp_mapping *other = NULL;

	for (size_t i = 0; i < maps->n; i++) {
		const struct xp_mapping *mapping = &maps->at[i];

		if (!is_file(mapping) || mapping->inode != st->st_ino || !xp_target_same_file(target, mapping, st))
			continue;
		if (mapping->exec)
			return mapping;
		other = mapping;
	}
	return other;
}

static const struct xp_mapping *find(const struct xp_target *target, const char *path)
{
	const struct xp_mapping *mapping = find_by_path(xp_target_maps(target), path);
	struct stat st;

	if (mapping)
		return mapping;
	xp_auto_fd theirs = path[0] == '/' ? xp_target_path_open(target, path) : -1;
	if (theirs >= 0 && !fstat(theirs, &st) && S_ISREG(st.st_mode))
		mapping = find_by_file(target, &st);
	if (!mapping && !stat(path, &st) && S_ISREG(st.st_mode))
		mapping = find_by_file(target, &st);
	return mapping;
}

size_t xp_probe_files(const struct xp_target *target, struct xp_arena *arena, const struct xp_mapping ***ret_mappings)
{
	const struct xp_maps *maps = xp_target_maps(target);
	const struct xp_mapping **files = xp_arena_array(arena, const struct xp_mapping *, maps->n + 1);
	size_t n = 0;

	for (size_t i = 0; i < maps->n; i++) {
		const struct xp_mapping *mapping = &maps->at[i];
		size_t known = 0;

		if (!is_file(mapping) || !mapping->exec)
			continue;
		while (known < n && !xp_same_mapped_file(files[known], mapping))
			known++;
		if (known == n)
			files[n++] = mapping;
	}
	*ret_mappings = files;
	return n;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int not_mapped(const struct xp_target *target, const char *path, struct xp_err *reterr)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	const struct xp_mapping **files;
	size_t n = xp_probe_files(target, arena, &files);

	xp_fail(reterr, XP_E_BINARY_NOT_MAPPED, "%.400s is not mapped executable in process %u", path, xp_target_pid(target));
	xp_err_object(reterr, "%s", path);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(base_name(files[i]->path), base_name(path)))
			xp_err_hint(reterr, "the process maps %s", files[i]->path);
	xp_err_hint(reterr, "name a file of /proc/%u/maps that has an x in its permissions", xp_target_pid(target));
	return -XP_E_BINARY_NOT_MAPPED;
}

int xp_probe_file_open_mapping(struct xp_target *target, const struct xp_mapping *mapping, struct xp_probe_file *ret_file,
			       struct xp_err *reterr)
{
	xp_auto_fd fd = -1;
	struct xp_elf *elf;
	int rc = xp_target_open_mapping(target, mapping, &fd, reterr);

	if (!rc)
		rc = xp_elf_open(fd, mapping->path, &elf, reterr);
	if (rc)
		return rc;
	*ret_file = (struct xp_probe_file){ .target = target, .mapping = mapping, .elf = elf };
	return 0;
}

void xp_probe_file_load_symbols(const struct xp_probe_file *file)
{
	xp_auto_fd root = xp_target_openat(file->target, "root");

	xp_elf_load_symbols(file->elf, root, file->mapping->path);
}

void xp_probe_file_done(struct xp_probe_file *file)
{
	xp_elf_close(file->elf);
	file->elf = NULL;
}

/* What address - file address is for this mapping: the segment that the loader put there begins in its first page. */
static bool bias_of(const struct xp_elf *elf, const struct xp_mapping *mapping, uint64_t *ret_bias)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	size_t n;
	const struct xp_elf_segment *segments = xp_elf_segments(elf, &n);

	for (int pass = 0; pass < 2; pass++) /* first by kind too: segments may share a page of the file */
		for (size_t i = 0; i < n; i++) {
			const struct xp_elf_segment *segment = &segments[i];

			if (segment->offset / page * page != mapping->offset || (!pass && segment->exec != mapping->exec))
				continue;
			*ret_bias = mapping->start - (segment->vaddr - segment->offset + mapping->offset);
			return true;
		}
	return false;
}

bool xp_probe_file_address(const struct xp_probe_file *file, uint64_t vaddr, uint64_t *ret_address)
{
	const struct xp_maps *maps = xp_target_maps(file->target);
	uint64_t bias;

	for (size_t i = 0; i < maps->n; i++)
		if (xp_same_mapped_file(&maps->at[i], file->mapping) && bias_of(file->elf, &maps->at[i], &bias)) {
			*ret_address = vaddr + bias;
			return true;
		}
	return false;
}

/* Programs that copy their text to huge pages leave an anonymous executable mapping where the file's was. */
static bool is_copied(const struct xp_probe_file *file, uint64_t offset)
{
	uint64_t vaddr, address;

	if (!xp_elf_to_vaddr(file->elf, offset, &vaddr) || !xp_probe_file_address(file, vaddr, &address))
		return false;
	const struct xp_mapping *mapping = xp_maps_find(xp_target_maps(file->target), address);
	return mapping && mapping->exec && !is_file(mapping);
}

static int fail_copied(const struct xp_probe_file *file, struct xp_err *reterr)
{
	xp_fail(reterr, XP_E_BINARY_NOT_MAPPED, "the process runs a copy of the text of %s in anonymous memory, where no probe can fire",
		file->mapping->path);
	xp_err_hint(reterr, "start the program without moving its text to huge pages");
	return -XP_E_BINARY_NOT_MAPPED;
}

/* A file that is mapped, but not executable: data, or a program whose whole text was moved. */
static int refuse_data(const struct xp_probe_file *file, const char *path, struct xp_err *reterr)
{
	size_t n;
	const struct xp_elf_segment *segments = xp_elf_segments(file->elf, &n);

	for (size_t i = 0; i < n; i++)
		if (segments[i].exec && is_copied(file, segments[i].offset))
			return fail_copied(file, reterr);
	return not_mapped(file->target, path, reterr);
}

int xp_probe_file_open(struct xp_target *target, const char *path, struct xp_probe_file *ret_file, struct xp_err *reterr)
{
	const struct xp_mapping *mapping = find(target, path);
	struct xp_probe_file file;

	if (!mapping)
		return not_mapped(target, path, reterr);
	int rc = xp_probe_file_open_mapping(target, mapping, &file, reterr);
	if (rc)
		return mapping->exec ? rc : not_mapped(target, path, reterr);
	if (!mapping->exec) {
		rc = refuse_data(&file, path, reterr);
		xp_probe_file_done(&file);
		return rc;
	}
	xp_probe_file_load_symbols(&file);
	*ret_file = file;
	return 0;
}

int xp_probe_file_at(const struct xp_probe_file *file, uint64_t offset, const struct xp_mapping **ret_mapping, struct xp_err *reterr)
{
	const struct xp_maps *maps = xp_target_maps(file->target);

	for (size_t i = 0; i < maps->n; i++) {
		const struct xp_mapping *mapping = &maps->at[i];

		if (!mapping->exec || !xp_same_mapped_file(mapping, file->mapping) || offset < mapping->offset ||
		    offset - mapping->offset >= mapping->end - mapping->start)
			continue;
		*ret_mapping = mapping;
		return 0;
	}
	if (is_copied(file, offset))
		return fail_copied(file, reterr);
	return xp_fail(reterr, XP_E_SYMBOL_NOT_FOUND, "file offset 0x%lx of %s is not in a part that the process has mapped executable",
		       (unsigned long)offset, file->mapping->path);
}
