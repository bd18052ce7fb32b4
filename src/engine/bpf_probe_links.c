/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of link descriptors. The kernel lets go of a uprobe link only after grace periods of tens of milliseconds, and close() waits for
 * them; closing all links at once makes them wait together.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/bpf_probe_priv.h"

enum { CLOSERS = 32 };

int xp_links_add(struct xp_links *links, int fd, struct xp_err *reterr)
{
	if (links->n == links->cap) {
		size_t cap = links->cap ? 2 * links->cap : 16;
		int *fds = reallocarray(links->fds, cap, sizeof(*fds));

		if (!fds) {
			close(fd);
			return xp_fail_sys(reterr, ENOMEM, "realloc", "%zu links", cap);
		}
		links->fds = fds;
		links->cap = cap;
	}
	links->fds[links->n++] = fd;
	return 0;
}

static void *close_link(void *fd)
{
	close((int)(intptr_t)fd);
	return NULL;
}

/* A thread that cannot be had is done without. */
static void close_together(const int *fds, size_t n)
{
	pthread_t threads[CLOSERS];
	bool started[CLOSERS] = {};

	for (size_t i = 1; i < n; i++)
		started[i] = !pthread_create(&threads[i], NULL, close_link, (void *)(intptr_t)fds[i]);
	for (size_t i = 0; i < n; i++)
		if (!started[i])
			close(fds[i]);
	for (size_t i = 1; i < n; i++)
		if (started[i])
			pthread_join(threads[i], NULL);
}

void xp_links_close(struct xp_links *links, size_t keep)
{
	while (links->n > keep) {
		size_t n = links->n - keep < CLOSERS ? links->n - keep : CLOSERS;

		links->n -= n;
		close_together(links->fds + links->n, n);
	}
}
