/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of struct xp_elf, shared by the files of this folder only. */
#ifndef XP_ELF_ELF_PRIV_H
#define XP_ELF_ELF_PRIV_H

#include <elf.h>

#include "elf/image.h"
#include "elf/symbols.h"

/* One table of symbols; `dynamic` ones have versions. Entries are not aligned. */
struct xp_symtab {
	const unsigned char *entries;
	uint64_t n;
	const char *names; /* names_size bytes, the last of them NUL */
	uint64_t names_size;
	bool dynamic;
};

/* What PT_DYNAMIC says, as file offsets and sizes that were checked to lie in the file. 0 entries when there is none. */
struct xp_elf_dynamic {
	const unsigned char *entries;
	uint64_t n;
	const char *names; /* DT_STRTAB, ends in NUL; NULL when absent */
	uint64_t names_size;
	const unsigned char *versym;
	uint64_t n_versym;
	uint64_t verdef_vaddr, n_verdef; /* walked with checks */
	struct {
		const unsigned char *entries;
		uint64_t n;
	} rela[2]; /* DT_RELA, DT_JMPREL */
	bool soname, pie;
};

struct xp_elf {
	const unsigned char *data;
	size_t size;
	bool mapped; /* munmap, else free */
	char *name;
	Elf64_Ehdr header;
	struct xp_elf_segment *segments;
	size_t n_segments;
	uint64_t n_sections;
	uint32_t names_section;
	bool has_interp;
	struct xp_elf_dynamic dynamic;
	struct xp_symtab tables[2]; /* full table first, then .dynsym */
	size_t n_tables;
	struct xp_elf *debug;	      /* owned: unpacked .gnu_debugdata or separate debug file */
	enum xp_symbol_source source; /* where tables[0] came from */
};

/*
 * For passes over names that lie all over a large file: called with each entry's index, it drops the file's pages from our memory now and
 * then. Pointers into the file stay valid.
 */
void xp_elf_let_go(const struct xp_elf *elf, uint64_t index);

/* Fills elf->dynamic from PT_DYNAMIC; damaged parts are left empty. */
void xp_elf_read_dynamic(struct xp_elf *elf);
/* Program header `index`; false when there is none. */
bool xp_elf_program_header(const struct xp_elf *elf, size_t index, Elf64_Phdr *ret_header);
/* The symbol table of a section type; false when absent, empty or damaged. */
bool xp_elf_symtab(const struct xp_elf *elf, uint32_t section_type, struct xp_symtab *ret_table);
/* .dynsym by section, else through DT_SYMTAB and the hash tables. */
bool xp_elf_dynsym(const struct xp_elf *elf, struct xp_symtab *ret_table);
/* Reads entry `index` (< table->n). False when its name lies outside. */
bool xp_symtab_read(const struct xp_symtab *table, uint64_t index, Elf64_Sym *ret_symbol, const char **ret_name);
/* A defined function (or IFUNC, or untyped label in text) of `elf`, whatever file the table came from. */
bool xp_symtab_is_function(const struct xp_elf *elf, const Elf64_Sym *symbol, const char *name);
/* Version of dynamic symbol `index`; NULL when it has none. *ret_hidden: not the default version. */
const char *xp_elf_version_of(const struct xp_elf *elf, uint64_t index, bool *ret_hidden);

/* Cuts *size so that the text ends in NUL; false when nothing is left. */
bool xp_elf_trim_names(const unsigned char *names, uint64_t *size);

/* .gnu_debugdata unpacked and opened, or NULL. */
struct xp_elf *xp_elf_open_debugdata(const struct xp_elf *elf);
/* Separate debug file that matches, or NULL. root_fd: the target's root directory or -1; `path`: of the image in that root. */
struct xp_elf *xp_elf_open_debugfile(const struct xp_elf *elf, int root_fd, const char *path);

#endif
