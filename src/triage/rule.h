/* SPDX-License-Identifier: Apache-2.0 */
/* One rule a file, one line in rule_list.def. A rule is a pure function of the input; what it takes from others is data. */
#ifndef XP_TRIAGE_RULE_H
#define XP_TRIAGE_RULE_H

#include "triage/finding.h"
#include "triage/input.h"

/* Contract 14.1a: when a finding of another code tells of what this rule's finding says better. */
enum xp_take_scope {
	XP_TAKE_ANY,
	XP_TAKE_SAME_THREAD,
	XP_TAKE_SAME_SUBJECT,
	XP_TAKE_SAME_CALL, /* it is a consequence of what the taker is about */
	XP_TAKE_IN_COPY,   /* it counts time under CUDA calls that copy */
	XP_TAKE_IN_LAUNCH, /* under calls that launch, and so does the taker */
	XP_TAKE_CONDITION  /* it waits for another thread, and the taker says that the threads wait for a device */
};
/* Findings of `code` that this rule's finding makes redundant. */
struct xp_take {
	const char *code;
	enum xp_take_scope scope;
};

enum { XP_MAX_FINDINGS = 12 };

struct xp_rule {
	const char *code;	     /* of its findings */
	unsigned order;		     /* rules run by this number, contract 14.1's order; gaps are for rules to come */
	unsigned needs;		     /* bits 1 << enum xp_source_id: without them it does not run */
	const struct xp_take *takes; /* ends with code NULL; NULL: nothing */
	void (*run)(const struct xp_triage_input *input, struct xp_findings *out);
};

/* Every rule, in the order of the list file. */
const struct xp_rule *const *xp_rules(size_t *ret_n);
/*
 * Runs the rules, lets findings absorb others, drops fallbacks beside a finding above 0.20, ranks: share falling, nulls last, then code,
 * then subject. out->n is the total; the caller cuts to XP_MAX_FINDINGS.
 */
void xp_rules_run(const struct xp_triage_input *input, struct xp_findings *out);
/* The order of findings, for lists merged from several processes. Renumbers ranks. */
void xp_findings_rank(struct xp_findings *list);

#endif
