/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks of the sampling engine: one event a CPU that runs the program. In: a loaded engine. Out: its clocks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "engine/bpf_sample_priv.h"
#include "sample.skel.h"

#define NS_PER_SECOND 1000000000u

/*
 * A clock of a thread starts with a whole period whenever a thread is born, so it misses half a period of each thread and nearly all of
 * threads that are shorter. A clock of a CPU is met by every thread at a random phase, costs no context switch anything, and takes as many
 * descriptors as there are CPUs. The program leaves at once when the CPU runs something else.
 */
static int open_clock(const struct xp_sampler *sampler, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = NS_PER_SECOND / sampler->config.frequency_hz,
		.disabled = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int start_clock(struct xp_sampler *sampler, int cpu, struct xp_err *reterr)
{
	xp_auto_fd clock = open_clock(sampler, cpu);
	char object[40];

	snprintf(object, sizeof(object), "cpu-clock of CPU %d", cpu);
	if (clock < 0 && (errno == ENODEV || errno == ENXIO))
		return 0; /* offline */
	if (clock < 0)
		return xp_bpf_fail(reterr, errno, "perf_event_open", object);
	if (ioctl(clock, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(sampler->skel->progs.xp_sample)))
		return xp_bpf_fail(reterr, errno, "ioctl(PERF_EVENT_IOC_SET_BPF)", object);
	if (ioctl(clock, PERF_EVENT_IOC_ENABLE, 0))
		return xp_bpf_fail(reterr, errno, "ioctl(PERF_EVENT_IOC_ENABLE)", object);
	sampler->clocks[sampler->n_clocks_open++] =
		(struct xp_sample_clock){ .fd = xp_steal_fd(&clock), .period_ns = NS_PER_SECOND / sampler->config.frequency_hz };
	return 0;
}

static int attach_tracepoint(struct bpf_program *program, struct bpf_link **ret_link, struct xp_err *reterr)
{
	*ret_link = bpf_program__attach(program);
	return *ret_link ? 0 : xp_bpf_fail(reterr, errno, "bpf(BPF_RAW_TRACEPOINT_OPEN)", bpf_program__section_name(program));
}

int xp_sampler_attach_clocks(struct xp_sampler *sampler, struct xp_err *reterr)
{
	struct xp_sample *skel = sampler->skel;
	int n_cpus = libbpf_num_possible_cpus();

	if (n_cpus <= 0)
		return xp_bpf_fail(reterr, -n_cpus, "read", "/sys/devices/system/cpu/possible");
	sampler->clocks = calloc((size_t)n_cpus, sizeof(*sampler->clocks));
	if (!sampler->clocks)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "%d clocks", n_cpus);
	int r = attach_tracepoint(skel->progs.xp_fork, &skel->links.xp_fork, reterr);

	if (!r)
		r = attach_tracepoint(skel->progs.xp_exit, &skel->links.xp_exit, reterr);
	for (int cpu = 0; cpu < n_cpus && !r; cpu++)
		r = start_clock(sampler, cpu, reterr);
	sampler->n_clocks = sampler->n_clocks_open;
	return r;
}

void xp_sampler_detach_clocks(struct xp_sampler *sampler)
{
	for (size_t i = 0; i < sampler->n_clocks_open; i++)
		close(sampler->clocks[i].fd);
	sampler->n_clocks_open = 0;
	xp_sample__detach(sampler->skel);
}
