/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of a target's code addresses, cached; shared by unwind.c and unwind_rules.c. */
#ifndef XP_ELF_UNWIND_PRIV_H
#define XP_ELF_UNWIND_PRIV_H

#include "elf/modules.h"
#include "elf/unwind.h"

enum xp_rule_kind {
	XP_RULE_NOWHERE, /* in no executable mapping */
	XP_RULE_POINTER, /* no description: by frame pointer */
	XP_RULE_CFI,
};

struct xp_rule {
	enum xp_rule_kind kind;
	struct xp_cfi_rule cfi;
};

struct xp_rules;

/* Borrows the target. Returns owned. */
struct xp_rules *xp_rules_new(struct xp_target *target);
void xp_rules_free(struct xp_rules *rules);
XP_DEFINE_AUTO(struct xp_rules *, xp_rules_free);

/* The rule at an address; valid until the next call. Reads the maps again when the address lies in none, a bounded number of times. */
const struct xp_rule *xp_rules_at(struct xp_rules *rules, uint64_t address);
/* End of the mapping that holds a stack address; UINT64_MAX when none is known to. */
uint64_t xp_rules_stack_end(const struct xp_rules *rules, uint64_t sp);
const struct xp_modules *xp_rules_modules(const struct xp_rules *rules);

#endif
