/* SPDX-License-Identifier: Apache-2.0 */
/* Times scratch functions, a cheap system call and a busy loop of xprobe, bare and probed. Out: the difference. No state. */
#include "engine/floor.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "engine/bpf_common.h"
#include "floor.skel.h"
#include "target/trial.h"

enum { BATCHES = 5, CALLS = 64, SPINS = 20000, SAMPLE_PERIOD_NS = 100000 };

static void done(struct xp_floor *skel)
{
	if (skel)
		xp_floor__destroy(skel);
}
XP_DEFINE_AUTO(struct xp_floor *, done);

/* Two functions of two instructions: the kernel emulates a nop, but steps a mov in a copy of its own. */
__attribute__((naked, noinline, noclone, section(".text.xp_floor_emulated"))) static void emulated(void)
{
	__asm__("nop\n\tret");
}

__attribute__((naked, noinline, noclone, section(".text.xp_floor_stepped"))) static void stepped(void)
{
	__asm__("movl %edi, %eax\n\tret");
}

static void cheap_syscall(void)
{
	syscall(SYS_getppid);
}

/* Long enough for a few samples a batch. */
static void spin(void)
{
	for (volatile unsigned i = 0; i < SPINS; i++)
		;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Best batch, ns of `calls` calls: what others do on this CPU only ever adds. */
static uint64_t time_calls(void (*volatile function)(void), unsigned calls, clockid_t clock)
{
	uint64_t best = UINT64_MAX;

	for (unsigned batch = 0; batch < BATCHES; batch++) {
		uint64_t start = now_ns(clock);

		for (unsigned i = 0; i < calls; i++)
			function();
		uint64_t took = now_ns(clock) - start;
		if (took < best)
			best = took;
	}
	return best;
}

static struct xp_opt_u64 over(uint64_t probed, uint64_t bare, uint64_t n)
{
	struct xp_opt_u64 none = { 0 };

	return probed > bare && n ? (struct xp_opt_u64)XP_SOME((probed - bare) / n) : none;
}

static void close_link(struct bpf_link *link)
{
	bpf_link__destroy(link);
}
XP_DEFINE_AUTO(struct bpf_link *, close_link);

static struct xp_opt_u64 time_probe(struct xp_floor *skel, bool multi, void (*function)(void), bool on_return)
{
	uint64_t bare = time_calls(function, CALLS, CLOCK_THREAD_CPUTIME_ID);
	struct xp_own_place place;
	struct xp_opt_u64 none = { 0 };

	if (xp_own_place((const void *)function, &place))
		return none;
	if (multi) {
		xp_auto_fd link = xp_own_link(bpf_program__fd(skel->progs.xp_probe), &place, 0, on_return);

		return link < 0 ? none : over(time_calls(function, CALLS, CLOCK_THREAD_CPUTIME_ID), bare, CALLS);
	}
	xp_auto(close_link) struct bpf_link *link =
		bpf_program__attach_uprobe(skel->progs.xp_probe, on_return, getpid(), place.path, place.offset);
	return link ? over(time_calls(function, CALLS, CLOCK_THREAD_CPUTIME_ID), bare, CALLS) : none;
}

static struct xp_opt_u64 time_syscall(struct xp_floor *skel)
{
	uint64_t bare = time_calls(cheap_syscall, CALLS, CLOCK_THREAD_CPUTIME_ID);
	xp_auto(close_link) struct bpf_link *enter = bpf_program__attach(skel->progs.xp_sys_enter);
	xp_auto(close_link) struct bpf_link *leave = enter ? bpf_program__attach(skel->progs.xp_sys_exit) : NULL;
	struct xp_opt_u64 none = { 0 };

	return leave ? over(time_calls(cheap_syscall, CALLS, CLOCK_THREAD_CPUTIME_ID), bare, CALLS) : none;
}

/* An interrupt may not be counted as the thread's time, so this one is timed by the wall clock. */
static struct xp_opt_u64 time_sample(struct xp_floor *skel)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = SAMPLE_PERIOD_NS,
		.exclude_hv = 1,
	};
	uint64_t bare = time_calls(spin, CALLS, CLOCK_MONOTONIC);
	struct xp_opt_u64 none = { 0 };
	xp_auto_fd event = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (event < 0 || ioctl(event, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(skel->progs.xp_sample)))
		return none;
	skel->bss->xp_samples = 0;
	uint64_t probed = time_calls(spin, CALLS, CLOCK_MONOTONIC);
	return over(probed, bare, skel->bss->xp_samples / BATCHES);
}

/* Opens and loads; multi falls back to perf events where the kernel does not know the attach type. */
static int load(bool multi, struct xp_floor **ret_skel, struct xp_err *reterr)
{
	xp_bpf_init();
	xp_auto(done) struct xp_floor *skel = xp_floor__open();
	if (!skel)
		return xp_bpf_fail(reterr, errno, "bpf_object__open", "floor programs");
	int rc = xp_bpf_set_target(skel->obj, (uint32_t)getpid(), reterr);
	if (rc)
		return rc;
	if (multi)
		bpf_program__set_expected_attach_type(skel->progs.xp_probe, (enum bpf_attach_type)XP_ATTACH_UPROBE_MULTI);
	if (xp_floor__load(skel))
		return xp_bpf_fail(reterr, errno, "bpf(BPF_PROG_LOAD)", "floor programs");
	rc = xp_bpf_switch(skel->obj, false, reterr);
	if (rc)
		return rc;
	*ret_skel = xp_steal(&skel);
	return 0;
}

int xp_floor_measure(struct xp_floors *ret_floors, struct xp_err *reterr)
{
	struct xp_trial trial = { 0 };
	bool multi = xp_trial_uprobe(&trial, false) != EINVAL;
	xp_auto(done) struct xp_floor *skel = NULL;
	int rc = load(multi, &skel, reterr);

	if (rc)
		return rc;
	*ret_floors = (struct xp_floors){
		.uprobe = time_probe(skel, multi, emulated, false),
		.uprobe_stepped = time_probe(skel, multi, stepped, false),
		.uretprobe = time_probe(skel, multi, emulated, true),
		.uretprobe_stepped = time_probe(skel, multi, stepped, true),
		.syscall = time_syscall(skel),
		.sample = time_sample(skel),
	};
	return 0;
}

int xp_floor_measure_sample(struct xp_opt_u64 *ret_sample, struct xp_err *reterr)
{
	xp_auto(done) struct xp_floor *skel = NULL;
	int rc = load(false, &skel, reterr);

	if (!rc)
		*ret_sample = time_sample(skel);
	return rc;
}
