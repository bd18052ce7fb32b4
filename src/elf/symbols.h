/* SPDX-License-Identifier: Apache-2.0 */
/* Function symbols of an image: by name (versions, demangled signatures) and by address, always in unsorted passes. */
#ifndef XP_ELF_SYMBOLS_H
#define XP_ELF_SYMBOLS_H

#include "elf/image.h"

enum xp_symbol_source {
	XP_SYMBOLS_NONE,
	XP_SYMBOLS_SYMTAB,
	XP_SYMBOLS_DEBUGDATA,
	XP_SYMBOLS_DEBUG_FILE,
	XP_SYMBOLS_DYNSYM,
	XP_SYMBOL_SOURCE_COUNT
};
extern const char *const xp_symbol_source_names[XP_SYMBOL_SOURCE_COUNT];

struct xp_symbol {
	const char *name; /* as in the table, a version suffix included; lives as long as the image */
	size_t name_len;  /* without version suffix */
	uint64_t address, size;
	unsigned char bind; /* STB_* */
	bool ifunc;
	const char *version; /* version_len bytes; NULL: none known */
	size_t version_len;
	bool default_version; /* "@@" */
};

/*
 * Finds the tables: .symtab, else .gnu_debugdata, else a matching separate debug file (by build id, then debug link with CRC-32, in
 * `root_fd` and then in our own root), with .dynsym beside it. root_fd may be -1; `path` is the file's path in that root. Once an image.
 */
void xp_elf_load_symbols(struct xp_elf *elf, int root_fd, const char *path);
enum xp_symbol_source xp_elf_symbol_source(const struct xp_elf *elf);

enum { XP_FOUND_MAX = 21 }; /* one more than error records list */

struct xp_symbol_query {
	const char *name;
	const char *version;  /* NULL: the default one */
	bool default_version; /* "@@": must be the default one */
	bool full;	      /* name is a demangled signature or an exact table name */
};
struct xp_symbols_found {
	struct xp_symbol at[XP_FOUND_MAX];  /* one an address */
	size_t n;			    /* in `at` */
	uint64_t total;			    /* addresses in all */
	bool imported;			    /* the name is there, undefined */
	bool data;			    /* the name is there, for data */
	const char *versions[XP_FOUND_MAX]; /* those of the name that were not asked for; in the arena, "V" or "@V" */
	size_t n_versions;
};
void xp_symbols_find(const struct xp_elf *elf, const struct xp_symbol_query *query, struct xp_arena *arena,
		     struct xp_symbols_found *ret_found);
/* Functions whose (demangled) name has `text` in it, those that are called exactly so first; at most `max`. Returns how many. */
size_t xp_symbols_near(const struct xp_elf *elf, const char *text, struct xp_arena *arena, struct xp_symbol *ret_symbols, size_t max);
/* True when .dynsym defines that function (any version). */
bool xp_symbols_exports(const struct xp_elf *elf, const char *name);
/* True when any table has that name, defined or not. */
bool xp_symbols_mention(const struct xp_elf *elf, const char *name);
/* Calls `fn` for each defined function whose table name starts with `prefix`, until it returns false. */
void xp_symbols_each(const struct xp_elf *elf, const char *prefix, bool (*fn)(const struct xp_symbol *symbol, void *arg), void *arg);

/*
 * Names `n` ascending addresses in one pass over the tables: the function that covers each, preferring the innermost, then global over
 * local over weak. A symbol of size 0 reaches to the next symbol or FDE. name NULL: the address is in no symbol. results[i] belongs to
 * vaddrs[i].
 */
void xp_symbols_resolve(const struct xp_elf *elf, const uint64_t *vaddrs, size_t n, struct xp_symbol *results);

/* Where a function begins and ends, from symbols and FDEs. */
struct xp_extent {
	uint64_t start, size;
	struct xp_symbol symbol; /* name NULL when only the FDE knows it */
};
/* Size of a symbol, or where it has none the distance to what ends it; 0 when it lies in no segment. */
uint64_t xp_symbols_size(const struct xp_elf *elf, const struct xp_symbol *symbol);
/* The function that holds the address; false when nothing tells. */
bool xp_symbols_extent(const struct xp_elf *elf, uint64_t vaddr, struct xp_extent *ret_extent);

#endif
