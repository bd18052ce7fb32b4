/* SPDX-License-Identifier: Apache-2.0 */
/* Life of the system call programs: load, attach, switch, detach. State: the loaded object, its ring and a reading buffer. */
#include "engine/bpf_syscalls_priv.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "engine/bpf_common.h"
#include "engine/engine.h"
#include "target/rights.h"

enum { CELLS_DEFAULT = 131072 };

static int load(struct xp_bpf_syscalls *engine, const struct xp_bpf_syscalls_config *config, struct xp_err *reterr)
{
	struct xp_syscalls *skel = engine->skel;

	skel->rodata->xp_max_inflight = config->max_inflight;
	bpf_map__set_max_entries(skel->maps.groups, config->max_groups);
	bpf_map__set_max_entries(skel->maps.cells, config->max_cells ? config->max_cells : CELLS_DEFAULT);
	bpf_map__set_max_entries(skel->maps.calls, (__u32)config->targets.n);
	int rc = xp_bpf_set_targets(skel->obj, &config->targets, reterr);
	if (rc)
		return rc;
	rc = xp_syscalls__load(skel);
	if (rc)
		return xp_bpf_fail(reterr, -rc, "bpf(BPF_PROG_LOAD)", "system call programs");
	rc = xp_bpf_fill_targets(skel->obj, &config->targets, reterr);
	if (rc)
		return rc;
	engine->ring = ring_buffer__new(bpf_map__fd(skel->maps.ended), xp_bpf_syscalls_take_ended, engine, NULL);
	if (!engine->ring)
		return xp_bpf_fail(reterr, errno, "mmap", "ring of ended threads");
	return 0;
}

int xp_bpf_syscalls_load(const struct xp_bpf_syscalls_config *config, struct xp_bpf_syscalls **ret_engine, struct xp_err *reterr)
{
	xp_auto(xp_bpf_syscalls_free) struct xp_bpf_syscalls *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "system call engine");
	xp_bpf_init();
	engine->n_cpus = libbpf_num_possible_cpus();
	engine->per_cpu = calloc(engine->n_cpus > 0 ? engine->n_cpus : 1, sizeof(*engine->per_cpu));
	if (engine->n_cpus <= 0 || !engine->per_cpu)
		return xp_fail_sys(reterr, engine->n_cpus <= 0 ? -engine->n_cpus : ENOMEM, "read", "/sys/devices/system/cpu/possible");
	engine->skel = xp_syscalls__open();
	if (!engine->skel)
		return xp_bpf_fail(reterr, errno, "bpf_object__open", "system call programs");
	int rc = load(engine, config, reterr);
	if (rc)
		return rc;
	*ret_engine = xp_steal(&engine);
	return 0;
}

void xp_bpf_syscalls_free(struct xp_bpf_syscalls *engine)
{
	if (!engine)
		return;
	ring_buffer__free(engine->ring);
	xp_syscalls__destroy(engine->skel);
	free(engine->per_cpu);
	free(engine);
}

static int attach_one(struct bpf_program *program, struct bpf_link **ret_link, struct xp_err *reterr)
{
	*ret_link = bpf_program__attach(program);
	if (!*ret_link)
		return xp_bpf_fail(reterr, errno, "bpf(BPF_RAW_TRACEPOINT_OPEN)", bpf_program__section_name(program));
	return 0;
}

int xp_bpf_syscalls_attach(struct xp_bpf_syscalls *engine, struct xp_err *reterr)
{
	struct xp_syscalls *skel = engine->skel;
	int rc = xp_bpf_switch(skel->obj, false, reterr);

	/* A thread's end must be seen before anything of it is counted, an exit before its entry. */
	if (!rc)
		rc = attach_one(skel->progs.xp_thread_exit, &skel->links.xp_thread_exit, reterr);
	if (!rc)
		rc = attach_one(skel->progs.xp_sys_exit, &skel->links.xp_sys_exit, reterr);
	if (!rc)
		rc = attach_one(skel->progs.xp_sys_enter, &skel->links.xp_sys_enter, reterr);
	if (!rc)
		rc = xp_bpf_syscalls_adopt(engine, reterr);
	return rc;
}

void xp_bpf_syscalls_start(struct xp_bpf_syscalls *engine)
{
	__atomic_store_n(&engine->skel->bss->xp_counting, 1, __ATOMIC_SEQ_CST);
}

int xp_bpf_syscalls_stop(struct xp_bpf_syscalls *engine, struct xp_err *reterr)
{
	return xp_bpf_switch(engine->skel->obj, true, reterr);
}

static int detach_one(struct bpf_link **link, const char *name, struct xp_err *reterr)
{
	int rc = *link ? bpf_link__destroy(*link) : 0;

	*link = NULL;
	if (rc)
		return xp_fail_call(reterr, XP_E_CLEANUP_FAILED, -rc, "close", "link of %s", name);
	return 0;
}

/*
 * A program that read the switch before it was turned may still run. membarrier(GLOBAL) is a wait for all of the kernel's RCU readers,
 * which the programs are. Kernels with nohz_full CPUs refuse it; the time that the closing of the links took has to do there.
 */
static void wait_for_programs(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

int xp_bpf_syscalls_detach(struct xp_bpf_syscalls *engine, struct xp_err *reterr)
{
	struct xp_syscalls *skel = engine->skel;
	int rc = detach_one(&skel->links.xp_sys_enter, "sys_enter", reterr);
	int rc_exit = detach_one(&skel->links.xp_sys_exit, "sys_exit", reterr);
	int rc_thread = detach_one(&skel->links.xp_thread_exit, "sched_process_exit", reterr);

	wait_for_programs();
	return rc ? rc : rc_exit ? rc_exit : rc_thread;
}

void xp_bpf_syscalls_lost(const struct xp_bpf_syscalls *engine, size_t target, struct xp_sys_thread *ret_lost)
{
	*ret_lost = engine->skel->bss->xp_lost[target];
}

uint64_t xp_bpf_syscalls_events(const struct xp_bpf_syscalls *engine, size_t target)
{
	uint64_t calls = 0;
	uint32_t index = (uint32_t)target;

	if (bpf_map_lookup_elem(bpf_map__fd(engine->skel->maps.calls), &index, engine->per_cpu))
		return 0; /* not possible for an array; cost is then told too low, nothing else depends on it */
	for (int cpu = 0; cpu < engine->n_cpus; cpu++)
		calls += engine->per_cpu[cpu];
	return 2 * calls;
}

const struct xp_engine xp_engine_bpf_syscalls = {
	.name = "bpf_syscalls",
	.summary = "every system call, summed in the kernel",
	.sources = (const char *const[]){ "ebpf_syscall", NULL },
	.needs = XP_NEED_BPF_SYSCALL,
};
