// SPDX-License-Identifier: Apache-2.0
/* Inventory values of one window -> TriageResult. No state; everything lives in the caller's arena. */
#include "result/triage.h"

#include <string.h>

#include "result/triage_gpu.h"
#include "triage/blocked.h"

enum { MAX_TOP = 8, MAX_BLOCKS = 5 };
#define HIGH_COST 0.02	    /* contract 13, high_cost */
#define LONG_STALL_MS 100.0 /* contract 13, long_stall */

static struct xp_triage_threads *summarize_threads(const struct xp_thread_time *from, struct xp_arena *arena)
{
	struct xp_triage_threads *to = xp_arena_new_of(arena, struct xp_triage_threads);
	struct xp_triage_top_thread *top = xp_arena_array(arena, struct xp_triage_top_thread, MAX_TOP);

	*to = (struct xp_triage_threads){
		.count = from->count,
		.active = from->active,
		.started = from->started,
		.ended = from->ended,
		.vanished_cpu_ns = from->vanished_cpu_ns,
		.on_cpu_ns = from->on_cpu_ns,
		.runqueue_ns = from->runqueue_ns,
		.blocked_ns = from->blocked_ns,
		.major_faults = from->major_faults,
		.voluntary_switches = from->voluntary_switches,
		.involuntary_switches = from->involuntary_switches,
		.top = top,
		.groups = xp_arena_array(arena, struct xp_thread_group, from->n_groups + 1),
		.n_groups = from->n_groups,
	};
	for (size_t i = 0; i < from->n_groups; i++)
		to->groups[i] = from->groups[i];
	for (; to->n_top < MAX_TOP && to->n_top < from->n_threads; to->n_top++) {
		const struct xp_thread_row *row = &from->threads[to->n_top];

		top[to->n_top] = (struct xp_triage_top_thread){
			.tid = row->tid,
			.name = row->name,
			.on_cpu_ns = row->on_cpu_ns,
			.runqueue_ns = row->runqueue_ns,
			.blocked_ns = row->blocked_ns,
			.state = row->state,
		};
	}
	return to;
}

static struct xp_triage_cgroup *summarize_cgroup(const struct xp_cgroup *from, struct xp_arena *arena)
{
	struct xp_triage_cgroup *to = xp_arena_new_of(arena, struct xp_triage_cgroup);
	const struct xp_cgroup_level *level = &from->levels[from->chosen];

	*to = (struct xp_triage_cgroup){
		.version = from->version,
		.path = level->path,
		.level = level->level,
		.quota_us = level->quota_us,
		.period_us = level->period_us,
		.throttled_ns = level->throttled_ns,
		.throttled_periods = level->throttled_periods,
		.periods = level->periods,
		.cpus = level->cpus,
	};
	return to;
}

static struct xp_triage_syscalls *summarize_syscalls(const struct xp_syscall_view *from, struct xp_arena *arena)
{
	struct xp_triage_syscalls *to = xp_arena_new_of(arena, struct xp_triage_syscalls);
	struct xp_triage_top_syscall *top = xp_arena_array(arena, struct xp_triage_top_syscall, MAX_TOP);

	*to = (struct xp_triage_syscalls){
		.calls = from->calls,
		.errors = from->errors,
		.interrupted = from->interrupted,
		.open_at_end = from->open_at_end,
		.top = top,
	};
	for (; to->n_top < MAX_TOP && to->n_top < from->n_sums; to->n_top++) {
		const struct xp_call_sum *sum = &from->sums[to->n_top];

		top[to->n_top] = (struct xp_triage_top_syscall){
			.syscall_name = sum->name,
			.count = sum->calls,
			.errors = sum->errors,
			.total_ns = sum->total_ns,
			.max_ns = sum->max_ns,
		};
	}
	return to;
}

static struct xp_triage_cpu_samples *summarize_cpu(const struct xp_cpu_samples *from, struct xp_arena *arena)
{
	struct xp_triage_cpu_samples *to = xp_arena_new_of(arena, struct xp_triage_cpu_samples);
	struct xp_triage_top_function *top = xp_arena_array(arena, struct xp_triage_top_function, MAX_TOP);

	*to = (struct xp_triage_cpu_samples){
		.observed = from->collection.observed_samples,
		.expected = from->collection.expected_samples,
		.coverage = from->collection.coverage,
		.python_status = from->symbolization.python_status,
		.top = top,
	};
	for (; to->n_top < MAX_TOP && to->n_top < from->inventory.n_hotspots; to->n_top++) {
		const struct xp_hotspot *spot = &from->inventory.hotspots[to->n_top];

		top[to->n_top] = (struct xp_triage_top_function){
			.symbol = spot->frame->symbol ? xp_utf8_cut(arena, spot->frame->symbol, 256, NULL) : NULL,
			.module = spot->frame->module_path,
			.kind = spot->frame->kind,
			.exclusive_proportion = spot->exclusive_proportion,
			.inclusive_proportion = spot->inclusive_proportion,
			.source_path = spot->frame->source_path,
			.line = spot->frame->line,
		};
	}
	return to;
}

static struct xp_triage_off_cpu *summarize_off_cpu(const struct xp_off_cpu_value *from, struct xp_arena *arena)
{
	struct xp_triage_off_cpu *to = xp_arena_new_of(arena, struct xp_triage_off_cpu);
	struct xp_triage_top_block *top = xp_arena_array(arena, struct xp_triage_top_block, MAX_BLOCKS);

	*to = (struct xp_triage_off_cpu){
		.blocks = from->blocks_total, .stacks_lost = from->stacks_lost, .blocked_ns = from->blocked_ns, .top = top
	};
	for (; to->n_top < MAX_BLOCKS && to->n_top < from->n_groups; to->n_top++) {
		const struct xp_off_cpu_group *group = &from->groups[to->n_top];
		struct xp_triage_top_block *block = &top[to->n_top];

		*block = (struct xp_triage_top_block){
			.reason = group->reason,
			.syscall_name = group->syscall_name,
			.thread_name_pattern = group->thread_name_pattern,
			.count = group->count,
			.total_ns = group->total_ns,
			.max_ns = group->max_ns,
		};
		block->stack = xp_blocked_stack(group, arena, &block->n_stack);
	}
	return to;
}

static struct xp_triage_summary *summarize(const struct xp_triage_input *input, struct xp_arena *arena)
{
	struct xp_triage_summary *summary = xp_arena_new_of(arena, struct xp_triage_summary);

	if (input->threads && xp_input_has(input, XP_SOURCE_THREADS))
		summary->threads = summarize_threads(input->threads, arena);
	if (input->cgroup && input->cgroup->n_levels && xp_input_has(input, XP_SOURCE_CGROUP))
		summary->cgroup = summarize_cgroup(input->cgroup, arena);
	if (input->cpu && xp_input_has(input, XP_SOURCE_CPU_SAMPLES))
		summary->cpu_samples = summarize_cpu(input->cpu, arena);
	if (input->off_cpu && xp_input_has(input, XP_SOURCE_OFF_CPU))
		summary->off_cpu = summarize_off_cpu(input->off_cpu, arena);
	if (input->gpu && xp_input_has(input, XP_SOURCE_GPU)) {
		summary->gpu = xp_arena_new_of(arena, struct xp_gpu_health);
		*summary->gpu = *input->gpu;
	}
	if (input->syscalls && xp_input_has(input, XP_SOURCE_SYSCALLS))
		summary->syscalls = summarize_syscalls(input->syscalls, arena);
	summary->cuda_kernels = xp_triage_sum_kernels(input, arena);
	summary->cuda_copies = xp_triage_sum_copies(input, arena);
	return summary;
}

struct gaps {
	struct xp_not_covered *at;
	size_t n;
};

static void add_gap(struct gaps *gaps, const char *code, const char *message)
{
	gaps->at[gaps->n++] = (struct xp_not_covered){ .code = code, .message = message };
}

/* In a fixed order: what no triage answers, what this one lacks, then each source that was not there. */
static struct gaps find_gaps(const struct xp_triage_input *input, struct xp_arena *arena)
{
	struct gaps gaps = { .at = xp_arena_array(arena, struct xp_not_covered, 9 + XP_SOURCE_COUNT) };
	bool stacks = xp_input_has(input, XP_SOURCE_OFF_CPU);
	const struct xp_triage_source *copies = &input->sources[XP_SOURCE_CUDA_COPIES];

	add_gap(&gaps, "causality", "shares overlap; a finding says where time went, not what caused it");
	add_gap(&gaps, "memory_stalls", "waits for memory and for cache lines of other CPUs look like work of the function that has them");
	if (!stacks)
		add_gap(&gaps, "kernel_blocking", "no blocked stacks: which code waits, and waits outside of syscalls, are not told");
	if (input->python && !stacks)
		add_gap(&gaps, "python_lock", "waits for the Python interpreter lock look like any other futex without blocked stacks");
	if (!input->several && (input->forked || (input->threads && input->threads->children_total)))
		add_gap(&gaps, "children", "descendant processes are not part of this result, but for their CPU time");
	if (copies->status == XP_SOURCE_UNAVAILABLE && copies->reason != XP_REASON_NOT_CUDA)
		add_gap(&gaps, "memory_copies", "copies between host and GPU were not seen");
	if (input->cuda_kernels && input->cuda_kernels->collection.cuda->graph_launches_seen)
		add_gap(&gaps, "graph_internals",
			"launches of CUDA graphs stand for all their kernels; how the nodes depend on each other is not seen");
	for (int id = 0; id < XP_SOURCE_COUNT; id++) {
		const struct xp_triage_source *source = &input->sources[id];

		if (source->status == XP_SOURCE_UNAVAILABLE)
			add_gap(&gaps, xp_arena_fmt(arena, "source_%s", source->name),
				xp_arena_fmt(arena, "source %s is unavailable: %s", source->name,
					     source->detail ? source->detail : xp_source_reason_names[source->reason]));
	}
	return gaps;
}

static void add_cost_issues(const struct xp_cost *cost, struct xp_issues *issues)
{
	if (cost->limit_reached)
		xp_issue_add(issues, "cost_limit_reached", XP_CAUTION, NULL,
			     "the window ended early: it cost more than %.3f of the target's CPU time", cost->limit);
	else if (cost->cpu_share.set && cost->cpu_share.v > HIGH_COST)
		xp_issue_add(issues, "high_cost", XP_CAUTION, NULL, "the triage took %.3f of the target's CPU time", cost->cpu_share.v);
	if (cost->stall_ms.set && cost->stall_ms.v > LONG_STALL_MS)
		xp_issue_add(issues, "long_stall", XP_CAUTION, json_pack("{s:f}", "stall_ms", cost->stall_ms.v),
			     "the program stood still for up to %.0f ms while the agent came", cost->stall_ms.v);
}

/* In the order of contract 13. */
static struct xp_quality judge(const struct xp_triage_parts *parts, struct xp_arena *arena)
{
	const struct xp_triage_input *input = &parts->input;
	struct xp_issues issues = { .arena = arena };
	json_t *missing = json_array();

	if (parts->status == XP_TIMED_OUT)
		xp_issue_add(&issues, "timed_out", XP_CAUTION, NULL, "the timeout ended the window before its length was reached");
	if (parts->window.end == XP_END_SIGNAL)
		xp_issue_add(&issues, "cancelled", XP_CAUTION, NULL, "a signal ended the window");
	add_cost_issues(&parts->window.cost, &issues);
	if (parts->window.exec_seen)
		xp_issue_add(&issues, "target_exec", XP_CAUTION, NULL, "the target replaced itself by another program in the window");
	if (input->forked && !input->several)
		xp_issue_add(&issues, "target_forked", XP_INFO, json_pack("{s:I}", "children", (json_int_t)input->forked),
			     "the target made child processes that are not covered");
	if (input->threads && input->threads->threads_pattern)
		xp_issue_add(&issues, "threads_filtered", XP_INFO, NULL, "--threads left threads out");
	for (int id = 0; id < XP_SOURCE_COUNT; id++)
		if (input->sources[id].status == XP_SOURCE_UNAVAILABLE)
			json_array_append_new(missing, json_string(input->sources[id].name));
	if (json_array_size(missing))
		xp_issue_add(&issues, "sources_missing", XP_INFO, json_pack("{s:O}", "sources", missing),
			     "%zu of %d sources are unavailable", json_array_size(missing), XP_SOURCE_COUNT);
	json_decref(missing);
	return xp_quality_of(&issues);
}

/* Of several processes xp_triage_join tells it, which knows who else was looked at. */
static void warn(const struct xp_triage_parts *parts)
{
	if (parts->input.several)
		return;
	if (parts->window.exec_seen && !xp_warnings_have(parts->warnings, "TARGET_EXEC"))
		xp_warn(parts->warnings, "TARGET_EXEC", NULL, "the target replaced itself by another program in the window");
	if (parts->input.forked && !xp_warnings_have(parts->warnings, "TARGET_FORKED"))
		xp_warn(parts->warnings, "TARGET_FORKED", json_pack("{s:I}", "children", (json_int_t)parts->input.forked),
			"the target made child processes that are not covered");
}

struct xp_triage *xp_triage_assemble(const struct xp_triage_parts *parts, struct xp_arena *arena)
{
	struct xp_triage *triage = xp_arena_new_of(arena, struct xp_triage);
	struct xp_triage_input *input = xp_arena_new_of(arena, struct xp_triage_input);
	struct xp_findings findings = { .arena = arena };
	struct xp_cost *cost = xp_arena_new_of(arena, struct xp_cost);

	*input = parts->input;
	*cost = parts->window.cost;
	xp_rules_run(input, &findings);
	struct gaps gaps = find_gaps(input, arena);
	warn(parts);
	*triage = (struct xp_triage){
		.session_id = parts->session_id,
		.status = parts->status,
		.target = &input->target,
		.name = parts->name,
		.window = { .start_ns = parts->window.start_ns, .duration_ns = input->window_ns, .requested_ms = parts->requested_ms },
		.sources = input->sources,
		.n_sources = XP_SOURCE_COUNT,
		.summary = summarize(input, arena),
		.findings = (const struct xp_finding *const *)findings.at,
		.n_findings = findings.n < XP_MAX_FINDINGS ? findings.n : XP_MAX_FINDINGS,
		.findings_total = (uint32_t)findings.n,
		.not_covered = gaps.at,
		.n_not_covered = gaps.n,
		.quality = judge(parts, arena),
		.evidence = { .mode = parts->evidence_mode },
		.cost = cost,
		.warnings = parts->warnings->at,
		.n_warnings = parts->warnings->n,
	};
	return triage;
}
