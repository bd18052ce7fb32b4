/* SPDX-License-Identifier: Apache-2.0 */
/* The symbol tables of an image: where they come from and how one entry reads. Owns the debug image it opens (through struct xp_elf). */
#include "elf/elf_priv.h"

#include <string.h>

const char *const xp_symbol_source_names[XP_SYMBOL_SOURCE_COUNT] = {
	[XP_SYMBOLS_NONE] = "none",
	[XP_SYMBOLS_SYMTAB] = ".symtab",
	[XP_SYMBOLS_DEBUGDATA] = ".gnu_debugdata",
	[XP_SYMBOLS_DEBUG_FILE] = "separate debug file",
	[XP_SYMBOLS_DYNSYM] = ".dynsym",
};

static bool full_table(struct xp_elf *elf, int root_fd, const char *path, struct xp_symtab *ret_table)
{
	elf->source = XP_SYMBOLS_SYMTAB;
	if (xp_elf_symtab(elf, SHT_SYMTAB, ret_table))
		return true;
	elf->source = XP_SYMBOLS_DEBUGDATA;
	elf->debug = xp_elf_open_debugdata(elf);
	if (!elf->debug) {
		elf->source = XP_SYMBOLS_DEBUG_FILE;
		elf->debug = xp_elf_open_debugfile(elf, root_fd, path);
	}
	return elf->debug && xp_elf_symtab(elf->debug, SHT_SYMTAB, ret_table);
}

void xp_elf_load_symbols(struct xp_elf *elf, int root_fd, const char *path)
{
	if (elf->n_tables)
		return;
	if (full_table(elf, root_fd, path, &elf->tables[0]))
		elf->n_tables = 1;
	else
		elf->source = XP_SYMBOLS_NONE;
	if (!xp_elf_dynsym(elf, &elf->tables[elf->n_tables]))
		return;
	elf->n_tables++;
	if (elf->source == XP_SYMBOLS_NONE)
		elf->source = XP_SYMBOLS_DYNSYM;
}

enum xp_symbol_source xp_elf_symbol_source(const struct xp_elf *elf)
{
	return elf->source;
}

bool xp_symtab_read(const struct xp_symtab *table, uint64_t index, Elf64_Sym *ret_symbol, const char **ret_name)
{
	memcpy(ret_symbol, table->entries + index * sizeof(*ret_symbol), sizeof(*ret_symbol));
	if (ret_symbol->st_name >= table->names_size)
		return false;
	*ret_name = table->names + ret_symbol->st_name;
	return true;
}

bool xp_symtab_is_function(const struct xp_elf *elf, const Elf64_Sym *symbol, const char *name)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	/* Offset 0 is the empty name; other offsets are not looked at, for names lie scattered in files of any size. */
	if (symbol->st_shndx == SHN_UNDEF || !symbol->st_name)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	/* Hand-written assembly often leaves its functions untyped; marks such as $x and .L are no functions. */
	return type == STT_NOTYPE && symbol->st_shndx != SHN_ABS && *name && *name != '$' && *name != '.' &&
	       xp_elf_is_text(elf, symbol->st_value);
}
