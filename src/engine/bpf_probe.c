/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact host events: life, reading, counting. In: points. Out: records, each with its point, and counters that account for every one.
 * Owns the loaded object, its ring and its links.
 */
#include "engine/bpf_probe_priv.h"

#include <errno.h>
#include <stdlib.h>

#include "probe.skel.h"

static const uint32_t record_sizes[] = {
	[XP_SHAPE_FUNCTION_ENTRY] = sizeof(struct xp_rec_function),
	[XP_SHAPE_FUNCTION_EXIT] = sizeof(struct xp_rec_function),
	[XP_SHAPE_TRACEPOINT] = sizeof(struct xp_rec_hdr),
	[XP_SHAPE_SYSCALL_ENTRY] = sizeof(struct xp_rec_syscall_entry),
	[XP_SHAPE_SYSCALL_EXIT] = sizeof(struct xp_rec_syscall_exit),
	[XP_SHAPE_MARKER] = sizeof(struct xp_rec_function),
};

static uint32_t point_of(const struct xp_probes *probes, const struct xp_rec_hdr *record)
{
	bool is_exit = record->shape == XP_SHAPE_SYSCALL_EXIT;

	if (!is_exit && record->shape != XP_SHAPE_SYSCALL_ENTRY)
		return record->site;
	return record->nr < XP_SYSCALL_NUMBERS ? probes->syscall_point[is_exit][record->nr] : XP_NO_POINT;
}

/* libbpf's callback; a bad record stops the reading and is told by xp_probes_read. */
static int take_record(void *arg, void *data, size_t size)
{
	struct xp_probes *probes = arg;
	const struct xp_rec_hdr *record = data;

	if (size < sizeof(*record) || record->shape >= XP_LEN(record_sizes) || size < record_sizes[record->shape] ||
	    !record_sizes[record->shape])
		probes->bad_record = true;
	else if (probes->reader)
		probes->reader->take(probes->reader->arg, point_of(probes, record), record);
	return probes->bad_record ? -EBADMSG : 0;
}

int xp_probes_read(struct xp_probes *probes, const struct xp_probe_reader *reader, struct xp_err *reterr)
{
	/* Cleared before reading: what comes from now on may wake us again. */
	__atomic_store_n(&probes->skel->bss->xp_woken, 0, __ATOMIC_SEQ_CST);
	probes->reader = reader;
	int n = ring_buffer__consume(probes->ring);

	probes->reader = NULL;
	if (probes->bad_record)
		return xp_fail(reterr, XP_E_INTERNAL, "the event ring holds a record of unknown shape");
	return n < 0 ? xp_bpf_fail(reterr, -n, "ring_buffer__consume", "event ring") : 0;
}

int xp_probes_fd(const struct xp_probes *probes)
{
	return bpf_map__fd(probes->skel->maps.xp_ring);
}

void xp_probes_switch(struct xp_probes *probes, bool on)
{
	__atomic_store_n(&probes->skel->data->xp_off, !on, __ATOMIC_SEQ_CST);
}

static int sum_kind(const struct xp_probes *probes, uint32_t kind, struct xp_rec_counts *cpus, int n_cpus, struct xp_rec_counts *ret_sum)
{
	struct xp_rec_counts sum = {};

	if (bpf_map_lookup_elem(bpf_map__fd(probes->skel->maps.xp_counts), &kind, cpus))
		return -errno;
	for (int cpu = 0; cpu < n_cpus; cpu++) {
		sum.emitted += cpus[cpu].emitted;
		sum.dropped += cpus[cpu].dropped;
		sum.passed += cpus[cpu].passed;
	}
	*ret_sum = sum;
	return 0;
}

int xp_probes_count(const struct xp_probes *probes, struct xp_probe_counts *ret_counts, struct xp_err *reterr)
{
	int n_cpus = libbpf_num_possible_cpus(), r = n_cpus < 0 ? n_cpus : 0;
	xp_auto(xp_free) void *cpus = n_cpus > 0 ? calloc((size_t)n_cpus, sizeof(struct xp_rec_counts)) : NULL;
	struct xp_probe_counts counts = {};

	if (n_cpus > 0 && !cpus)
		r = -ENOMEM;
	for (uint32_t kind = 0; kind < XP_COUNT_KINDS && !r; kind++) {
		struct xp_rec_counts *sum = &counts.kind[kind];

		r = sum_kind(probes, kind, cpus, n_cpus, sum);
		sum->emitted -= probes->base.kind[kind].emitted;
		sum->dropped -= probes->base.kind[kind].dropped;
		sum->passed -= probes->base.kind[kind].passed;
	}
	if (r)
		return xp_bpf_fail(reterr, -r, "bpf(BPF_MAP_LOOKUP_ELEM)", "probe counters");
	*ret_counts = counts;
	return 0;
}

uint64_t xp_probes_floor(const struct xp_probes *probes, unsigned kind)
{
	return kind < XP_COUNT_KINDS ? probes->floor_ns[kind] : 0;
}

uint32_t xp_probes_children(const struct xp_probes *probes)
{
	return __atomic_load_n(&probes->skel->bss->xp_children, __ATOMIC_SEQ_CST);
}

bool xp_probes_is_fallback(const struct xp_probes *probes)
{
	return !probes->multi;
}

void xp_probes_free(struct xp_probes *probes)
{
	if (!probes)
		return;
	xp_links_close(&probes->links, 0);
	free(probes->links.fds);
	ring_buffer__free(probes->ring);
	xp_probe__destroy(probes->skel);
	free(probes);
}

static int take_points(struct xp_probes *probes, const struct xp_probe_request *request, struct xp_err *reterr)
{
	size_t tracepoints = 0;

	for (uint32_t nr = 0; nr < XP_SYSCALL_NUMBERS; nr++)
		probes->syscall_point[0][nr] = probes->syscall_point[1][nr] = XP_NO_POINT;
	for (size_t i = 0; i < request->n_points; i++) {
		const struct xp_point *point = &request->points[i];

		probes->has[point->at] = true;
		tracepoints += point->at == XP_POINT_TRACEPOINT;
		if (point->at != XP_POINT_SYSCALL_ENTRY && point->at != XP_POINT_SYSCALL_EXIT)
			continue;
		if (point->nr >= XP_SYSCALL_NUMBERS)
			return xp_fail(reterr, XP_E_INTERNAL, "system call number %u of %s is out of range", point->nr, point->selector);
		probes->syscall_point[point->at == XP_POINT_SYSCALL_EXIT][point->nr] = (uint32_t)i;
	}
	if (request->n_points > UINT16_MAX || tracepoints > XP_MAX_TRACEPOINTS)
		return xp_fail(reterr, XP_E_RESOURCE_LIMIT, "%zu places are more than one capture can probe", request->n_points);
	return 0;
}

static bool has_functions(const struct xp_probes *probes)
{
	return probes->has[XP_POINT_ENTRY] || probes->has[XP_POINT_EXIT] || probes->has[XP_POINT_RETURN] || probes->has[XP_POINT_MARKER];
}

int xp_probes_forget(struct xp_probes *probes, struct xp_err *reterr)
{
	int r = xp_probes_read(probes, NULL, reterr);

	return r ? r : xp_probes_count(probes, &probes->base, reterr);
}

static int build(const struct xp_probe_request *request, bool multi, bool *ret_blind, struct xp_probes **ret_probes, struct xp_err *reterr)
{
	xp_auto(xp_probes_free) struct xp_probes *probes = calloc(1, sizeof(*probes));

	if (!probes)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "probe engine");
	probes->points = request->points;
	probes->n_points = request->n_points;
	probes->pid = request->pid;
	probes->multi = multi;
	int r = take_points(probes, request, reterr);

	if (!r)
		r = xp_probes_load(probes, request, reterr);
	if (r)
		return r;
	probes->ring = ring_buffer__new(bpf_map__fd(probes->skel->maps.xp_ring), take_record, probes, NULL);
	if (!probes->ring)
		return xp_bpf_fail(reterr, errno, "ring_buffer__new", "event ring");
	if (has_functions(probes))
		r = xp_probes_measure_functions(probes, ret_blind, reterr);
	if (!r && probes->has[XP_POINT_TRACEPOINT])
		r = xp_probes_measure_tracepoint(probes, reterr);
	if (!r && (probes->has[XP_POINT_SYSCALL_ENTRY] || probes->has[XP_POINT_SYSCALL_EXIT]))
		probes->bare_syscall_ns = xp_probes_time_syscall();
	if (!r)
		*ret_probes = xp_steal(&probes);
	return r;
}

int xp_probes_new(const struct xp_probe_request *request, struct xp_probes **ret_probes, struct xp_err *reterr)
{
	xp_auto(xp_probes_free) struct xp_probes *probes = NULL;
	bool blind = false;

	xp_bpf_init();
	bool multi = !request->perf_only && xp_probes_multi_works();
	int r = build(request, multi, &blind, &probes, reterr);

	/* Linux 6.6 to 6.9 took the pid of a multi link for one thread; perf events see them all. */
	if (!r && blind) {
		xp_probes_free(xp_steal(&probes));
		blind = false;
		r = build(request, false, &blind, &probes, reterr);
	}
	if (!r && blind)
		r = xp_fail(reterr, XP_E_INTERNAL, "a probe on xprobe itself was not hit");
	if (!r)
		*ret_probes = xp_steal(&probes);
	return r;
}
