/* SPDX-License-Identifier: Apache-2.0 */
/* The off-CPU programs: load, attach, switch, read, detach. State: the loaded object, its rings and a reading buffer. */
#include "engine/bpf_sched.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "engine/bpf_common.h"

#include "sched.skel.h"
#include "engine/engine.h"
#include "target/rights.h"

/* Stacks a second that may be copied, and how many at once: the rest of the blocks is only counted. Bounds what a storm of blocks costs. */
enum { STACKS_A_SECOND = 5000, STACKS_AT_ONCE = 500 };

struct xp_bpf_sched {
	struct xp_sched *skel;
	struct ring_buffer *rings;
	struct xp_bpf_targets targets;
	uint64_t refilled_ns; /* when the budget of stacks was filled last */
	int n_cpus;
	uint64_t (*per_cpu)[2];
	/* Only during a drain: where records go, and the first failure. */
	const struct xp_bpf_sched_sink *sink;
	struct xp_err *sink_err;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int take_sample(void *opaque, void *record, size_t size)
{
	struct xp_bpf_sched *engine = opaque;
	const struct xp_rec_sample *sample = record;

	if (size < sizeof(*sample) || sample->size > size)
		return xp_fail(engine->sink_err, XP_E_INTERNAL, "a sample's record has %zu bytes", size);
	return engine->sink->sample ? engine->sink->sample(engine->sink->arg, sample, engine->sink_err) : 0;
}

static int take_ended(void *opaque, void *record, size_t size)
{
	struct xp_bpf_sched *engine = opaque;
	struct xp_sched_thread thread;

	if (size < sizeof(thread))
		return xp_fail(engine->sink_err, XP_E_INTERNAL, "a thread's record has %zu bytes", size);
	memcpy(&thread, record, sizeof(thread));
	return engine->sink->thread ? engine->sink->thread(engine->sink->arg, &thread, engine->sink_err) : 0;
}

static int open_rings(struct xp_bpf_sched *engine, struct xp_err *reterr)
{
	engine->rings = ring_buffer__new(bpf_map__fd(engine->skel->maps.samples), take_sample, engine, NULL);
	if (!engine->rings || ring_buffer__add(engine->rings, bpf_map__fd(engine->skel->maps.ended), take_ended, engine))
		return xp_bpf_fail(reterr, errno, "mmap", "rings of blocked stacks");
	return 0;
}

static int load(struct xp_bpf_sched *engine, const struct xp_bpf_sched_config *config, struct xp_err *reterr)
{
	struct xp_sched *skel = engine->skel;

	skel->rodata->xp_min_block_ns = config->min_block_ns;
	skel->rodata->xp_has_loop = libbpf_probe_bpf_helper(BPF_PROG_TYPE_TRACING, BPF_FUNC_loop, NULL) == 1;
	skel->rodata->xp_some_python = config->targets.python;
	if (config->python)
		memcpy((void *)&skel->rodata->xp_python, config->python, sizeof(skel->rodata->xp_python));
	engine->targets = config->targets;
	for (size_t i = 0; i < config->targets.n; i++)
		skel->bss->xp_stacks_left[i] = STACKS_AT_ONCE;
	bpf_map__set_max_entries(skel->maps.runs, (__u32)config->targets.n);
	bpf_map__set_max_entries(skel->maps.xp_pythons, (__u32)config->targets.n);
	int rc = xp_bpf_set_targets(skel->obj, &config->targets, reterr);
	if (rc)
		return rc;
	rc = xp_sched__load(skel);
	if (rc)
		return xp_bpf_fail(reterr, -rc, "bpf(BPF_PROG_LOAD)", "off-CPU programs");
	rc = xp_bpf_fill_targets(skel->obj, &config->targets, reterr);
	return rc ? rc : open_rings(engine, reterr);
}

int xp_bpf_sched_load(const struct xp_bpf_sched_config *config, struct xp_bpf_sched **ret_engine, struct xp_err *reterr)
{
	xp_auto(xp_bpf_sched_free) struct xp_bpf_sched *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "off-CPU engine");
	xp_bpf_init();
	engine->n_cpus = libbpf_num_possible_cpus();
	engine->per_cpu = calloc(engine->n_cpus > 0 ? (size_t)engine->n_cpus : 1, sizeof(*engine->per_cpu));
	if (engine->n_cpus <= 0 || !engine->per_cpu)
		return xp_fail_sys(reterr, engine->n_cpus <= 0 ? -engine->n_cpus : ENOMEM, "read", "/sys/devices/system/cpu/possible");
	engine->skel = xp_sched__open();
	if (!engine->skel)
		return xp_bpf_fail(reterr, errno, "bpf_object__open", "off-CPU programs");
	int rc = load(engine, config, reterr);
	if (rc)
		return rc;
	*ret_engine = xp_steal(&engine);
	return 0;
}

int xp_bpf_sched_python(struct xp_bpf_sched *engine, size_t target, const struct xp_python_layout *layout, struct xp_err *reterr)
{
	uint32_t index = (uint32_t)target;

	if (bpf_map_update_elem(bpf_map__fd(engine->skel->maps.xp_pythons), &index, layout, BPF_ANY))
		return xp_bpf_fail(reterr, errno, "bpf(BPF_MAP_UPDATE_ELEM)", "layouts of Python");
	return 0;
}

void xp_bpf_sched_free(struct xp_bpf_sched *engine)
{
	if (!engine)
		return;
	ring_buffer__free(engine->rings);
	xp_sched__destroy(engine->skel);
	free(engine->per_cpu);
	free(engine);
}

static int open_iterator(struct bpf_program *program, int *ret_fd, struct xp_err *reterr)
{
	struct bpf_link *link = bpf_program__attach_iter(program, NULL);

	if (!link)
		return xp_bpf_fail(reterr, errno, "bpf(BPF_LINK_CREATE)", bpf_program__name(program));
	int fd = bpf_iter_create(bpf_link__fd(link)), errnum = errno;

	bpf_link__destroy(link); /* the iterator holds its own reference */
	if (fd < 0)
		return xp_bpf_fail(reterr, errnum, "bpf(BPF_ITER_CREATE)", bpf_program__name(program));
	*ret_fd = fd;
	return 0;
}

/* Reads an iterator to its end; each whole thread record goes to the sink (NULL: the iterator writes none). */
static int run_iterator(struct bpf_program *program, const struct xp_bpf_sched_sink *sink, struct xp_err *reterr)
{
	xp_auto_fd fd = -1;
	struct xp_sched_thread thread;
	int rc = open_iterator(program, &fd, reterr);
	size_t have = 0;

	while (!rc) {
		ssize_t got = read(fd, (char *)&thread + have, sizeof(thread) - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return xp_bpf_fail(reterr, errno, "read", "iterator over tasks");
		if (!got)
			break;
		have += (size_t)got;
		if (have < sizeof(thread))
			continue;
		have = 0;
		rc = sink && sink->thread ? sink->thread(sink->arg, &thread, reterr) : 0;
	}
	return rc;
}

/* Detached in this order, attached from the end: a thread's end must be seen before anything of it is booked. */
enum { SWITCH, WAKEUP, WAKEUP_NEW, SYS_EXIT, THREAD_EXIT, N_PROGRAMS };

static void list_links(struct xp_sched *skel, struct bpf_program **programs, struct bpf_link ***links)
{
	programs[SWITCH] = skel->progs.xp_switch;
	links[SWITCH] = &skel->links.xp_switch;
	programs[WAKEUP] = skel->progs.xp_wakeup;
	links[WAKEUP] = &skel->links.xp_wakeup;
	programs[WAKEUP_NEW] = skel->progs.xp_wakeup_new;
	links[WAKEUP_NEW] = &skel->links.xp_wakeup_new;
	programs[SYS_EXIT] = skel->progs.xp_sys_exit;
	links[SYS_EXIT] = &skel->links.xp_sys_exit;
	programs[THREAD_EXIT] = skel->progs.xp_thread_exit;
	links[THREAD_EXIT] = &skel->links.xp_thread_exit;
}

int xp_bpf_sched_attach(struct xp_bpf_sched *engine, struct xp_err *reterr)
{
	struct bpf_program *programs[N_PROGRAMS];
	struct bpf_link **links[N_PROGRAMS];
	int rc = xp_bpf_switch(engine->skel->obj, false, reterr);

	list_links(engine->skel, programs, links);
	for (int i = N_PROGRAMS - 1; i >= 0 && !rc; i--) {
		*links[i] = bpf_program__attach(programs[i]);
		if (!*links[i])
			rc = xp_bpf_fail(reterr, errno, "bpf(BPF_RAW_TRACEPOINT_OPEN)", bpf_program__section_name(programs[i]));
	}
	engine->refilled_ns = now_ns();
	return rc ? rc : run_iterator(engine->skel->progs.xp_adopt, NULL, reterr);
}

void xp_bpf_sched_start(struct xp_bpf_sched *engine, uint64_t start_ns)
{
	__atomic_store_n(&engine->skel->bss->xp_start_ns, start_ns, __ATOMIC_SEQ_CST);
}

int xp_bpf_sched_stop(struct xp_bpf_sched *engine, struct xp_err *reterr)
{
	return xp_bpf_switch(engine->skel->obj, true, reterr);
}

int xp_bpf_sched_detach(struct xp_bpf_sched *engine, struct xp_err *reterr)
{
	struct bpf_program *programs[N_PROGRAMS];
	struct bpf_link **links[N_PROGRAMS];
	int rc = 0;

	list_links(engine->skel, programs, links);
	for (int i = 0; i < N_PROGRAMS; i++) {
		int failed = *links[i] ? bpf_link__destroy(*links[i]) : 0;

		*links[i] = NULL;
		if (failed && !rc)
			rc = xp_fail_call(reterr, XP_E_CLEANUP_FAILED, -failed, "close", "link of %s",
					  bpf_program__section_name(programs[i]));
	}
	/* A program that read the switch before it was turned may still run; this waits for the kernel's RCU readers, which programs are.
	 * Kernels with nohz_full CPUs refuse it; the time that closing the links took has to do there. */
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	return rc;
}

static void refill(struct xp_bpf_sched *engine)
{
	uint64_t now = now_ns(), more = (now - engine->refilled_ns) * STACKS_A_SECOND / 1000000000u;

	if (!more)
		return;
	engine->refilled_ns = now;
	for (size_t i = 0; i < engine->targets.n; i++) {
		__s64 *left = &engine->skel->bss->xp_stacks_left[i], have = __atomic_load_n(left, __ATOMIC_RELAXED);

		have = (have > 0 ? have : 0) + (__s64)more;
		__atomic_store_n(left, have < STACKS_AT_ONCE ? have : STACKS_AT_ONCE, __ATOMIC_RELAXED);
	}
}

int xp_bpf_sched_drain(struct xp_bpf_sched *engine, const struct xp_bpf_sched_sink *sink, struct xp_err *reterr)
{
	xp_auto_err err = { 0 };

	engine->sink = sink;
	engine->sink_err = &err;
	int rc = ring_buffer__consume(engine->rings);
	engine->sink = NULL;
	engine->sink_err = NULL;
	refill(engine);
	if (err.code)
		return xp_err_move(reterr, &err);
	return rc < 0 ? xp_bpf_fail(reterr, -rc, "ring_buffer__consume", "blocked stacks") : 0;
}

int xp_bpf_sched_list(struct xp_bpf_sched *engine, const struct xp_bpf_sched_sink *sink, struct xp_err *reterr)
{
	return run_iterator(engine->skel->progs.xp_list, sink, reterr);
}

int xp_bpf_sched_collect(struct xp_bpf_sched *engine, const struct xp_bpf_sched_sink *sink, struct xp_err *reterr)
{
	int rc = xp_bpf_sched_drain(engine, sink, reterr);

	return rc ? rc : xp_bpf_sched_list(engine, sink, reterr);
}

void xp_bpf_sched_lost(const struct xp_bpf_sched *engine, size_t target, struct xp_sched_lost *ret_lost)
{
	*ret_lost = engine->skel->bss->xp_lost[target];
}

void xp_bpf_sched_events(const struct xp_bpf_sched *engine, size_t target, uint64_t *ret_switches, uint64_t *ret_exits)
{
	uint32_t index = (uint32_t)target;

	*ret_switches = *ret_exits = 0;
	if (bpf_map_lookup_elem(bpf_map__fd(engine->skel->maps.runs), &index, engine->per_cpu))
		return; /* not possible for an array; cost is then told too low, nothing else depends on it */
	for (int cpu = 0; cpu < engine->n_cpus; cpu++) {
		*ret_switches += engine->per_cpu[cpu][0];
		*ret_exits += engine->per_cpu[cpu][1];
	}
}

const struct xp_engine xp_engine_bpf_sched = {
	.name = "bpf_sched",
	.summary = "where threads wait, at each context switch",
	.sources = (const char *const[]){ "ebpf_sched", NULL },
	.needs = XP_NEED_OFF_CPU,
};
