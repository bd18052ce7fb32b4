/* SPDX-License-Identifier: Apache-2.0 */
/* One selector family a file, one line in family_list.def. Parsing needs no target; resolution needs one and touches nothing in it. */
#ifndef XP_FAMILY_FAMILY_H
#define XP_FAMILY_FAMILY_H

#include "family/endpoint.h"
#include "target/rights.h" /* enum xp_need */

struct xp_resolve_options {
	bool allow_cxx_return;
};

struct xp_family {
	const char *name;	  /* "uprobe" */
	const char *const *heads; /* selector starts that belong to it, e.g. "cuda:kernel_start"; NULL-terminated; longest match wins */
	const char *grammar;	  /* one line of EBNF-like text, for help and docs */
	const char *summary;
	const char *example;
	const char *event_types; /* for docs */
	unsigned needs;		 /* enum xp_need */
	bool host;		 /* clock and engine on the CPU */
	/* `text` is the whole selector, whose head matched. Fills *ep (zeroed, selector and family set). INVALID_EVENT_SELECTOR. */
	int (*parse)(const char *text, struct xp_arena *arena, struct xp_endpoint *ep, struct xp_err *reterr);
	/*
	 * Finds the sites in the target; NULL when parsing tells all. Errors as contract 8.3: SYMBOL_NOT_FOUND, BINARY_NOT_MAPPED,
	 * AMBIGUOUS_TARGET (details.candidates), PROBE_REFUSED, PERMISSION_DENIED.
	 */
	int (*resolve)(struct xp_endpoint *ep, struct xp_target *target, const struct xp_resolve_options *options, struct xp_arena *arena,
		       struct xp_err *reterr);
};

/* Every family, sorted by name; *ret_n of them. */
const struct xp_family *const *xp_families(size_t *ret_n);

#endif
