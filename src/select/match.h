/* SPDX-License-Identifier: Apache-2.0 */
/* Which stored events a selector picks: what the probes and the agent decide live, decided again on a completed capture. */
#ifndef XP_SELECT_MATCH_H
#define XP_SELECT_MATCH_H

#include "event/store.h"
#include "family/endpoint.h"

/*
 * 1 or 0; -INVALID_EVENT_SELECTOR when a name exceeds the match step limit of the endpoint's expression. The endpoint need not be
 * resolved. Files of uprobe selectors are compared by path, then, as far as both paths exist here, by device and inode.
 */
int xp_endpoint_matches(const struct xp_endpoint *endpoint, const struct xp_store *store, const struct xp_event *event,
			struct xp_err *reterr);
/*
 * Sets the endpoint bits (1 << index) of every event of the store, and XP_EVF_CONTINUES on restart_syscall and rt_sigreturn that no
 * endpoint picks. Names are tried once an endpoint, however many events carry them. At most 32 endpoints.
 */
int xp_match_store(const struct xp_endpoint *endpoints, unsigned n, struct xp_store *store, struct xp_err *reterr);

/* match_function.c: the qualified name in a kernel's demangled name, without template arguments and parameters; owned by the arena. */
char *xp_kernel_function(struct xp_arena *arena, const char *kernel_name);

#endif
