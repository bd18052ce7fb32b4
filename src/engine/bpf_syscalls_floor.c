/* SPDX-License-Identifier: Apache-2.0 */
/* What following one system call costs, tried on xprobe itself. In: nothing. Out: ns. No state: a second instance is loaded and freed. */
#include "engine/bpf_syscalls.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 9, CALLS = 512 };

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ns of CALLS calls in the best of ROUNDS: the least disturbed one. */
static uint64_t best_round(void)
{
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = now_ns();

		for (int i = 0; i < CALLS; i++)
			syscall(SYS_getppid);
		uint64_t took = now_ns() - start;
		best = took < best ? took : best;
	}
	return best;
}

int xp_bpf_syscalls_floor(bool several, uint64_t *ret_ns, struct xp_err *reterr)
{
	const uint32_t self = (uint32_t)getpid();
	const struct xp_bpf_syscalls_config config = {
		.targets = { &self, 1, several }, .max_groups = 16, .max_inflight = 16, .max_cells = 64
	};
	xp_auto(xp_bpf_syscalls_free) struct xp_bpf_syscalls *engine = NULL;
	uint64_t bare = best_round();
	int rc = xp_bpf_syscalls_load(&config, &engine, reterr);

	if (!rc)
		rc = xp_bpf_syscalls_attach(engine, reterr);
	if (rc)
		return rc;
	xp_bpf_syscalls_start(engine);
	uint64_t followed = best_round();

	rc = xp_bpf_syscalls_detach(engine, reterr);
	if (rc)
		return rc;
	*ret_ns = followed > bare ? (followed - bare) / CALLS : 0;
	return 0;
}
