/* SPDX-License-Identifier: Apache-2.0 */
/* Skeleton of bpf/probe.bpf.c -> loaded object that holds only what the points need. Configuration is rodata, set before the load. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "engine/bpf_probe_priv.h"
#include "probe.skel.h"

/* At 56 bytes a record and the highest rate that one CPU makes, this much lasts several ticks of the reader. */
#define RING_BYTES_PER_CPU (512u << 10)
#define RING_BYTES_MIN (8u << 20) /* on a busy machine the reader waits for its turn tens of milliseconds */
#define RING_BYTES_MAX (32u << 20)
#define WAKE_FRACTION 4 /* the reader is woken when a quarter of the ring is unread */

static uint32_t next_power_of_two(uint64_t bytes, uint64_t least)
{
	uint64_t size = least;

	while (size < bytes)
		size *= 2;
	return (uint32_t)size;
}

static uint32_t ring_bytes(uint32_t wanted)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (wanted)
		return next_power_of_two(wanted < RING_BYTES_MAX ? wanted : RING_BYTES_MAX, page);
	uint64_t bytes = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * RING_BYTES_PER_CPU;

	bytes = bytes < RING_BYTES_MIN ? RING_BYTES_MIN : bytes;
	return next_power_of_two(bytes < RING_BYTES_MAX ? bytes : RING_BYTES_MAX, page);
}

struct bpf_program *xp_probes_slot(const struct xp_probes *probes, unsigned slot)
{
	char name[24];

	snprintf(name, sizeof(name), "xp_raw_%u", slot);
	return bpf_object__find_program_by_name(probes->skel->obj, name);
}

static void want(struct xp_probes *probes, unsigned tracepoints)
{
	struct xp_probe *skel = probes->skel;
	bool functions =
		probes->has[XP_POINT_ENTRY] || probes->has[XP_POINT_EXIT] || probes->has[XP_POINT_RETURN] || probes->has[XP_POINT_MARKER];
	bool syscalls = probes->has[XP_POINT_SYSCALL_ENTRY] || probes->has[XP_POINT_SYSCALL_EXIT];

	bpf_program__set_autoload(skel->progs.xp_function, functions);
	bpf_program__set_autoload(skel->progs.xp_sys_enter, syscalls);
	bpf_program__set_autoload(skel->progs.xp_sys_exit, syscalls);
	bpf_program__set_autoload(skel->progs.xp_tracepoint, tracepoints > 0);
	for (unsigned slot = 0; slot < XP_MAX_TRACEPOINTS; slot++)
		bpf_program__set_autoload(xp_probes_slot(probes, slot), slot < tracepoints);
	bpf_map__set_autocreate(skel->maps.xp_restarts, syscalls);
	bpf_program__set_expected_attach_type(skel->progs.xp_function, probes->multi ? (enum bpf_attach_type)XP_TRACE_UPROBE_MULTI : 0);
}

static void set_bit(volatile uint64_t *words, uint32_t nr)
{
	words[nr / 64] |= UINT64_C(1) << (nr % 64);
}

/* Returns the number of tracepoint slots in use. */
static unsigned configure_points(struct xp_probes *probes)
{
	struct xp_probe__rodata *rodata = probes->skel->rodata;
	unsigned tracepoints = 0;

	for (size_t i = 0; i < probes->n_points; i++) {
		const struct xp_point *point = &probes->points[i];

		if (point->at == XP_POINT_SYSCALL_ENTRY)
			set_bit((volatile uint64_t *)rodata->xp_enter_wanted, point->nr);
		else if (point->at == XP_POINT_SYSCALL_EXIT)
			set_bit((volatile uint64_t *)rodata->xp_exit_wanted, point->nr);
		else if (point->at == XP_POINT_TRACEPOINT)
			rodata->xp_tracepoint_site[tracepoints++] = (uint32_t)i;
	}
	return tracepoints;
}

static int configure(struct xp_probes *probes, const struct xp_probe_request *request, struct xp_err *reterr)
{
	uint32_t bytes = ring_bytes(request->ring_bytes);
	int r = bpf_map__set_max_entries(probes->skel->maps.xp_ring, bytes);

	if (r)
		return xp_bpf_fail(reterr, -r, "bpf_map__set_max_entries", "event ring");
	probes->skel->rodata->xp_wake_bytes = bytes / WAKE_FRACTION;
	probes->skel->rodata->xp_follow_restarts = request->follow_restarts;
	want(probes, configure_points(probes));
	return xp_bpf_set_target(probes->skel->obj, request->pid, reterr);
}

int xp_probes_load(struct xp_probes *probes, const struct xp_probe_request *request, struct xp_err *reterr)
{
	probes->skel = xp_probe__open();
	if (!probes->skel)
		return xp_bpf_fail(reterr, errno, "bpf_object__open", "probe programs");
	int r = configure(probes, request, reterr);

	if (r)
		return r;
	r = xp_probe__load(probes->skel);
	return r ? xp_bpf_fail(reterr, -r, "bpf(BPF_PROG_LOAD)", "probe programs") : 0;
}
