/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information: how to get from the registers of one frame to those of its caller, for rsp, rbp and the return address. Rules
 * hold pointers into their image, so they live as long as it does.
 */
#ifndef XP_ELF_CFI_H
#define XP_ELF_CFI_H

#include "elf/eh_frame.h"

/* An FDE with what its CIE says. */
struct xp_cfi {
	struct xp_fde fde;
	uint64_t code_align, return_column;
	int64_t data_align;
	unsigned encoding;		   /* of addresses: DW_EH_PE_* */
	struct xp_reader initial, program; /* instructions of the CIE, then of the FDE */
};

/* Reads the FDE at `vaddr`; *ret_next is the address behind it, 0 at the end. False when it is a CIE, an end mark or damaged. */
bool xp_cfi_read(const struct xp_elf *elf, uint64_t vaddr, struct xp_cfi *ret_cfi, uint64_t *ret_next);

/* Where the FDEs of an image lie, by function start. Zero-initialised is empty. */
struct xp_cfi_index {
	uint64_t base, n;	      /* .eh_frame_hdr: pairs of 32-bit distances from base */
	const unsigned char *entries; /* NULL: there is no such table */
	struct xp_cfi_place *places;  /* owned; ours instead, by start */
	size_t n_places;
};
/* Takes the sorted table of .eh_frame_hdr, else reads .eh_frame once. False when the image has neither. */
bool xp_cfi_index_init(struct xp_cfi_index *index, const struct xp_elf *elf);
/* The second way alone, over the FDEs at [vaddr, vaddr + size). */
bool xp_cfi_index_scan(struct xp_cfi_index *index, const struct xp_elf *elf, uint64_t vaddr, uint64_t size);
void xp_cfi_index_done(struct xp_cfi_index *index);
/* The FDE that covers the address. */
bool xp_cfi_find(const struct xp_cfi_index *index, const struct xp_elf *elf, uint64_t vaddr, struct xp_cfi *ret_cfi);
/* Start of the first FDE above the address; UINT64_MAX when there is none. */
uint64_t xp_cfi_next_start(const struct xp_cfi_index *index, uint64_t vaddr);

enum xp_cfi_how {
	XP_CFI_SAME,	  /* the caller's value is still in the register */
	XP_CFI_SP,	  /* CFA only: rsp + offset */
	XP_CFI_BP,	  /* CFA only: rbp + offset */
	XP_CFI_SAVED,	  /* in memory at CFA + offset */
	XP_CFI_VALUE,	  /* CFA + offset itself */
	XP_CFI_SAVED_AT,  /* in memory at the address that an expression gives */
	XP_CFI_COMPUTED,  /* what an expression gives */
	XP_CFI_UNDEFINED, /* return address: this is the outermost frame */
	XP_CFI_OTHER,	  /* in a register that nobody copied */
};

struct xp_cfi_value {
	uint8_t how; /* enum xp_cfi_how */
	uint16_t size;
	int32_t offset;
	const unsigned char *expression; /* `size` bytes */
};

struct xp_cfi_rule {
	struct xp_cfi_value cfa, ra, bp;
	bool signal_frame;
};

/* The rule at `vaddr`, by running the instructions up to there. False when they are damaged or cannot be expressed. */
bool xp_cfi_rule(const struct xp_cfi *cfi, uint64_t vaddr, struct xp_cfi_rule *ret_rule);

struct xp_cfi_machine {
	uint64_t ip, sp, bp;
	bool (*load)(uint64_t address, uint64_t *ret_value, void *arg);
	void *arg;
};
/* Runs a DWARF expression; the stack begins with `first` when `pushed`. False: unknown operation, other register, refused load, damage. */
bool xp_cfi_compute(const struct xp_cfi_value *value, const struct xp_cfi_machine *machine, bool pushed, uint64_t first,
		    uint64_t *ret_value);

#endif
