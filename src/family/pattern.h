/* SPDX-License-Identifier: Apache-2.0 */
/* Name filters of CUDA selectors (contract 8.4): regular expression in, the simple form the agent can apply out. */
#ifndef XP_FAMILY_PATTERN_H
#define XP_FAMILY_PATTERN_H

#include "family/endpoint.h"

enum { XP_LITERAL_MAX = 127 };

/*
 * How `pattern` reduces: EXACT, PREFIX, SUFFIX or CONTAINS with *ret_literal in the arena, ANY for ".*", else REGEX (*ret_literal NULL).
 * Tells nothing about whether it is a valid expression.
 */
enum xp_name_match xp_pattern_reduce(const char *pattern, struct xp_arena *arena, const char **ret_literal);
/*
 * Fills ep->cuda.pattern, match, literal and regex (compiled in every case but ANY, released with the arena). INVALID_EVENT_SELECTOR
 * for anything 8.4 does not accept.
 */
int xp_pattern_parse(struct xp_endpoint *ep, const char *pattern, struct xp_arena *arena, struct xp_err *reterr);
/* Does the endpoint's filter accept this name? 1 or 0; no filter accepts all. Negative: the match step limit was reached. */
int xp_pattern_match(const struct xp_endpoint *ep, const char *name, size_t len, struct xp_err *reterr);

#endif
