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

struct xp_sampler {
	uint32_t pid, frequency_hz;
	const struct xp_regex *threads;
	const struct xp_sample_reader *reader; /* during a read */
	struct xp_err *reader_err;	       /* during a read: the first failure */
	uint64_t delivered, filtered;	       /* by the reading half */
	uint64_t on_ns, off_ns;		       /* when samples were switched on and off; 0: not yet */
	struct xp_perf_ring *perf;	       /* the fallback; then nothing below is set */
	struct xp_sample *skel;
	struct ring_buffer *ring;
	uint64_t bytes_read; /* out of the ring since it was made, headers included */
	int *clocks;	     /* one event a CPU; n_clocks keeps their number behind detach */
	size_t n_clocks, n_clocks_open;
	uint32_t threads_at_start;
};

/* bpf_sample_load.c: opens, configures and loads the skeleton. */
int xp_sampler_load(struct xp_sampler *sampler, const struct xp_sampler_config *config, struct xp_err *reterr);
/* bpf_sample_attach.c */
int xp_sampler_attach_clocks(struct xp_sampler *sampler, struct xp_err *reterr);
void xp_sampler_detach_clocks(struct xp_sampler *sampler);

#endif
