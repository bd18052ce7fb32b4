/* SPDX-License-Identifier: Apache-2.0 */
/* Life of the perf rings: opening, locked memory, switch, counts. In: a process of our own. Out: samples of its user space. */
#include "engine/perf_ring_priv.h"
#include "engine/engine.h"
#include "target/rights.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SECOND 1000000000u
#define REGS_MASK (1u << PERF_REG_X86_BP | 1u << PERF_REG_X86_SP | 1u << PERF_REG_X86_IP)
#define RECORD_BYTES_MAX 65536u	      /* struct perf_event_header has 16 bits for the size */
#define DATA_BYTES_FIRST (512u << 10) /* with its first page, what perf_event_mlock_kb leaves each CPU by default */
#define DATA_BYTES_MIN (64u << 10)
#define FDS_KEPT_BACK 64

enum { PERF_REG_X86_BP = 6, PERF_REG_X86_SP = 7, PERF_REG_X86_IP = 8 }; /* asm/perf_regs.h */

int xp_perf_ring_new(const struct xp_sampler_config *config, struct xp_perf_ring **ret_ring, struct xp_err *reterr)
{
	xp_auto(xp_perf_ring_free) struct xp_perf_ring *ring = calloc(1, sizeof(*ring));
	long n_cpus = sysconf(_SC_NPROCESSORS_CONF);

	if (!ring || n_cpus <= 0)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "perf rings");
	ring->pid = config->pid;
	ring->max_threads = config->max_threads;
	ring->data_bytes = config->ring_bytes ? DATA_BYTES_MIN : DATA_BYTES_FIRST;
	ring->cpus = calloc((size_t)n_cpus, sizeof(*ring->cpus));
	ring->record = malloc(RECORD_BYTES_MAX);
	ring->sample = malloc(sizeof(struct xp_rec_sample) + RECORD_BYTES_MAX);
	if (!ring->cpus || !ring->record || !ring->sample)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "perf rings");
	ring->attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(ring->attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = NS_PER_SECOND / config->frequency_hz,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.read_format = PERF_FORMAT_LOST,
		.sample_regs_user = REGS_MASK,
		.sample_stack_user = XP_STACK_COPY_MAX,
		.disabled = 1,
		.inherit = 1,
		.inherit_thread = 1,
		.exclude_hv = 1,
		.exclude_callchain_user = 1,
		.comm = 1,
		.task = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	*ret_ring = xp_steal(&ring);
	return 0;
}

static void close_rings(struct xp_perf_ring *ring)
{
	for (size_t i = 0; i < ring->n_cpus; i++) {
		munmap(ring->cpus[i].page, ring->cpus[i].map_bytes);
		close(ring->cpus[i].fd);
	}
	ring->n_cpus = 0;
}

void xp_perf_ring_free(struct xp_perf_ring *ring)
{
	if (!ring)
		return;
	xp_perf_ring_detach(ring);
	close_rings(ring);
	xp_map_done(&ring->tids);
	free(ring->names);
	free(ring->cpus);
	free(ring->record);
	free(ring->sample);
	free(ring);
}

static int fail_locked(struct xp_perf_ring *ring, const struct xp_perf_cpu *cpu, struct xp_err *reterr)
{
	struct rlimit limit = { 0 };

	getrlimit(RLIMIT_MEMLOCK, &limit);
	xp_fail_call(reterr, XP_E_RESOURCE_LIMIT, EPERM, "mmap", "sample ring of CPU %d", cpu->cpu);
	xp_err_limit(reterr, "RLIMIT_MEMLOCK", limit.rlim_cur, 0, UINT64_MAX);
	xp_err_say(reterr, "the locked memory limit (RLIMIT_MEMLOCK, ulimit -l) leaves no room for a sample ring of CPU %d", cpu->cpu);
	xp_err_hint(reterr, "raise `ulimit -l` or the sysctl kernel.perf_event_mlock_kb");
	return -XP_E_RESOURCE_LIMIT;
}

static int map_ring(struct xp_perf_ring *ring, int fd, struct xp_perf_cpu *cpu, struct xp_err *reterr)
{
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE) + ring->data_bytes;
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED && errno == EPERM)
		return fail_locked(ring, cpu, reterr);
	if (map == MAP_FAILED)
		return xp_fail_sys(reterr, errno, "mmap", "sample ring of CPU %d", cpu->cpu);
	cpu->page = map;
	cpu->map_bytes = bytes;
	return 0;
}

static int open_rings(struct xp_perf_ring *ring, struct xp_err *reterr)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY };
	long n_cpus = sysconf(_SC_NPROCESSORS_CONF);

	attr.exclude_kernel = 1;
	attr.use_clockid = 1; /* events of one ring have one clock */
	attr.clockid = CLOCK_MONOTONIC;
	for (int cpu = 0; cpu < n_cpus; cpu++) {
		struct xp_perf_cpu *slot = &ring->cpus[ring->n_cpus];
		xp_auto_fd fd = (int)syscall(SYS_perf_event_open, &attr, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd < 0 && (errno == ENODEV || errno == ENXIO))
			continue; /* offline */
		if (fd < 0)
			return xp_perf_ring_refused(reterr, errno, "sample ring of CPU", (uint32_t)cpu);
		slot->cpu = cpu;
		int r = map_ring(ring, fd, slot, reterr);

		if (r)
			return r;
		slot->fd = xp_steal_fd(&fd);
		ring->n_cpus++;
	}
	return 0;
}

/* What is locked is shared by all rings, so all of them get smaller until they fit. */
static int open_rings_that_fit(struct xp_perf_ring *ring, struct xp_err *reterr)
{
	int r;

	for (;;) {
		r = open_rings(ring, reterr);
		if (r != -XP_E_RESOURCE_LIMIT || ring->data_bytes / 2 < DATA_BYTES_MIN)
			break;
		close_rings(ring);
		xp_err_done(reterr);
		ring->data_bytes /= 2;
	}
	return r;
}

int xp_perf_ring_attach(struct xp_perf_ring *ring, struct xp_err *reterr)
{
	struct rlimit limit = { .rlim_cur = 1024 };
	int r = open_rings_that_fit(ring, reterr);

	if (r)
		return r;
	getrlimit(RLIMIT_NOFILE, &limit); /* xp_bpf_init raised it */
	ring->max_fds = limit.rlim_cur > FDS_KEPT_BACK ? limit.rlim_cur - FDS_KEPT_BACK : 0;
	r = xp_perf_ring_open_threads(ring, reterr);
	if (!r && !ring->observed)
		return xp_fail(reterr, XP_E_TARGET_EXITED, "process %u ended", ring->pid);
	return r;
}

int xp_perf_ring_switch(struct xp_perf_ring *ring, bool on, struct xp_err *reterr)
{
	ring->on = on;
	for (size_t i = 0; i < ring->n_fds; i++)
		if (ioctl(ring->fds[i], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0))
			return xp_fail_sys(reterr, errno, "ioctl(PERF_EVENT_IOC_ENABLE)", "cpu-clock of process %u", ring->pid);
	return 0;
}

/* Losses are told by each event; where the kernel does not keep them (before 6.0), by records alone. */
static int read_lost(struct xp_perf_ring *ring, uint64_t *ret_lost, struct xp_err *reterr)
{
	uint64_t lost = ring->lost_records;

	if (ring->attr.read_format && ring->n_fds) {
		lost = 0;
		for (size_t i = 0; i < ring->n_fds; i++) {
			uint64_t value_lost[2];

			if (read(ring->fds[i], value_lost, sizeof(value_lost)) != (ssize_t)sizeof(value_lost))
				return xp_fail_sys(reterr, errno, "read", "cpu-clock of process %u", ring->pid);
			lost += value_lost[1];
		}
	}
	*ret_lost = lost;
	return 0;
}

/* Closing an event forgets its losses, so they are read before. */
void xp_perf_ring_detach(struct xp_perf_ring *ring)
{
	xp_auto_err ignored = { 0 };
	uint64_t lost;

	if (ring->n_fds && read_lost(ring, &lost, &ignored) == 0)
		ring->lost_records = lost;
	for (size_t i = 0; i < ring->n_fds; i++)
		close(ring->fds[i]);
	ring->n_fds = ring->cap_fds = 0;
	free(xp_steal(&ring->fds));
}

int xp_perf_ring_count(struct xp_perf_ring *ring, struct xp_sampler_counts *counts, struct xp_err *reterr)
{
	uint64_t lost;
	int r = read_lost(ring, &lost, reterr);

	if (r)
		return r;
	counts->emitted = ring->samples + lost;
	counts->ring_full = lost;
	counts->kernel = ring->kernel;
	counts->missed = ring->throttles;
	counts->threads_observed = ring->observed;
	counts->threads_attached = ring->attached;
	counts->threads_started = ring->started;
	counts->threads_ended = ring->ended;
	counts->children = ring->children;
	return 0;
}

const char *xp_perf_ring_no_kernel(const struct xp_perf_ring *ring)
{
	return ring->attr.exclude_kernel ? "kernel.perf_event_paranoid keeps samples of the kernel from users without CAP_PERFMON" : NULL;
}

const struct xp_engine xp_engine_perf_ring = {
	.name = "perf_ring",
	.summary = "stacks of running threads by CPU time, without BPF",
	.sources = (const char *const[]){ "perf_sample", NULL },
	.needs = XP_NEED_SAMPLE,
};
