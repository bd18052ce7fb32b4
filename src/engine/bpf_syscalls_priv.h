/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by bpf_syscalls.c (life) and bpf_syscalls_read.c (what was counted). */
#ifndef XP_ENGINE_BPF_SYSCALLS_PRIV_H
#define XP_ENGINE_BPF_SYSCALLS_PRIV_H

#include <stdbool.h>

#include <linux/types.h>

#include "engine/bpf_syscalls.h"

#include "syscalls.skel.h"

struct xp_bpf_syscalls {
	struct xp_syscalls *skel;
	struct ring_buffer *ring;
	int n_cpus;
	uint64_t *per_cpu; /* one counter a possible CPU */
	/* Only during a drain: where ended threads go, and the first failure. */
	const struct xp_bpf_syscalls_sink *sink;
	struct xp_err *sink_err;
};

/* Callback of the ring: one ended thread and its cells. */
int xp_bpf_syscalls_take_ended(void *engine, void *record, size_t size);
/* Runs the iterator that marks threads which are inside a call. */
int xp_bpf_syscalls_adopt(struct xp_bpf_syscalls *engine, struct xp_err *reterr);

#endif
