/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a probe costs here: the programs of the capture, run on functions and calls of xprobe itself. In: a loaded engine. Out: its
 * floor_ns. Every figure is the mean of the quickest batch, so that what else runs on the machine does not count as ours.
 */
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "arch/scratch.h"
#include "engine/bpf_probe_priv.h"
#include "probe.skel.h"

enum { BATCHES = 4, CALLS = 8 };

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ns a call, at least 1. */
static uint64_t time_calls(void (*call)(void))
{
	uint64_t best = UINT64_MAX;

	for (unsigned batch = 0; batch < BATCHES; batch++) {
		uint64_t begin = now();

		for (unsigned i = 0; i < CALLS; i++)
			call();
		uint64_t took = now() - begin;

		best = took < best ? took : best;
	}
	return best / CALLS ? best / CALLS : 1;
}

static uint64_t above(uint64_t with, uint64_t without)
{
	return with > without ? with - without : 1;
}

static void floor_switch(struct xp_probes *probes, bool on)
{
	__atomic_store_n(&probes->skel->bss->xp_floor_pid, on ? (uint32_t)getpid() : 0, __ATOMIC_SEQ_CST);
}

/* dl_iterate_phdr calls this for the executable first: address -> file offset by the segment that holds it. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *arg)
{
	uint64_t *slot = arg, address = *slot - info->dlpi_addr;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && address - segment->p_vaddr < segment->p_filesz) {
			*slot = address - segment->p_vaddr + segment->p_offset;
			return 1;
		}
	}
	return -1;
}

static int scratch_site(enum xp_scratch which, bool is_return, unsigned kind, struct xp_site_spec *ret_site, struct xp_err *reterr)
{
	uint64_t offset = (uint64_t)(uintptr_t)xp_scratch_function(which);
	unsigned shape = is_return ? XP_SHAPE_FUNCTION_EXIT : XP_SHAPE_FUNCTION_ENTRY;

	if (dl_iterate_phdr(find_offset, &offset) != 1)
		return xp_fail(reterr, XP_E_INTERNAL, "xprobe does not find its own scratch function");
	*ret_site = (struct xp_site_spec){
		.path = "/proc/self/exe",
		.offset = offset,
		.cookie = XP_COOKIE(0, 0, shape, kind, is_return ? XP_COOKIE_RETURN : 0),
		.is_return = is_return,
		.selector = "xprobe itself",
	};
	return 0;
}

/* A return probe beside an entry probe shares its trap: then its floor is what it adds. */
static bool returns_are_paired(const struct xp_probes *probes)
{
	for (size_t i = 0; i < probes->n_points; i++)
		for (size_t j = 0; probes->points[i].at == XP_POINT_RETURN && j < probes->n_points; j++)
			if (probes->points[j].at == XP_POINT_ENTRY && probes->points[j].offset == probes->points[i].offset &&
			    !strcmp(probes->points[j].path, probes->points[i].path))
				return true;
	return false;
}

static int attach_scratches(struct xp_probes *probes, bool paired, struct xp_err *reterr)
{
	struct xp_site_spec sites[XP_SCRATCH_COUNT + 1];
	size_t n = 0;
	int r = scratch_site(XP_SCRATCH_EMULATED, false, XP_COUNT_ENTRY, &sites[n++], reterr);

	if (!r && (probes->has[XP_POINT_ENTRY] || probes->has[XP_POINT_EXIT]))
		r = scratch_site(XP_SCRATCH_STEPPED, false, XP_COUNT_STEPPED, &sites[n++], reterr);
	if (!r && probes->has[XP_POINT_RETURN])
		r = scratch_site(XP_SCRATCH_RETURN, true, XP_COUNT_RETURN, &sites[n++], reterr);
	if (!r && paired)
		r = scratch_site(XP_SCRATCH_RETURN, false, XP_COUNT_ENTRY, &sites[n++], reterr);
	return r ? r : xp_probes_attach_sites(probes, &probes->links, (uint32_t)getpid(), sites, n, reterr);
}

struct timing {
	uint64_t ns[XP_SCRATCH_COUNT];
};

/* On a thread of its own: a kernel that watches one thread where the process was asked for shows by missing all of it. */
static void *time_scratches(void *arg)
{
	struct timing *timing = arg;

	for (unsigned i = 0; i < XP_SCRATCH_COUNT; i++)
		timing->ns[i] = time_calls(xp_scratch_function((enum xp_scratch)i));
	return NULL;
}

static int run_scratches(struct xp_probes *probes, struct timing *ret_timing, bool *ret_blind, struct xp_err *reterr)
{
	pthread_t thread;
	uint64_t seen = 0;

	floor_switch(probes, true);
	int failed = pthread_create(&thread, NULL, time_scratches, ret_timing);

	if (!failed)
		pthread_join(thread, NULL);
	floor_switch(probes, false);
	if (failed)
		return xp_fail_sys(reterr, failed, "pthread_create", "floor measurement");
	int r = xp_probes_read(probes, NULL, reterr);

	for (unsigned kind = 0; kind < XP_COUNT_KINDS; kind++)
		seen += probes->delivered[kind];
	*ret_blind = seen < BATCHES * CALLS;
	return r;
}

int xp_probes_measure_functions(struct xp_probes *probes, bool *ret_blind, struct xp_err *reterr)
{
	struct timing timing = {};
	bool paired = returns_are_paired(probes);
	int r = attach_scratches(probes, paired, reterr);

	if (!r)
		r = run_scratches(probes, &timing, ret_blind, reterr);
	if (r)
		return r;
	uint64_t entry_ns = timing.ns[XP_SCRATCH_EMULATED];

	if (probes->has[XP_POINT_ENTRY] || probes->has[XP_POINT_EXIT]) {
		probes->floor_ns[XP_COUNT_ENTRY] = entry_ns;
		probes->floor_ns[XP_COUNT_STEPPED] = timing.ns[XP_SCRATCH_STEPPED];
	}
	if (probes->has[XP_POINT_MARKER])
		probes->floor_ns[XP_COUNT_MARKER] = entry_ns;
	if (probes->has[XP_POINT_RETURN])
		probes->floor_ns[XP_COUNT_RETURN] = paired ? above(timing.ns[XP_SCRATCH_RETURN], entry_ns) : timing.ns[XP_SCRATCH_RETURN];
	return 0;
}

/* Names this thread what it is called already: fires the tracepoint task_rename for nobody else. */
static void rename_self(void)
{
	char name[16] = "";

	prctl(PR_GET_NAME, name);
	prctl(PR_SET_NAME, name);
}

int xp_probes_measure_tracepoint(struct xp_probes *probes, struct xp_err *reterr)
{
	uint64_t bare_ns = time_calls(rename_self);
	size_t before = probes->links.n;
	int r = xp_probes_attach_raw(&probes->links, bpf_program__fd(xp_probes_slot(probes, 0)), "task_rename", reterr);

	if (r)
		return r;
	floor_switch(probes, true);
	probes->floor_ns[XP_COUNT_TRACEPOINT] = above(time_calls(rename_self), bare_ns);
	floor_switch(probes, false);
	xp_links_close(&probes->links, before); /* the target renames threads too */
	return 0;
}

static void call_getppid(void)
{
	syscall(SYS_getppid);
}

uint64_t xp_probes_time_syscall(void)
{
	return time_calls(call_getppid);
}

/* One call is two events: its entry and its exit. */
void xp_probes_measure_syscall(struct xp_probes *probes)
{
	floor_switch(probes, true);
	uint64_t traced_ns = xp_probes_time_syscall();

	floor_switch(probes, false);
	probes->floor_ns[XP_COUNT_SYSCALL] = (above(traced_ns, probes->bare_syscall_ns) + 1) / 2;
}
