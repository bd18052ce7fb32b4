/* SPDX-License-Identifier: Apache-2.0 */
/* The ways in which `exact` pairs, one a kind of key. */
#ifndef XP_CORRELATE_EXACT_H
#define XP_CORRELATE_EXACT_H

#include "correlate/match.h"

/* One pending start a (process, thread); follows restarted system calls. */
bool xp_exact_syscall(struct xp_match *match);
/* One pending start a (process, thread). */
bool xp_exact_thread(struct xp_match *match);
/* One pending start a (process, kind, range id). */
bool xp_exact_range(struct xp_match *match);
/* Groups by correlation id. */
bool xp_exact_cuda(struct xp_match *match);

/* The API launches kernels, graphs included; folded name or "@launch". */
bool xp_exact_launches(const char *api_name);

/* Context ids for API events that carry none (contract 9.1 rule 6). */
struct xp_contexts;
/* NULL with *ret_ok true: no event needs one. */
struct xp_contexts *xp_contexts_new(const struct xp_match *match, bool *ret_ok);
void xp_contexts_free(struct xp_contexts *contexts);
enum xp_context_found { XP_CONTEXT_NO_ACTIVITY, XP_CONTEXT_ONE, XP_CONTEXT_SEVERAL };
/* `event`: a selected API event with a correlation id and without a context. */
enum xp_context_found xp_contexts_of(const struct xp_contexts *contexts, uint32_t event, uint32_t *ret_context);

#endif
