/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stack samples without BPF: perf events of every thread on every CPU, one shared ring a CPU, made into struct xp_rec_sample. Sees user
 * space only where the kernel keeps the rest to itself; no Python frames, since nobody walks them in the interrupted thread.
 */
#ifndef XP_ENGINE_PERF_RING_H
#define XP_ENGINE_PERF_RING_H

#include "base/err.h"
#include "engine/bpf_sample.h"

struct xp_perf_ring;

/* Allocates; opens nothing. Borrows config->threads. Returns owned. */
int xp_perf_ring_new(const struct xp_sampler_config *config, struct xp_perf_ring **ret_ring, struct xp_err *reterr);
void xp_perf_ring_free(struct xp_perf_ring *ring);
XP_DEFINE_AUTO(struct xp_perf_ring *, xp_perf_ring_free);

/*
 * Opens the rings, then the events of every thread until a listing shows no new one. Stops short of the descriptor limit and counts the
 * threads that are left. PERMISSION_DENIED: none could be opened; RESOURCE_LIMIT names RLIMIT_MEMLOCK when not even small rings fit.
 */
int xp_perf_ring_attach(struct xp_perf_ring *ring, struct xp_err *reterr);
int xp_perf_ring_switch(struct xp_perf_ring *ring, bool on, struct xp_err *reterr);
/* take: as the ring buffer of libbpf; negative stops the reading, and the caller knows why. Also attaches new threads. */
int xp_perf_ring_read(struct xp_perf_ring *ring, int (*take)(void *arg, void *record, size_t size), void *arg, struct xp_err *reterr);
void xp_perf_ring_detach(struct xp_perf_ring *ring);
/* Adds emitted, ring_full, missed, kernel and the threads; delivered and filtered are the caller's. */
int xp_perf_ring_count(struct xp_perf_ring *ring, struct xp_sampler_counts *counts, struct xp_err *reterr);
const char *xp_perf_ring_no_kernel(const struct xp_perf_ring *ring);

#endif
