/* SPDX-License-Identifier: Apache-2.0 */
/* A child process that answers one request after the other: for a library that may hang or crash, beside work that must not. */
#ifndef XP_BASE_WORKER_H
#define XP_BASE_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct xp_err;
struct xp_worker;

struct xp_worker_request {
	uint32_t kind;
	uint64_t arg;
};

/* What the child runs. */
struct xp_worker_job {
	void *(*begin)(void); /* once, at its start; the result goes to every answer */
	ssize_t (*answer)(void *context, const struct xp_worker_request *request, void *reply,
			  size_t size); /* bytes of reply, or < 0: end */
	size_t reply_size;		/* of the largest one */
};

/*
 * Forks at once and waits for nothing. The child holds none of our descriptors, writes nowhere, and dies with us. Returns owned.
 */
int xp_worker_start(const struct xp_worker_job *job, struct xp_worker **ret_worker, struct xp_err *reterr);
/* Kills the child, whatever it does. Accepts NULL. */
void xp_worker_stop(struct xp_worker *worker);
XP_DEFINE_AUTO(struct xp_worker *, xp_worker_stop);

/* Never waits. False: the child is gone, or a hundred requests are unanswered. */
bool xp_worker_ask(struct xp_worker *worker, const struct xp_worker_request *request);
/*
 * Takes the oldest reply, waiting at most timeout_ms (0: not at all). Bytes, or -ETIME: not yet, -ECHILD: the child ended, -errno.
 */
ssize_t xp_worker_take(struct xp_worker *worker, unsigned timeout_ms, void *ret_reply, size_t size);
/* Requests without a reply taken. */
unsigned xp_worker_waiting(const struct xp_worker *worker);

#endif
