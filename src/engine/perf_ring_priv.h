/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by perf_ring.c (life, counts), perf_ring_open.c (events of threads) and perf_ring_read.c (records). */
#ifndef XP_ENGINE_PERF_RING_PRIV_H
#define XP_ENGINE_PERF_RING_PRIV_H

#include <stddef.h>

#include <linux/perf_event.h>

#include "base/hash.h"
#include "engine/perf_ring.h"

/* One CPU's ring: mmapped on an event of xprobe itself, so that it outlives every thread of the target. */
struct xp_perf_cpu {
	int cpu, fd;
	struct perf_event_mmap_page *page;
	size_t map_bytes;
};

struct xp_perf_ring {
	uint32_t pid, max_threads;
	struct perf_event_attr attr; /* as far as this kernel takes it */
	struct xp_perf_cpu *cpus;
	size_t n_cpus;
	size_t data_bytes; /* of each ring: what the locked memory limit allows */
	int *fds;	   /* events of threads, one a CPU each */
	size_t n_fds, cap_fds, max_fds;
	struct xp_map tids; /* seen: tid -> index of its name in `names` */
	char (*names)[16];
	size_t n_names, cap_names;
	bool on, listing; /* listing: new threads are not inherited here, so they are looked for */
	bool full;	  /* descriptors or max_threads are used up */
	uint64_t listed_ns;
	uint32_t observed, attached, started, ended, children;
	uint64_t samples, kernel, lost_records, throttles;
	uint8_t *record; /* one whole record of the ring, and what is made of it */
	uint8_t *sample;
};

/* perf_ring_open.c: opens what /proc/PID/task lists and is not open yet, until a listing shows nothing new. */
int xp_perf_ring_open_threads(struct xp_perf_ring *ring, struct xp_err *reterr);
/* Keeps the thread's name; looks it up in /proc when `name` is NULL. Returns true when the thread was not known. */
bool xp_perf_ring_know(struct xp_perf_ring *ring, uint32_t tid, const char *name);
/* Error of a refused event. */
int xp_perf_ring_refused(struct xp_err *reterr, int errnum, const char *what, uint32_t number);
const char *xp_perf_ring_name(const struct xp_perf_ring *ring, uint32_t tid);

#endif
