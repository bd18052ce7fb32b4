/* SPDX-License-Identifier: Apache-2.0 */
/* A function decoded whole: its main part and its cold parts. Shared by body.c, jump_table.c and exits.c. */
#ifndef XP_ELF_CODE_PRIV_H
#define XP_ELF_CODE_PRIV_H

#include "elf/code.h"

enum { XP_RANGES_MAX = 16, XP_BODY_MAX_BYTES = 1 << 20 };

struct xp_code_node {
	struct xp_insn insn;
	bool label_table; /* its reference leads to addresses inside the body */
	bool used;	  /* an indirect jump was explained by it */
	bool wide;	  /* that table holds whole addresses */
};

struct xp_code_range {
	uint64_t start, end;
	size_t first, last; /* nodes [first, last) */
};

struct xp_code_body {
	const struct xp_elf *elf;
	const struct xp_extent *function;
	struct xp_code_node *nodes;
	size_t n, cap;
	struct xp_code_range ranges[XP_RANGES_MAX];
	size_t n_ranges;
};

/* Decodes [start, start + size) into the body. PROBE_REFUSED on anything that is no instruction, or too much of it. */
int xp_code_add_range(struct xp_code_body *body, uint64_t start, uint64_t size, struct xp_err *reterr);
void xp_code_body_done(struct xp_code_body *body);
XP_DEFINE_AUTO(struct xp_code_body *, xp_code_body_done);
/* The address lies in one of the ranges. */
bool xp_code_holds(const struct xp_code_body *body, uint64_t vaddr);
/* An instruction of the body begins there. */
bool xp_code_boundary(const struct xp_code_body *body, uint64_t vaddr);
/* "cannot find every exit of NAME: …", with the hint that entry works. */
int xp_code_refuse(const struct xp_code_body *body, struct xp_err *reterr, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

enum xp_indirect { XP_INDIRECT_SWITCH, XP_INDIRECT_LEAVES, XP_INDIRECT_UNKNOWN };
/* Marks every node whose reference is a table of labels. Once, when all ranges are known and the body has indirect jumps. */
void xp_code_mark_tables(struct xp_code_body *body);
/* Explains the indirect jumps that follow their table; the others only afterwards, by what tables are left. */
void xp_code_use_tables(struct xp_code_body *body);
enum xp_indirect xp_code_indirect(const struct xp_code_body *body, size_t index);

#endif
