/* SPDX-License-Identifier: Apache-2.0 */
/* Frame descriptions of .eh_frame: where functions begin and end, also those without symbols. */
#ifndef XP_ELF_EH_FRAME_H
#define XP_ELF_EH_FRAME_H

#include "elf/image.h"
#include "elf/reader.h"

struct xp_fde {
	uint64_t start, size;
	uint64_t lsda; /* address of the exception table, 0 = none */
	bool framed;   /* the code begins with a frame already set up: a part of a function, not a function */
	bool signal_frame;
};

/* The FDE that covers the address. By .eh_frame_hdr's table, else one pass over .eh_frame. */
bool xp_elf_fde(const struct xp_elf *elf, uint64_t vaddr, struct xp_fde *ret_fde);
/* Start of the first FDE above the address; UINT64_MAX when there is none or no table. */
uint64_t xp_elf_fde_next(const struct xp_elf *elf, uint64_t vaddr);
/* A reader over the rest of the segment from an address; bad when that lies in no segment. */
struct xp_reader xp_elf_reader(const struct xp_elf *elf, uint64_t vaddr);

#endif
