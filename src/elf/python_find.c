// SPDX-License-Identifier: Apache-2.0
/*
 * Files in a target's mappings that hold a CPython runtime. In: maps. Out: run-time addresses of the runtime and what the file alone says
 * of its release. Only the program itself and files called python or libpython are opened. No state.
 */
#include <stdio.h>
#include <stdlib.h>

#include "elf/elf_priv.h"
#include "elf/python_priv.h"
#include "target/status.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "3.11" out of python3.11d and libpython3.11.so.1.0; false for libpython3.so and the like. */
static bool release_of_name(const char *path, struct xp_python_release *ret_release)
{
	const char *name = base_name(path);
	struct xp_python_release release = { 0 };

	if (!strncmp(name, "lib", 3))
		name += 3;
	if (sscanf(name, "python%1u.%2u", &release.major, &release.minor) != 2)
		return false;
	release.level = 0xf;
	*ret_release = release;
	return true;
}

static bool is_interpreter_name(const char *path)
{
	const char *name = base_name(path);

	return !strncmp(name, "python", 6) || !strncmp(name, "libpython", 9);
}

const char *xp_python_release_text(struct xp_arena *arena, const struct xp_python_release *release)
{
	static const char *const letters[16] = { [0xa] = "a", [0xb] = "b", [0xc] = "rc" };
	const char *letter = letters[release->level & 15];

	if (!release->micro_known)
		return xp_arena_fmt(arena, "%u.%u", release->major, release->minor);
	if (!letter)
		return xp_arena_fmt(arena, "%u.%u.%u", release->major, release->minor, release->micro);
	return xp_arena_fmt(arena, "%u.%u.%u%s%u", release->major, release->minor, release->micro, letter, release->serial);
}

static const uint32_t level_of_letter[256] = { ['a'] = 0xa, ['b'] = 0xb, ['r'] = 0xc };

/* The rest of PY_VERSION behind "3.N.": "18", "0rc2", "4+". False: something else stands there. */
static bool parse_micro(const char *text, const char *end, struct xp_python_release *release)
{
	const char *at = text;
	uint32_t micro = 0;

	while (at < end && at - text < 3 && *at >= '0' && *at <= '9')
		micro = micro * 10 + (uint32_t)(*at++ - '0');
	if (at == text || at == end)
		return false;
	uint32_t level = level_of_letter[(unsigned char)*at];
	if (!level && *at && *at != '+')
		return false;
	release->micro = micro;
	release->micro_known = true;
	release->level = level ? level : 0xf;
	while (level && at < end && (*at < '0' || *at > '9') && *at)
		at++;
	release->serial = level && at < end ? (uint32_t)strtoul(at, NULL, 10) & 15 : 0;
	return true;
}

/*
 * Before 3.11 only the text that Py_GetVersion prints names the micro release; `release` has the minor one. Linkers let it be the end of a
 * longer text, so one that stands alone is only preferred.
 */
static bool find_text(const struct xp_elf_section *rodata, bool alone, struct xp_python_release *release)
{
	const char *at = (const char *)rodata->bytes, *end = at + rodata->size;
	char wanted[8];
	size_t len = (size_t)snprintf(wanted, sizeof(wanted), "3.%u.", release->minor);

	while ((at = memmem(at, (size_t)(end - at), wanted, len))) {
		bool starts = at > (const char *)rodata->bytes && !at[-1];

		at += len;
		if ((starts || !alone) && memchr(at, '\0', (size_t)(end - at)) && parse_micro(at, end, release))
			return true;
	}
	return false;
}

static void read_release(const struct xp_elf *elf, const char *path, struct xp_python_release *ret_release)
{
	struct xp_elf_section rodata;
	struct xp_python_release release = { .major = 3, .level = 0xf };
	bool named = release_of_name(path, &release);

	if (named)
		*ret_release = release;
	if (!xp_elf_section(elf, ".rodata", &rodata) || !rodata.bytes || (named && release.major != 3))
		return;
	for (uint32_t minor = named ? release.minor : 8; minor <= (named ? release.minor : 10); minor++) {
		release.minor = minor;
		if (find_text(&rodata, true, &release) || find_text(&rodata, false, &release)) {
			*ret_release = release;
			return;
		}
	}
}

enum { RUNTIME, CODE_TYPE, HEX, WANTED_COUNT };
static const char *const wanted_names[WANTED_COUNT] = { [RUNTIME] = "_PyRuntime", [CODE_TYPE] = "PyCode_Type", [HEX] = "Py_Version" };

/* Data symbols, which the function look-ups of elf/symbols.h leave out. */
static void find_data(const struct xp_symtab *table, uint64_t *vaddrs)
{
	Elf64_Sym symbol;
	const char *name;

	for (uint64_t i = 0; i < table->n; i++) {
		if (!xp_symtab_read(table, i, &symbol, &name) || symbol.st_shndx == SHN_UNDEF || !symbol.st_value)
			continue;
		for (size_t w = 0; w < WANTED_COUNT; w++)
			if (!vaddrs[w] && !strcmp(name, wanted_names[w]))
				vaddrs[w] = symbol.st_value;
	}
}

static bool find_addresses(const struct xp_elf *elf, uint64_t *vaddrs)
{
	struct xp_symtab table;
	struct xp_elf_section section;

	if (xp_elf_dynsym(elf, &table))
		find_data(&table, vaddrs);
	if (!vaddrs[RUNTIME] && xp_elf_symtab(elf, SHT_SYMTAB, &table))
		find_data(&table, vaddrs);
	if (!vaddrs[RUNTIME] && xp_elf_section(elf, ".PyRuntime", &section))
		vaddrs[RUNTIME] = section.vaddr;
	return vaddrs[RUNTIME];
}

/* What to add to the file's addresses; by the executable segment that this mapping shows. */
static bool find_bias(const struct xp_elf *elf, const struct xp_mapping *mapping, uint64_t *ret_bias)
{
	size_t n;
	const struct xp_elf_segment *segments = xp_elf_segments(elf, &n);

	for (size_t i = 0; i < n; i++) {
		const struct xp_elf_segment *segment = &segments[i];

		if (!segment->exec || segment->offset >= mapping->offset + (mapping->end - mapping->start) ||
		    segment->offset + segment->file_size <= mapping->offset)
			continue;
		*ret_bias = mapping->start + segment->offset - mapping->offset - segment->vaddr;
		return true;
	}
	return false;
}

static bool open_place(struct xp_target *target, struct xp_arena *arena, const struct xp_mapping *mapping,
		       struct xp_python_place *ret_place)
{
	xp_auto_fd fd = -1;
	xp_auto(xp_elf_close) struct xp_elf *elf = NULL;
	xp_auto_err err = { 0 };
	struct xp_python_place place = { 0 };
	uint64_t vaddrs[WANTED_COUNT] = { 0 }, bias;

	if (xp_target_open_mapping(target, mapping, &fd, &err) || xp_elf_open(fd, mapping->path, &elf, &err) ||
	    !find_addresses(elf, vaddrs) || !find_bias(elf, mapping, &bias))
		return false;
	place.path = xp_arena_str(arena, mapping->path);
	place.runtime = vaddrs[RUNTIME] + bias;
	place.code_type = vaddrs[CODE_TYPE] ? vaddrs[CODE_TYPE] + bias : 0;
	place.hex = vaddrs[HEX] ? vaddrs[HEX] + bias : 0;
	read_release(elf, mapping->path, &place.release);
	xp_python_eval_shape(elf, &place);
	xp_python_gc_shape(elf, arena, &place);
	*ret_place = place;
	return true;
}

static bool is_other_file(const struct xp_maps *maps, size_t i)
{
	const struct xp_mapping *mapping = &maps->at[i];

	for (size_t j = 0; j < i; j++)
		if (maps->at[j].exec && maps->at[j].inode == mapping->inode && maps->at[j].dev_major == mapping->dev_major &&
		    maps->at[j].dev_minor == mapping->dev_minor)
			return false;
	return true;
}

/* `link` is what /proc says of the program's file, which may be deleted meanwhile. */
static bool is_program(const char *link, const char *path)
{
	size_t len = strlen(path);

	return !strncmp(link, path, len) && (!link[len] || !strcmp(link + len, " (deleted)"));
}

size_t xp_python_find(struct xp_target *target, struct xp_arena *arena, struct xp_python_place *ret_places, size_t max,
		      struct xp_python_release *ret_named)
{
	const struct xp_maps *maps = xp_target_maps(target);
	const char *program = xp_target_link(target, "exe", arena);
	size_t n = 0;

	for (size_t i = 0; i < maps->n && n < max; i++) {
		const struct xp_mapping *mapping = &maps->at[i];

		if (!mapping->exec || !mapping->inode || (!is_program(program, mapping->path) && !is_interpreter_name(mapping->path)) ||
		    !is_other_file(maps, i))
			continue;
		if (open_place(target, arena, mapping, &ret_places[n]))
			n++;
		else if (!ret_named->minor && is_interpreter_name(mapping->path))
			release_of_name(mapping->path, ret_named);
	}
	return n;
}
