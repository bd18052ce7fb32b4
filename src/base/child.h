/* SPDX-License-Identifier: Apache-2.0 */
/* Work that may hang or crash (a driver's library, a probe on ourselves) done in a child process that is cut off at a deadline. */
#ifndef XP_BASE_CHILD_H
#define XP_BASE_CHILD_H

#include <sys/types.h>

/*
 * Forks and calls work(arg, reply, size) in the child; what it returns (bytes of reply, or negative) comes back through a pipe. The child
 * has default signal actions and dies with its parent. Returns the bytes received, -ETIME at the deadline (the child is killed),
 * -ECHILD when it crashed or gave up, or -errno.
 */
ssize_t xp_child_call(ssize_t (*work)(void *arg, char *reply, size_t size), void *arg, unsigned timeout_ms, char *ret_reply, size_t size);

/* What every such child does first: default signal actions, the parent's death as its own, nothing to write to. */
void xp_child_begin(pid_t parent);

#endif
