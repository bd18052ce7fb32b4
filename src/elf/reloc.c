/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamic relocations. In: an image. Out: pointer values and slots. No state. */
#include "elf/reloc.h"

#include <string.h>

#include "elf/elf_priv.h"

/* Relocation `*at` of both tables in turn; false behind the last. */
static bool next_reloc(const struct xp_elf *elf, uint64_t *at, Elf64_Rela *ret_reloc)
{
	uint64_t index = (*at)++;

	for (int i = 0; i < 2; i++) {
		if (index < elf->dynamic.rela[i].n) {
			memcpy(ret_reloc, elf->dynamic.rela[i].entries + index * sizeof(*ret_reloc), sizeof(*ret_reloc));
			return true;
		}
		index -= elf->dynamic.rela[i].n;
	}
	return false;
}

bool xp_elf_pointer_at(const struct xp_elf *elf, uint64_t vaddr, uint64_t *ret_value)
{
	const unsigned char *bytes = xp_elf_at(elf, vaddr, sizeof(*ret_value));
	uint64_t value, at = 0;
	Elf64_Rela reloc;

	if (!bytes)
		return false;
	memcpy(&value, bytes, sizeof(value));
	while (!value && next_reloc(elf, &at, &reloc))
		if (reloc.r_offset == vaddr && ELF64_R_TYPE(reloc.r_info) == R_X86_64_RELATIVE)
			value = (uint64_t)reloc.r_addend;
	*ret_value = value;
	return value;
}

size_t xp_elf_ifunc_slots(const struct xp_elf *elf, uint64_t resolver, uint64_t *ret_slots, size_t max)
{
	uint64_t at = 0;
	Elf64_Rela reloc;
	size_t n = 0;

	while (n < max && next_reloc(elf, &at, &reloc))
		if (ELF64_R_TYPE(reloc.r_info) == R_X86_64_IRELATIVE && (uint64_t)reloc.r_addend == resolver)
			ret_slots[n++] = reloc.r_offset;
	return n;
}

size_t xp_elf_import_slots(const struct xp_elf *elf, const char *name, uint64_t *ret_slots, size_t max)
{
	uint64_t at = 0;
	struct xp_symtab table;
	const char *bound;
	Elf64_Rela reloc;
	Elf64_Sym symbol;
	size_t n = 0;

	if (!xp_elf_dynsym(elf, &table))
		return 0;
	while (n < max && next_reloc(elf, &at, &reloc)) {
		uint64_t type = ELF64_R_TYPE(reloc.r_info), index = ELF64_R_SYM(reloc.r_info);

		if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) && index && index < table.n &&
		    xp_symtab_read(&table, index, &symbol, &bound) && !strcmp(bound, name))
			ret_slots[n++] = reloc.r_offset;
	}
	return n;
}
