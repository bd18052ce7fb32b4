/* SPDX-License-Identifier: Apache-2.0 */
/* Relocations as far as they tell what a pointer in the file will be. */
#ifndef XP_ELF_RELOC_H
#define XP_ELF_RELOC_H

#include "elf/image.h"

/* The address (in file terms) that the 8 bytes at `vaddr` will hold, as written or by a relative relocation. */
bool xp_elf_pointer_at(const struct xp_elf *elf, uint64_t vaddr, uint64_t *ret_value);
/* Slots that the loader fills by calling the IFUNC resolver at `resolver`; at most `max`. */
size_t xp_elf_ifunc_slots(const struct xp_elf *elf, uint64_t resolver, uint64_t *ret_slots, size_t max);
/* Slots that the loader binds to the function `name`; at most `max`. */
size_t xp_elf_import_slots(const struct xp_elf *elf, const char *name, uint64_t *ret_slots, size_t max);

#endif
