/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the sampling engine. struct xp_sample is the skeleton that bpftool makes of bpf/sample.bpf.c. */
#ifndef XP_ENGINE_BPF_SAMPLE_PRIV_H
#define XP_ENGINE_BPF_SAMPLE_PRIV_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "engine/bpf_common.h"
#include "engine/bpf_sample.h"

struct xp_sample;
struct xp_perf_ring;

/* The clock of a CPU: an event that runs the program. */
struct xp_sample_clock {
	int fd;
	uint64_t period_ns, begun_ns; /* since when it has had this period, at the earliest since samples are wanted */
	uint64_t due_ns;	      /* another period from then on */
	uint64_t owed;		      /* ticks of earlier periods */
	double debt;		      /* ticks that earlier periods gave too few */
};

struct xp_sampler_read {
	uint64_t delivered, filtered;
	uint32_t threads_at_start;
};

struct xp_sampler {
	struct xp_sampler_config config;       /* its layout of Python is used up */
	struct xp_bpf_targets targets;	       /* one: its list is config.pid */
	char no_bpf[192];		       /* why not, of the fallback */
	const struct xp_sample_reader *reader; /* during a read */
	struct xp_err *reader_err;	       /* during a read: the first failure */
	struct xp_sampler_read *read;	       /* by the reading half, of each target */
	uint64_t on_ns, off_ns;		       /* when samples were switched on and off; 0: not yet */
	struct xp_perf_ring **perf;	       /* the fallback, one a target; then nothing below is set */
	struct xp_sample *skel;
	struct ring_buffer *ring;
	uint64_t bytes_read; /* out of the ring since it was made, headers included */
	struct xp_sample_clock *clocks;
	size_t n_clocks, n_clocks_open; /* the first is kept behind detach */
	uint64_t draws;			/* state of the random numbers */
};

/* bpf_sample_load.c: opens, configures and loads the skeleton. */
int xp_sampler_load(struct xp_sampler *sampler, const struct xp_sampler_config *config, struct xp_err *reterr);
/* bpf_sample_attach.c */
int xp_sampler_attach_clocks(struct xp_sampler *sampler, struct xp_err *reterr);
void xp_sampler_detach_clocks(struct xp_sampler *sampler);
/* bpf_sample_dither.c: samples are wanted from now on. */
void xp_sampler_clocks_begin(struct xp_sampler *sampler, uint64_t now_ns);
/* Gives clocks that had a period for some ticks another one. */
int xp_sampler_clocks_vary(struct xp_sampler *sampler, uint64_t now_ns, struct xp_err *reterr);
/* Ticks that are due since clocks_begin, at least. */
uint64_t xp_sampler_clocks_owed(const struct xp_sampler *sampler, uint64_t until_ns);

#endif
