/* SPDX-License-Identifier: Apache-2.0 */
/* Stack samples: life, reading, counting. In: a process. Out: records, and counters that account for every tick of the clocks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/regex.h"
#include "engine/bpf_sample_priv.h"
#include "engine/perf_ring.h"
#include "sample.skel.h"
#include "engine/engine.h"
#include "target/rights.h"

#define NS_PER_SECOND 1000000000u
#define FOLDER_LINKS 2

const char *const xp_sampler_kind_names[XP_SAMPLER_KIND_COUNT] = {
	[XP_SAMPLER_BPF] = "bpf",
	[XP_SAMPLER_PERF_RING] = "perf_ring",
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static bool is_whole(const struct xp_rec_sample *record, size_t size)
{
	return size >= sizeof(*record) && record->size <= size &&
	       sizeof(*record) + record->n_kernel * sizeof(uint64_t) + record->n_python * sizeof(struct xp_rec_python_frame) +
			       record->stack_bytes <=
		       record->size;
}

/* A refused name is told to the program, which keeps its samples to itself from then on. */
static int refuse_name(struct xp_sampler *sampler, const char *comm, struct xp_err *reterr)
{
	uint32_t refused = 1;
	char name[16];

	memcpy(name, comm, sizeof(name));
	if (sampler->skel && bpf_map_update_elem(bpf_map__fd(sampler->skel->maps.xp_unwanted), name, &refused, BPF_ANY))
		return xp_bpf_fail(reterr, errno, "bpf(BPF_MAP_UPDATE_ELEM)", "thread names");
	return 0;
}

static int deliver(struct xp_sampler *sampler, const struct xp_rec_sample *record, struct xp_err *reterr)
{
	size_t target = sampler->targets.n > 1 ? xp_bpf_target_index(&sampler->targets, record->pid) : 0;

	if (target >= sampler->targets.n)
		return xp_fail(reterr, XP_E_INTERNAL, "the sample ring holds a record of process %u", record->pid);
	if (sampler->config.threads) {
		int found = xp_regex_search(sampler->config.threads, record->comm, strnlen(record->comm, sizeof(record->comm)), reterr);

		sampler->read[target].filtered += !found;
		if (found <= 0)
			return found ? found : refuse_name(sampler, record->comm, reterr);
	}
	sampler->read[target].delivered++;
	if (sampler->reader)
		sampler->reader->take(sampler->reader->arg, record);
	return 0;
}

/* Callback of both rings; the error goes beside libbpf. */
static int take_record(void *arg, void *data, size_t size)
{
	struct xp_sampler *sampler = arg;
	int r;

	sampler->bytes_read += (size + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
	if (is_whole(data, size))
		r = deliver(sampler, data, sampler->reader_err);
	else
		r = xp_fail(sampler->reader_err, XP_E_INTERNAL, "the sample ring holds a record of wrong size");
	return r ? -EBADMSG : 0;
}

static int read_ring(struct xp_sampler *sampler, struct xp_err *reterr)
{
	/* Cleared before reading: what comes from now on may wake us again. */
	__atomic_store_n(&sampler->skel->bss->xp_woken, 0, __ATOMIC_SEQ_CST);
	int n = ring_buffer__consume(sampler->ring);

	if (n < 0 && n != -EBADMSG)
		return xp_bpf_fail(reterr, -n, "ring_buffer__consume", "sample ring");
	return sampler->on_ns && !sampler->off_ns ? xp_sampler_clocks_vary(sampler, now_ns(), reterr) : 0;
}

int xp_sampler_read(struct xp_sampler *sampler, const struct xp_sample_reader *reader, struct xp_err *reterr)
{
	xp_auto_err err = { 0 };

	sampler->reader = reader;
	sampler->reader_err = &err;
	int r = sampler->perf ? 0 : read_ring(sampler, reterr);

	for (size_t i = 0; sampler->perf && i < sampler->targets.n && !r; i++)
		r = xp_perf_ring_read(sampler->perf[i], take_record, sampler, reterr);

	sampler->reader = NULL;
	sampler->reader_err = NULL;
	return err.code ? xp_err_move(reterr, &err) : r;
}

int xp_sampler_fd(const struct xp_sampler *sampler)
{
	return sampler->perf ? -1 : bpf_map__fd(sampler->skel->maps.xp_ring);
}

/* A folder of threads has one link more for each (fs/proc/base.c, proc_task_getattr). 0 when the process is gone. */
static uint32_t threads_now(uint32_t pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	return stat(path, &st) == 0 && st.st_nlink > FOLDER_LINKS ? (uint32_t)st.st_nlink - FOLDER_LINKS : 0;
}

static int switch_perf(struct xp_sampler *sampler, bool on, struct xp_err *reterr)
{
	int r = 0;

	for (size_t i = 0; i < sampler->targets.n && !r; i++)
		r = xp_perf_ring_switch(sampler->perf[i], on, reterr);
	return r;
}

int xp_sampler_switch(struct xp_sampler *sampler, bool on, struct xp_err *reterr)
{
	*(on ? &sampler->on_ns : &sampler->off_ns) = now_ns();
	if (sampler->perf)
		return switch_perf(sampler, on, reterr);
	for (size_t i = 0; i < sampler->targets.n && on; i++)
		sampler->read[i].threads_at_start = threads_now(sampler->targets.pids[i]);
	if (on)
		xp_sampler_clocks_begin(sampler, sampler->on_ns);
	__atomic_store_n(&sampler->skel->data->xp_off, !on, __ATOMIC_SEQ_CST);
	return 0;
}

static void release_bpf(struct xp_sampler *sampler)
{
	if (sampler->skel)
		xp_sampler_detach_clocks(sampler);
	free(xp_steal(&sampler->clocks));
	ring_buffer__free(xp_steal(&sampler->ring));
	xp_sample__destroy(xp_steal(&sampler->skel));
}

static int fall_back(struct xp_sampler *sampler, const struct xp_err *refused, struct xp_err *reterr)
{
	release_bpf(sampler);
	snprintf(sampler->no_bpf, sizeof(sampler->no_bpf), "%.40s of %.100s gave %s", refused->call, refused->object, refused->errno_text);
	sampler->perf = calloc(sampler->targets.n, sizeof(struct xp_perf_ring *));
	if (!sampler->perf)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "sampling engine");
	int r = 0;

	for (size_t i = 0; i < sampler->targets.n && !r; i++) {
		struct xp_sampler_config config = sampler->config;

		config.pid = sampler->targets.pids[i];
		r = xp_perf_ring_new(&config, &sampler->perf[i], reterr);
	}
	return r;
}

/* Programs may be allowed where clocks of whole CPUs are not: CAP_BPF without CAP_PERFMON, a security module, a seccomp filter. */
int xp_sampler_attach(struct xp_sampler *sampler, struct xp_err *reterr)
{
	xp_auto_err refused = { 0 };
	int r = sampler->perf ? 0 : xp_sampler_attach_clocks(sampler, &refused);

	if (r && r != -XP_E_PERMISSION_DENIED)
		return xp_err_move(reterr, &refused);
	if (r)
		r = fall_back(sampler, &refused, reterr);
	for (size_t i = 0; sampler->perf && i < sampler->targets.n && !r; i++)
		r = xp_perf_ring_attach(sampler->perf[i], reterr);
	return r;
}

void xp_sampler_detach(struct xp_sampler *sampler)
{
	for (size_t i = 0; sampler->perf && i < sampler->targets.n; i++)
		xp_perf_ring_detach(sampler->perf[i]);
	if (!sampler->perf)
		xp_sampler_detach_clocks(sampler);
}

static int sum_cpus(const struct xp_sampler *sampler, size_t target, struct xp_rec_sample_counts *ret_sum, struct xp_err *reterr)
{
	int n_cpus = libbpf_num_possible_cpus();
	xp_auto(xp_free) void *block = n_cpus > 0 ? calloc((size_t)n_cpus, sizeof(*ret_sum)) : NULL;
	const struct xp_rec_sample_counts *cpus = block;
	struct xp_rec_sample_counts sum = { 0 };
	uint32_t index = (uint32_t)target;

	if (!block)
		return xp_bpf_fail(reterr, n_cpus < 0 ? -n_cpus : ENOMEM, "libbpf_num_possible_cpus", "sample counters");
	if (bpf_map_lookup_elem(bpf_map__fd(sampler->skel->maps.xp_counts), &index, block))
		return xp_bpf_fail(reterr, errno, "bpf(BPF_MAP_LOOKUP_ELEM)", "sample counters");
	for (int cpu = 0; cpu < n_cpus; cpu++) {
		sum.ticks += cpus[cpu].ticks;
		sum.emitted += cpus[cpu].emitted;
		sum.ring_full += cpus[cpu].ring_full;
		sum.filtered += cpus[cpu].filtered;
		sum.kernel += cpus[cpu].kernel;
		sum.torn += cpus[cpu].torn;
	}
	*ret_sum = sum;
	return 0;
}

/*
 * Of the ticks that the clocks owe, as many as ran in the target would have been samples. A tick of each CPU may be due on either side of
 * the window's edges.
 */
static uint64_t missed_samples(const struct xp_sampler *sampler, const struct xp_rec_sample_counts *sum)
{
	uint64_t end_ns = sampler->off_ns ? sampler->off_ns : now_ns();
	uint64_t owed = sampler->on_ns ? xp_sampler_clocks_owed(sampler, end_ns) : 0;

	if (owed <= sum->ticks)
		return 0;
	return sum->ticks ? (owed - sum->ticks) * sum->emitted / sum->ticks : owed;
}

static int count_bpf(const struct xp_sampler *sampler, size_t target, struct xp_sampler_counts *ret_counts, struct xp_err *reterr)
{
	const struct xp_sample__bss *bss = sampler->skel->bss;
	const struct xp_sampler_read *read = &sampler->read[target];
	struct xp_rec_sample_counts sum = { 0 }, first = { 0 };
	int r = sum_cpus(sampler, target, &sum, reterr);

	if (!r && target)
		r = sum_cpus(sampler, 0, &first, reterr);
	if (r)
		return r;
	sum.ticks += first.ticks; /* kept in the first */
	*ret_counts = (struct xp_sampler_counts){
		.emitted = sum.emitted,
		.delivered = read->delivered,
		.ring_full = sum.ring_full,
		.filtered = sum.filtered + read->filtered,
		.kernel = sum.kernel,
		.torn = sum.torn,
		.missed = missed_samples(sampler, &sum),
		.threads_observed = read->threads_at_start + bss->xp_threads_started[target],
		.threads_attached = read->threads_at_start + bss->xp_threads_started[target],
		.threads_started = bss->xp_threads_started[target],
		.threads_ended = bss->xp_threads_ended[target],
		.children = bss->xp_children[target],
	};
	return 0;
}

int xp_sampler_count_of(struct xp_sampler *sampler, size_t target, struct xp_sampler_counts *ret_counts, struct xp_err *reterr)
{
	const struct xp_sampler_read *read = &sampler->read[target];

	if (!sampler->perf)
		return count_bpf(sampler, target, ret_counts, reterr);
	struct xp_sampler_counts counts = { .delivered = read->delivered, .filtered = read->filtered };
	int r = xp_perf_ring_count(sampler->perf[target], &counts, reterr);

	if (!r)
		*ret_counts = counts;
	return r;
}

int xp_sampler_count(struct xp_sampler *sampler, struct xp_sampler_counts *ret_counts, struct xp_err *reterr)
{
	return xp_sampler_count_of(sampler, 0, ret_counts, reterr);
}

static int verify(struct xp_sampler *sampler, size_t target, struct xp_err *reterr)
{
	struct xp_sampler_counts counts;
	int r = xp_sampler_count_of(sampler, target, &counts, reterr);

	if (!r && counts.emitted != counts.delivered + counts.ring_full + counts.filtered)
		r = xp_fail(reterr, XP_E_INTERNAL, "%llu samples were taken, but %llu read, %llu dropped and %llu filtered",
			    (unsigned long long)counts.emitted, (unsigned long long)counts.delivered, (unsigned long long)counts.ring_full,
			    (unsigned long long)counts.filtered);
	return r;
}

int xp_sampler_verify(struct xp_sampler *sampler, struct xp_err *reterr)
{
	int r = 0;

	for (size_t i = 0; i < sampler->targets.n && !r; i++)
		r = verify(sampler, i, reterr);
	return r;
}

static int new_bpf(struct xp_sampler *sampler, const struct xp_sampler_config *config, struct xp_err *reterr)
{
	int r = xp_sampler_load(sampler, config, reterr);

	if (r)
		return r;
	sampler->ring = ring_buffer__new(bpf_map__fd(sampler->skel->maps.xp_ring), take_record, sampler, NULL);
	return sampler->ring ? 0 : xp_bpf_fail(reterr, errno, "ring_buffer__new", "sample ring");
}

int xp_sampler_new(const struct xp_sampler_config *config, struct xp_sampler **ret_sampler, struct xp_err *reterr)
{
	xp_auto(xp_sampler_free) struct xp_sampler *sampler = calloc(1, sizeof(*sampler));
	xp_auto_err refused = { 0 };

	if (!sampler)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "sampling engine");
	xp_bpf_init();
	sampler->draws = now_ns();
	sampler->config = *config;
	sampler->config.python = NULL;
	sampler->targets = config->pid ? (struct xp_bpf_targets){ &sampler->config.pid, 1, false } : config->targets;
	sampler->read = calloc(sampler->targets.n, sizeof(*sampler->read));
	if (!sampler->read)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "sampling engine");
	int r = config->perf_only ? -XP_E_PERMISSION_DENIED : new_bpf(sampler, config, &refused);

	if (r && r != -XP_E_PERMISSION_DENIED && refused.sys_errno != ENOSYS) /* ENOSYS: some containers hide bpf(2) so */
		return xp_err_move(reterr, &refused);
	if (r)
		r = fall_back(sampler, &refused, reterr);
	if (!r)
		*ret_sampler = xp_steal(&sampler);
	return r;
}

enum xp_sampler_kind xp_sampler_kind(const struct xp_sampler *sampler)
{
	return sampler->perf ? XP_SAMPLER_PERF_RING : XP_SAMPLER_BPF;
}

const char *xp_sampler_no_kernel(const struct xp_sampler *sampler)
{
	return sampler->perf ? xp_perf_ring_no_kernel(sampler->perf[0]) : NULL;
}

const char *xp_sampler_no_python(const struct xp_sampler *sampler)
{
	return sampler->perf ? "Python frames are read by the BPF sampler, which CAP_BPF and CAP_PERFMON allow" : NULL;
}

const char *xp_sampler_no_bpf(const struct xp_sampler *sampler)
{
	return sampler->perf ? sampler->no_bpf : NULL;
}

void xp_sampler_free(struct xp_sampler *sampler)
{
	if (!sampler)
		return;
	release_bpf(sampler);
	for (size_t i = 0; sampler->perf && i < sampler->targets.n; i++)
		xp_perf_ring_free(sampler->perf[i]);
	free(sampler->perf);
	free(sampler->read);
	free(sampler);
}

const struct xp_engine xp_engine_bpf_sample = {
	.name = "bpf_sample",
	.summary = "stacks of running threads by CPU time, in a BPF program",
	.sources = (const char *const[]){ "perf_sample", NULL },
	.needs = XP_NEED_SAMPLE,
};
