/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stack samples of one process, or of several, by their CPU time: struct xp_rec_sample from the sampling program (bpf/sample.bpf.c), or,
 * where BPF is refused, from perf rings (perf_ring.c), which see user space of the own user's processes only.
 */
#ifndef XP_ENGINE_BPF_SAMPLE_H
#define XP_ENGINE_BPF_SAMPLE_H

#include "engine/bpf_common.h"
#include "wire/sample.h"

struct xp_regex;
struct xp_sampler;

enum xp_sampler_kind { XP_SAMPLER_BPF, XP_SAMPLER_PERF_RING, XP_SAMPLER_KIND_COUNT };
extern const char *const xp_sampler_kind_names[XP_SAMPLER_KIND_COUNT]; /* contract 10.8 `sampler` */

struct xp_sampler_config {
	uint32_t pid;			       /* as xprobe sees it; 0: see targets */
	struct xp_bpf_targets targets;	       /* several processes; borrowed */
	uint32_t frequency_hz;		       /* samples a second of CPU time of each thread */
	uint32_t max_threads;		       /* descriptors are spent on at most so many threads (perf ring); 0: no limit */
	uint32_t ring_bytes;		       /* 0 = by frequency and CPUs */
	const struct xp_regex *threads;	       /* name filter, borrowed; NULL: every thread */
	const struct xp_python_layout *python; /* of the only target, copied; NULL or version 0: no Python frames */
	bool perf_only;			       /* tests: take the fallback although BPF works */
	bool unrolled;			       /* tests: load the program as for kernels without bpf_loop */
};

/*
 * Loads the program; touches nothing of the target. Falls back to perf rings when BPF is refused, and fails with that refusal when those
 * are refused too. INTERNAL when the Python layout has offsets that no build can have. Returns owned.
 */
int xp_sampler_new(const struct xp_sampler_config *config, struct xp_sampler **ret_sampler, struct xp_err *reterr);
void xp_sampler_free(struct xp_sampler *sampler);
XP_DEFINE_AUTO(struct xp_sampler *, xp_sampler_free);

/* Of one of several targets, before the attach; copied. INTERNAL as above. */
int xp_sampler_python(struct xp_sampler *sampler, size_t target, const struct xp_python_layout *layout, struct xp_err *reterr);

/*
 * Starts the clocks; samples are still off. Falls back to perf rings when clocks of whole CPUs are refused. RESOURCE_LIMIT names the limit.
 * After a failure xp_sampler_detach is still due.
 */
int xp_sampler_attach(struct xp_sampler *sampler, struct xp_err *reterr);
/* Samples on or off: one store to shared memory (BPF). */
int xp_sampler_switch(struct xp_sampler *sampler, bool on, struct xp_err *reterr);

struct xp_sample_reader {
	/* The record, kernel and Python frames and stack behind it, is valid during the call; record->pid tells the process. */
	void (*take)(void *arg, const struct xp_rec_sample *record);
	void *arg;
};
/* Hands out what lies in the rings, and attaches threads that are new (perf ring). Wants to be called every 100 ms or more often. */
int xp_sampler_read(struct xp_sampler *sampler, const struct xp_sample_reader *reader, struct xp_err *reterr);
/* Edge-readable when the ring fills faster than the ticks empty it; -1: there is none. Borrowed. */
int xp_sampler_fd(const struct xp_sampler *sampler);
/* Stops the clocks. What lies in the rings stays readable until xp_sampler_free. */
void xp_sampler_detach(struct xp_sampler *sampler);

/* emitted = delivered + ring_full + filtered, once everything is read. */
struct xp_sampler_counts {
	uint64_t emitted;   /* the clock ran while the target did */
	uint64_t delivered; /* handed to a reader */
	uint64_t ring_full;
	uint64_t filtered; /* the thread's name does not match */
	uint64_t kernel;   /* delivered or dropped ones that interrupted the kernel */
	uint64_t torn;	   /* records whose Python frames were given up */
	uint64_t missed;   /* about as many more were due: the clocks were throttled, or the CPU was not ours (hypervisor) */
	uint32_t threads_observed, threads_attached; /* ever in the window; of them sampled */
	uint32_t threads_started, threads_ended;     /* in the window */
	uint32_t children;			     /* processes forked in the window */
};
int xp_sampler_count(struct xp_sampler *sampler, struct xp_sampler_counts *ret_counts, struct xp_err *reterr);
/* Of one of several targets. */
int xp_sampler_count_of(struct xp_sampler *sampler, size_t target, struct xp_sampler_counts *ret_counts, struct xp_err *reterr);
/* After detach and a last read: INTERNAL unless the counts above add up. */
int xp_sampler_verify(struct xp_sampler *sampler, struct xp_err *reterr);

enum xp_sampler_kind xp_sampler_kind(const struct xp_sampler *sampler);
/* Why kernel frames are missing; NULL: they are there. Static. */
const char *xp_sampler_no_kernel(const struct xp_sampler *sampler);
/* Why no sample can have Python frames; NULL: they can. Static. */
const char *xp_sampler_no_python(const struct xp_sampler *sampler);
/* Which refused call made it take perf rings; NULL: it did not. Lives as long as the sampler. */
const char *xp_sampler_no_bpf(const struct xp_sampler *sampler);

#endif
