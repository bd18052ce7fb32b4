/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact host events: life, reading, counting. In: points. Out: records, each with its point, and counters that account for every one.
 * Owns the loaded object, its ring and its links.
 */
#include "engine/bpf_probe_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe.skel.h"
#include "engine/engine.h"
#include "target/rights.h"

static const uint32_t record_sizes[] = {
	[XP_SHAPE_FUNCTION_ENTRY] = sizeof(struct xp_rec_function),
	[XP_SHAPE_FUNCTION_EXIT] = sizeof(struct xp_rec_function),
	[XP_SHAPE_TRACEPOINT] = sizeof(struct xp_rec_hdr),
	[XP_SHAPE_SYSCALL_ENTRY] = sizeof(struct xp_rec_syscall_entry),
	[XP_SHAPE_SYSCALL_EXIT] = sizeof(struct xp_rec_syscall_exit),
	[XP_SHAPE_MARKER] = sizeof(struct xp_rec_function),
};

static bool is_call(const struct xp_rec_hdr *record)
{
	return record->shape == XP_SHAPE_SYSCALL_ENTRY || record->shape == XP_SHAPE_SYSCALL_EXIT;
}

static bool is_whole(const struct xp_probes *probes, const struct xp_rec_hdr *record, size_t size)
{
	if (size < sizeof(*record) || record->shape >= XP_LEN(record_sizes) || !record_sizes[record->shape])
		return false;
	return size >= record_sizes[record->shape] && (is_call(record) || record->site < probes->n_points);
}

static uint32_t point_of(const struct xp_probes *probes, const struct xp_rec_hdr *record)
{
	if (!is_call(record))
		return record->site;
	return record->nr < XP_SYSCALL_NUMBERS ? probes->syscall_point[record->shape == XP_SHAPE_SYSCALL_EXIT][record->nr] : XP_NO_POINT;
}

/* libbpf's callback; a bad record stops the reading and is told by xp_probes_read. */
static int take_record(void *arg, void *data, size_t size)
{
	struct xp_probes *probes = arg;
	const struct xp_rec_hdr *record = data;

	probes->bytes_read += (size + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
	probes->bad_record |= !is_whole(probes, record, size);
	if (probes->bad_record)
		return -EBADMSG;
	probes->delivered[is_call(record) ? XP_COUNT_SYSCALL : probes->kind_of_point[record->site]]++;
	if (probes->reader)
		probes->reader->take(probes->reader->arg, point_of(probes, record), record);
	return 0;
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

static int sum_cpus(const struct xp_probes *probes, struct xp_rec_counts *ret_sums, struct xp_err *reterr)
{
	int n_cpus = libbpf_num_possible_cpus();
	xp_auto(xp_free) void *block = n_cpus > 0 ? calloc((size_t)n_cpus, sizeof(struct xp_rec_counts)) : NULL;
	struct xp_rec_counts *cpus = block;

	if (!cpus)
		return xp_bpf_fail(reterr, n_cpus < 0 ? -n_cpus : ENOMEM, "libbpf_num_possible_cpus", "probe counters");
	memset(ret_sums, 0, XP_COUNT_KINDS * sizeof(*ret_sums));
	for (uint32_t kind = 0; kind < XP_COUNT_KINDS; kind++) {
		if (bpf_map_lookup_elem(bpf_map__fd(probes->skel->maps.xp_counts), &kind, cpus))
			return xp_bpf_fail(reterr, errno, "bpf(BPF_MAP_LOOKUP_ELEM)", "probe counters");
		for (int cpu = 0; cpu < n_cpus; cpu++) {
			ret_sums[kind].dropped += cpus[cpu].dropped;
			ret_sums[kind].passed += cpus[cpu].passed;
		}
	}
	return 0;
}

int xp_probes_count(const struct xp_probes *probes, struct xp_probe_counts *ret_counts, struct xp_err *reterr)
{
	struct xp_rec_counts sums[XP_COUNT_KINDS];
	int r = sum_cpus(probes, sums, reterr);

	for (unsigned kind = 0; kind < XP_COUNT_KINDS && !r; kind++) {
		ret_counts->kind[kind].delivered = probes->delivered[kind];
		ret_counts->kind[kind].dropped = sums[kind].dropped - probes->base[kind].dropped;
		ret_counts->kind[kind].passed = sums[kind].passed - probes->base[kind].passed;
	}
	return r;
}

int xp_probes_forget(struct xp_probes *probes, struct xp_err *reterr)
{
	int r = xp_probes_read(probes, NULL, reterr);

	memset(probes->delivered, 0, sizeof(probes->delivered));
	return r ? r : sum_cpus(probes, probes->base, reterr);
}

int xp_probes_verify(const struct xp_probes *probes, struct xp_err *reterr)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	/* The second page of a BPF ring holds the position up to which its programs have written, Documentation/bpf/ringbuf.rst. */
	unsigned long *producer = mmap(NULL, page, PROT_READ, MAP_SHARED, xp_probes_fd(probes), (off_t)page);

	if (producer == MAP_FAILED)
		return xp_fail_sys(reterr, errno, "mmap", "event ring");
	uint64_t written = __atomic_load_n(producer, __ATOMIC_ACQUIRE);

	munmap(producer, page);
	if (written == probes->bytes_read)
		return 0;
	return xp_fail(reterr, XP_E_INTERNAL, "%llu bytes of events were written and %llu read", (unsigned long long)written,
		       (unsigned long long)probes->bytes_read);
}

uint64_t xp_probes_floor(const struct xp_probes *probes, unsigned kind)
{
	for (size_t i = 0; i < probes->n_points; i++)
		if (probes->kind_of_point[i] == kind)
			return probes->floor_ns[kind];
	return 0;
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
	free(probes->kind_of_point);
	ring_buffer__free(probes->ring);
	xp_probe__destroy(probes->skel);
	free(probes);
}

static int take_points(struct xp_probes *probes, const struct xp_probe_request *request, struct xp_err *reterr)
{
	size_t tracepoints = 0;

	probes->kind_of_point = calloc(request->n_points, 1);
	if (!probes->kind_of_point)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "%zu points", request->n_points);
	for (uint32_t nr = 0; nr < XP_SYSCALL_NUMBERS; nr++)
		probes->syscall_point[0][nr] = probes->syscall_point[1][nr] = XP_NO_POINT;
	for (size_t i = 0; i < request->n_points; i++) {
		const struct xp_point *point = &request->points[i];

		probes->has[point->at] = true;
		tracepoints += point->at == XP_POINT_TRACEPOINT;
		probes->kind_of_point[i] = (uint8_t)xp_probes_kind_of(point);
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
		r = xp_probes_forget(probes, reterr);
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

const struct xp_engine xp_engine_bpf_probe = {
	.name = "bpf_probe",
	.summary = "exact host events: functions, markers, system calls, tracepoints",
	.sources = (const char *const[]){ "ebpf_uprobe", "ebpf_usdt", "ebpf_syscall", "ebpf_tracepoint", NULL },
	.needs = XP_NEED_BPF_UPROBE | XP_NEED_BPF_SYSCALL | XP_NEED_BPF_TRACEPOINT,
};
