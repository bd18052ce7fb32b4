/* SPDX-License-Identifier: Apache-2.0 */
/* Inventory `cpu_samples`. In: the sampler's records. Out: struct xp_cpu_samples. State: sampler, unwinder, Python, sums, readings. */
#include "inventory/cpu_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "engine/floor.h"
#include "inventory/cpu_member.h"
#include "inventory/cpu_times.h"
#include "inventory/inventory.h"
#include "inventory/thread_filter.h"

/* Contract 6.2 (a run of its own) and 6.6 (triage, where reaching a bound must be rare). */
enum { FREQUENCY = 99, SAMPLES = 10000, GROUPS = 256, DEPTH = 64, THREADS = 1024 };
enum { TRIAGE_SAMPLES = 20000, TRIAGE_GROUPS = 4096, TRIAGE_THREADS = 65536 };
enum { PLUMBING = 6 };		     /* native frames that one Python frame may hide */
#define SYMBOL_WORK_NS 2000000000ull /* contract 10.8 */

struct state {
	struct xp_target *target; /* borrowed */
	struct xp_inventory_request request;
	struct xp_unwinder *unwinder;
	struct xp_python *python;
	struct xp_cpu_member member;
	struct xp_cpu_times times;
	void *blocks; /* state of the inventory off_cpu in the same window; NULL: not asked for */
	struct xp_opt_u64 cpu_base, cpu_ns;
	uint64_t system_base, system_ns;
};

/* --off-cpu: each step below has one of its own. */
static const struct xp_inventory_kind *const off_cpu = &xp_inventory_off_cpu;

static void free_state(void *opaque)
{
	struct state *state = opaque;

	if (!state)
		return;
	off_cpu->free(state->blocks);
	xp_peer_leave(&state->member.peer);
	xp_cpu_sum_done(&state->member.sum);
	xp_cpu_times_done(&state->times);
	xp_unwinder_free(state->unwinder);
	xp_python_free(state->python);
	free(state);
}

static void set_default(uint64_t *bound, bool for_triage, uint64_t otherwise, uint64_t triage)
{
	if (!*bound)
		*bound = for_triage ? triage : otherwise;
}

static void fill_request(struct xp_inventory_request *request)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t wanted;

	set_default(&request->frequency_hz, false, FREQUENCY, 0);
	wanted = request->frequency_hz * (uint64_t)(cpus > 0 ? cpus : 1) * (request->duration_ms + 1000) / 1000;
	set_default(&request->max_samples, request->for_triage, SAMPLES, wanted > TRIAGE_SAMPLES ? wanted : TRIAGE_SAMPLES);
	set_default(&request->max_groups, request->for_triage, GROUPS, TRIAGE_GROUPS);
	set_default(&request->stack_depth, false, DEPTH, 0);
	set_default(&request->max_threads, request->for_triage, THREADS, TRIAGE_THREADS);
}

static int open_parts(struct state *state, struct xp_arena *arena, struct xp_err *reterr)
{
	int rc = xp_unwinder_new(state->target, &state->unwinder, reterr);

	if (!rc)
		rc = xp_python_open(state->target, &state->python, reterr);
	if (rc)
		return rc;
	xp_peer_python(&state->member.peer, xp_python_layout(state->python));
	bool mixed = xp_python_status(state->python) == XP_PYTHON_ACTIVE;
	uint64_t depth = mixed ? state->request.stack_depth * PLUMBING : state->request.stack_depth + 1;
	state->member.sum = (struct xp_cpu_sum){
		.arena = arena,
		.filter = state->request.threads,
		.max_samples = state->request.max_samples,
		.stacks = { .unwinder = state->unwinder, .python = state->python, .depth = (uint32_t)depth },
	};
	return xp_cpu_sum_init(&state->member.sum, reterr);
}

static int open_inventory(const struct xp_inventory_request *request, struct xp_target *target, struct xp_arena *arena, void **ret_state,
			  struct xp_err *reterr)
{
	int rc = request->threads ? xp_thread_filter_check(request, target, arena, reterr) : 0;

	if (rc)
		return rc;
	struct state *state = calloc(1, sizeof(*state));
	if (!state)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "CPU samples");
	state->target = target;
	state->request = *request;
	fill_request(&state->request);
	rc = xp_cpu_member_join(&state->member, request, xp_target_pid(target), reterr);
	if (!rc)
		rc = open_parts(state, arena, reterr);
	if (!rc && request->off_cpu)
		rc = off_cpu->open(request, target, arena, &state->blocks, reterr);
	if (rc) {
		free_state(state);
		return rc;
	}
	*ret_state = state;
	return 0;
}

static int prepare(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;
	int rc = xp_cpu_member_load(&state->member, &state->request, xp_target_pid(state->target), state->python, reterr);

	return !rc && state->blocks ? off_cpu->ops->prepare(state->blocks, reterr) : rc;
}

static int arm(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;
	int rc = xp_peer_arm(&state->member.peer, reterr);

	return !rc && state->blocks ? off_cpu->ops->arm(state->blocks, reterr) : rc;
}

static void read_cpu(const struct state *state, struct xp_opt_u64 *ret_cpu, uint64_t *ret_system)
{
	xp_auto_err gone = { 0 };
	struct xp_stat stat;

	ret_cpu->set = !xp_target_cpu_ns(state->target, &ret_cpu->v, &gone);
	if (!xp_target_stat(state->target, 0, &stat, &gone))
		*ret_system = stat.stime_ticks * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
}

static int open_window(void *opaque, uint64_t start_ns, struct xp_err *reterr)
{
	struct state *state = opaque;

	xp_cpu_times_begin(&state->times, state->target);
	int rc = xp_peer_open(&state->member.peer, start_ns, reterr);
	read_cpu(state, &state->cpu_base, &state->system_base);
	return !rc && state->blocks ? off_cpu->ops->open(state->blocks, start_ns, reterr) : rc;
}

static int drain(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;
	int rc = xp_peer_drain(&state->member.peer, reterr);

	return !rc && state->blocks ? off_cpu->ops->drain(state->blocks, reterr) : rc;
}

static void close_window(void *opaque, uint64_t end_ns)
{
	struct state *state = opaque;
	struct xp_opt_u64 cpu = { 0 };
	uint64_t system_ns = state->system_base;

	if (state->blocks)
		off_cpu->ops->close_window(state->blocks, end_ns);
	xp_peer_close(&state->member.peer);
	read_cpu(state, &cpu, &system_ns);
	state->system_ns = system_ns - state->system_base;
	if (cpu.set && state->cpu_base.set)
		state->cpu_ns = (struct xp_opt_u64)XP_SOME(cpu.v > state->cpu_base.v ? cpu.v - state->cpu_base.v : 0);
}

/* Blocked threads come first: their stacks are read while they still wait. */
static int disarm(void *opaque, struct xp_err *reterr)
{
	struct state *state = opaque;
	xp_auto_err failed = { 0 };
	int blocks_rc = state->blocks ? off_cpu->ops->disarm(state->blocks, &failed) : 0;
	int rc = xp_peer_disarm(&state->member.peer, reterr);

	return !rc && blocks_rc ? xp_err_move(reterr, &failed) : rc;
}

static uint64_t floor_ns(void *opaque)
{
	const struct state *state = opaque;
	uint64_t blocks_ns = state->blocks ? off_cpu->ops->floor_ns(state->blocks) : 0;

	uint64_t sample_ns = state->member.peer.group->floor_ns[0];

	return sample_ns > blocks_ns ? sample_ns : blocks_ns;
}

static void cost(void *opaque, uint64_t *ret_ns, uint64_t *ret_events)
{
	const struct state *state = opaque;
	struct xp_sampler_counts counts;
	uint64_t blocks_ns = 0, blocks = 0;

	xp_cpu_member_count(&state->member, &counts);
	if (state->blocks)
		off_cpu->ops->cost(state->blocks, &blocks_ns, &blocks);
	*ret_events = counts.emitted + blocks;
	*ret_ns = counts.emitted * state->member.peer.group->floor_ns[0] + blocks_ns;
}

/* A run of its own ends when it has what it asked for; a triage goes on for the other sources. */
static int want_end(void *opaque)
{
	const struct state *state = opaque;

	return !state->request.for_triage && state->member.sum.observed >= state->request.max_samples ? XP_END_CAPACITY : -1;
}

static int poll_fd(void *opaque)
{
	const struct state *state = opaque;

	return xp_cpu_member_fd(&state->member);
}

static uint32_t children(void *opaque)
{
	const struct state *state = opaque;
	struct xp_sampler_counts counts;

	xp_cpu_member_count(&state->member, &counts);
	return counts.children;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int join_blocks(struct state *state, const struct xp_window *window, struct xp_arena *arena, struct xp_cpu_samples *value,
		       struct xp_err *reterr)
{
	void *blocked;
	int rc = off_cpu->finish(state->blocks, window, arena, &blocked, reterr);

	if (!rc)
		xp_cpu_samples_join(value, blocked, arena);
	return rc;
}

static int finish(void *opaque, const struct xp_window *window, struct xp_arena *arena, void **ret_value, struct xp_err *reterr)
{
	struct state *state = opaque;
	struct xp_named_stacks named = { .arena = arena };
	struct xp_sampler *sampler = xp_cpu_member_sampler(&state->member);
	uint64_t naming_ns = SYMBOL_WORK_NS / (state->request.peers ? state->request.peers->targets.n : 1);
	struct xp_cpu_facts facts = {
		.request = &state->request,
		.window = window,
		.counts = state->member.counts,
		.no_kernel = sampler ? xp_sampler_no_kernel(sampler) : NULL,
		.no_python = sampler ? xp_sampler_no_python(sampler) : NULL,
		.no_bpf = sampler ? xp_sampler_no_bpf(sampler) : NULL,
		.cpu_ns = state->cpu_ns,
		.system_ns = state->system_ns,
		.python_status = (int)xp_python_status(state->python),
		.python_version = xp_python_version(state->python),
		.python_why = xp_python_why(state->python),
	};

	/* Its files go first: naming maps some of them again. */
	xp_unwinder_free(xp_steal(&state->unwinder));
	state->member.sum.stacks.unwinder = NULL;
	facts.times = xp_cpu_times_end(&state->times, state->target, arena, &facts.n_times);
	int rc = xp_named_stacks_build(&named, &state->member.sum.stacks, state->target, now_ns() + naming_ns,
				       (uint32_t)state->request.stack_depth, reterr);
	if (!rc) {
		struct xp_cpu_samples *value = xp_cpu_samples_build(&state->member.sum, &named, &facts, arena);

		xp_cpu_hints(state->target, arena, value);
		*ret_value = value;
	}
	xp_named_stacks_done(&named);
	return !rc && state->blocks ? join_blocks(state, window, arena, *ret_value, reterr) : rc;
}

static const struct xp_collector_ops ops = {
	.name = "cpu_samples",
	.prepare = prepare,
	.arm = arm,
	.open = open_window,
	.drain = drain,
	.close_window = close_window,
	.disarm = disarm,
	.want_end = want_end,
	.cost = cost,
	.floor_ns = floor_ns,
	.poll_fd = poll_fd,
	.children = children,
};

const struct xp_inventory_kind xp_inventory_cpu_samples = {
	.name = "cpu_samples",
	.summary = "where CPU time goes: stacks down to the Python line, hot functions, by thread name",
	.flag = "--cpu-sample",
	.ops = &ops,
	.record = &xp_cpu_samples_record,
	.open = open_inventory,
	.finish = finish,
	.free = free_state,
	.shrink = xp_cpu_samples_shrink,
	.report = xp_cpu_samples_report,
	.empty = xp_cpu_samples_empty,
};
