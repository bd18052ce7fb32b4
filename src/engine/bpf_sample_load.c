/* SPDX-License-Identifier: Apache-2.0 */
/* Skeleton of bpf/sample.bpf.c -> loaded object. What kernels lack is tried, not told from their version. No state. */
#include <errno.h>
#include <unistd.h>

#include "engine/bpf_sample_priv.h"
#include "sample.skel.h"

#define RECORD_BYTES 20480u /* a long stack */
#define RING_PARTS 4u	    /* room for that part of a second of long stacks on every CPU */
#define RING_BYTES_MIN (4u << 20)
#define RING_BYTES_MAX (32u << 20)
#define WAKE_FRACTION 2		  /* the reader is woken when half of the ring is unread */
#define PYTHON_WORD_MAX (112 - 8) /* last offset of a word in what the walk reads of a frame: bpf/python_walk.h */
#define PYTHON_WORD_MAX_311 (80 - 8)

static uint32_t ring_bytes(const struct xp_sampler_config *config)
{
	uint64_t bytes = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * config->frequency_hz * RECORD_BYTES / RING_PARTS;
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);

	if (bytes < RING_BYTES_MIN)
		bytes = RING_BYTES_MIN;
	if (config->ring_bytes)
		bytes = config->ring_bytes;
	if (bytes > RING_BYTES_MAX)
		bytes = RING_BYTES_MAX;
	while (size < bytes)
		size *= 2;
	return (uint32_t)size;
}

/* The program is loaded with these as constants: an offset outside of what is read would make the verifier refuse it. */
static bool is_plausible(const struct xp_python_layout *layout)
{
	uint32_t word_max = layout->has_owner ? PYTHON_WORD_MAX_311 : PYTHON_WORD_MAX;

	return layout->frame_back <= word_max && layout->frame_code <= word_max && layout->frame_instr <= word_max &&
	       layout->frame_owner < word_max + 8 && layout->frame_is_entry < word_max + 8 && layout->code_bytes <= XP_PYTHON_HEAD_MAX &&
	       layout->code_name - layout->code_start + 8 <= layout->code_bytes &&
	       layout->code_file - layout->code_start + 8 <= layout->code_bytes;
}

static bool has_loop(bool unrolled)
{
	return !unrolled && libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL) == 1;
}

/* Which of several processes run Python is told later, target by target. */
static int configure_pythons(struct xp_sample *skel, const struct xp_bpf_targets *targets, bool unrolled, struct xp_err *reterr)
{
	int r = bpf_map__set_max_entries(skel->maps.xp_pythons, (__u32)targets->n);

	skel->rodata->xp_some_python = targets->python;
	skel->rodata->xp_has_loop = targets->python && has_loop(unrolled);
	return r ? xp_bpf_fail(reterr, -r, "bpf_map__set_max_entries", "layouts of Python") : 0;
}

int xp_sampler_python(struct xp_sampler *sampler, size_t target, const struct xp_python_layout *layout, struct xp_err *reterr)
{
	uint32_t index = (uint32_t)target;

	if (sampler->perf)
		return 0;
	if (layout->version && !is_plausible(layout))
		return xp_fail(reterr, XP_E_INTERNAL, "the layout of Python frames has an offset outside of a frame or code object");
	if (bpf_map_update_elem(bpf_map__fd(sampler->skel->maps.xp_pythons), &index, layout, BPF_ANY))
		return xp_bpf_fail(reterr, errno, "bpf(BPF_MAP_UPDATE_ELEM)", "layouts of Python");
	return 0;
}

static int configure_python(struct xp_sample *skel, const struct xp_python_layout *layout, bool unrolled, struct xp_err *reterr)
{
	bool wanted = layout && layout->version;

	if (wanted && !is_plausible(layout))
		return xp_fail(reterr, XP_E_INTERNAL, "the layout of Python frames has an offset outside of a frame or code object");
	if (wanted) {
		skel->rodata->xp_python = *layout;
		skel->rodata->xp_has_loop = has_loop(unrolled);
		return 0;
	}
	int r = bpf_map__set_max_entries(skel->maps.xp_python_threads, 1);

	if (!r)
		r = bpf_map__set_max_entries(skel->maps.xp_python_leaves, 1);
	return r ? xp_bpf_fail(reterr, -r, "bpf_map__set_max_entries", "Python threads") : 0;
}

static int configure(struct xp_sampler *sampler, const struct xp_sampler_config *config, struct xp_err *reterr)
{
	struct xp_sample *skel = sampler->skel;
	uint32_t bytes = ring_bytes(config);
	int r = bpf_map__set_max_entries(skel->maps.xp_ring, bytes);

	if (!r && !config->threads)
		r = bpf_map__set_max_entries(skel->maps.xp_unwanted, 1);
	if (r)
		return xp_bpf_fail(reterr, -r, "bpf_map__set_max_entries", "sample ring");
	skel->rodata->xp_wake_bytes = bytes / WAKE_FRACTION;
	skel->rodata->xp_by_name = !!config->threads;
	bpf_map__set_max_entries(skel->maps.xp_counts, (__u32)sampler->targets.n);
	r = sampler->targets.n > 1 ? configure_pythons(skel, &sampler->targets, config->unrolled, reterr)
				   : configure_python(skel, config->python, config->unrolled, reterr);
	return r ? r : xp_bpf_set_targets(skel->obj, &sampler->targets, reterr);
}

int xp_sampler_load(struct xp_sampler *sampler, const struct xp_sampler_config *config, struct xp_err *reterr)
{
	sampler->skel = xp_sample__open();
	if (!sampler->skel)
		return xp_bpf_fail(reterr, errno, "bpf_object__open", "sampling program");
	int r = configure(sampler, config, reterr);

	if (r)
		return r;
	r = xp_sample__load(sampler->skel);
	if (r)
		return xp_bpf_fail(reterr, -r, "bpf(BPF_PROG_LOAD)", "sampling program");
	return xp_bpf_fill_targets(sampler->skel->obj, &sampler->targets, reterr);
}
