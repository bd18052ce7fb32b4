/* SPDX-License-Identifier: Apache-2.0 */
/* Language of a file. In: an image with symbols. Out: struct xp_language. No state. */
#include "elf/language.h"

#include <stdlib.h>
#include <string.h>

#include "elf/elf_priv.h"

static bool has_section(const struct xp_elf *elf, const char *name)
{
	struct xp_elf_section section;

	return xp_elf_section(elf, name, &section);
}

static bool has_go_note(const struct xp_elf *elf)
{
	struct xp_elf_note_cursor cursor = { 0 };
	struct xp_elf_note note;

	while (xp_elf_note_next(elf, &cursor, &note))
		if (xp_elf_note_is(&note, "Go", 4))
			return true;
	return false;
}

/* The block that the Go linker writes; its place when the section headers are gone: the start of a writable segment. */
static const unsigned char *find_build_info(const struct xp_elf *elf, uint64_t *ret_size)
{
	static const char magic[] = "\xff Go buildinf:";
	struct xp_elf_section section;

	if (xp_elf_section(elf, ".go.buildinfo", &section) && section.bytes && section.size >= 32 &&
	    !memcmp(section.bytes, magic, sizeof(magic) - 1)) {
		*ret_size = section.size;
		return section.bytes;
	}
	for (size_t i = 0; i < elf->n_segments; i++) {
		const struct xp_elf_segment *segment = &elf->segments[i];
		const unsigned char *bytes = segment->write ? xp_elf_bytes(elf, segment->offset, segment->file_size) : NULL;

		for (uint64_t at = 0; bytes && at < 65536 && at + 32 <= segment->file_size; at += 16) {
			if (memcmp(bytes + at, magic, sizeof(magic) - 1))
				continue;
			*ret_size = segment->file_size - at;
			return bytes + at;
		}
	}
	return NULL;
}

/* Version text behind the block's header (Go 1.18 on), or behind two pointers (before). */
static const char *version_text(const struct xp_elf *elf, const unsigned char *info, uint64_t size, uint64_t *ret_len)
{
	uint64_t at, head[2];

	if (info[15] & 2) {
		if (size <= 33)
			return NULL;
		*ret_len = info[32];
		return *ret_len < 128 && *ret_len <= size - 33 ? (const char *)info + 33 : NULL;
	}
	memcpy(&at, info + 16, sizeof(at));
	const unsigned char *string = xp_elf_at(elf, at, sizeof(head));
	if (info[14] != 8 || !string)
		return NULL;
	memcpy(head, string, sizeof(head));
	*ret_len = head[1];
	return head[1] < 128 ? (const char *)xp_elf_at(elf, head[0], head[1]) : NULL;
}

static void read_go_version(const struct xp_elf *elf, struct xp_language *language)
{
	uint64_t size, len;
	const unsigned char *info = find_build_info(elf, &size);
	const char *text = info ? version_text(elf, info, size, &len) : NULL;
	char copy[32] = "", *end;

	if (!text || len < 5 || memcmp(text, "go", 2))
		return;
	memcpy(copy, text + 2, len - 2 < sizeof(copy) ? len - 2 : sizeof(copy) - 1);
	unsigned long major = strtoul(copy, &end, 10);
	if (*end != '.' || major > 1000)
		return;
	unsigned long minor = strtoul(end + 1, NULL, 10);
	language->go_major = (unsigned)major;
	language->go_minor = minor < 1000 ? (unsigned)minor : 999;
}

struct text_range {
	uint64_t start, end;
};

static bool take_bound(const struct xp_symbol *symbol, void *arg)
{
	struct text_range *range = arg;

	if (symbol->name_len == strlen("runtime.text") && !range->start)
		range->start = symbol->address;
	if (!strcmp(symbol->name, "runtime.etext"))
		range->end = symbol->address;
	return !range->start || !range->end;
}

static bool needs_cxx(const struct xp_elf *elf)
{
	const char *needed;

	for (size_t i = 0; (needed = xp_elf_needed(elf, i)); i++)
		if (!strncmp(needed, "libstdc++.so", 12) || !strncmp(needed, "libc++.so", 9) || !strncmp(needed, "libc++abi.so", 12))
			return true;
	return false;
}

/* Read-only data, where run times keep type names and messages, has this text. */
static bool has_text(const struct xp_elf *elf, const char *text, size_t size)
{
	for (size_t i = 0; i < elf->n_segments; i++) {
		const struct xp_elf_segment *segment = &elf->segments[i];
		const unsigned char *bytes = segment->write ? NULL : xp_elf_bytes(elf, segment->offset, segment->file_size);

		if (bytes && memmem(bytes, segment->file_size, text, size))
			return true;
	}
	return false;
}

struct xp_language xp_elf_go(const struct xp_elf *elf)
{
	struct xp_language language = { 0 };

	language.go = has_section(elf, ".gopclntab") || has_section(elf, ".data.rel.ro.gopclntab") || has_section(elf, ".go.buildinfo") ||
		      has_section(elf, ".note.go.buildid") || has_go_note(elf);
	if (language.go) {
		struct text_range range = { 0 };

		read_go_version(elf, &language);
		xp_symbols_each(elf, "runtime.", take_bound, &range);
		if (range.start < range.end) {
			language.go_text_start = range.start;
			language.go_text_end = range.end;
		}
	}
	return language;
}

struct xp_language xp_elf_language(const struct xp_elf *elf)
{
	static const char cxx_mark[] = "\0St9exception", rust_mark[] = "library/core/src/";
	struct xp_language language = xp_elf_go(elf);
	bool stripped = elf->source == XP_SYMBOLS_NONE || elf->source == XP_SYMBOLS_DYNSYM;

	language.cxx = needs_cxx(elf) || xp_symbols_mention(elf, "__gxx_personality_v0");
	/* Either is enough for who asks, and the names of a large file are long to read. */
	language.rust = !language.cxx && xp_symbols_mention(elf, "rust_eh_personality");
	/* A run time that was linked in and stripped is still there. */
	if (stripped && !language.cxx)
		language.cxx = has_text(elf, cxx_mark, sizeof(cxx_mark));
	if (stripped && !language.cxx && !language.rust)
		language.rust = has_text(elf, rust_mark, sizeof(rust_mark) - 1);
	/*
	 * The unwinder reads its own frames, too, when something is thrown: C that must be treated as C++. Static programs of C carry it
	 * for the cancellation of threads.
	 */
	if (!language.cxx && !language.rust && xp_elf_needed(elf, 0))
		language.cxx = xp_symbols_mention(elf, "_Unwind_RaiseException");
	return language;
}
