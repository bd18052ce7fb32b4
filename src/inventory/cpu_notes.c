/* SPDX-License-Identifier: Apache-2.0 */
/* What the reader of CPU samples must know. In: the value, facts of the window. Out: issues (contract 13) and warnings (1.6). No state. */
#include <stdarg.h>

#include "collect/issues.h"
#include "inventory/cpu_build.h"
#include "inventory/inventory.h"

#define LOW_COVERAGE 0.9
#define LOW_COVERAGE_CPU_NS 100000000 /* below it a few samples decide */
#define KERNEL_SHARE 0.1
#define DOUBTFUL_STACKS 0.05
#define THROTTLED_SHARE 0.05
#define OWED_AT_ENDS 2 /* ticks of a window's first and last moments */

static json_t *count_of(const char *key, uint64_t n)
{
	return json_pack("{s:o}", key, xp_json_count(n));
}

/* Clocks of CPUs that idle may rest, so ticks that did not come are the target's loss only where its own time lacks samples too. */
static bool throttled(const struct xp_cpu_facts *facts, const struct xp_cpu_collection *c)
{
	return c->coverage.set && c->coverage.v < 1 - THROTTLED_SHARE && facts->counts.missed > OWED_AT_ENDS &&
	       (double)facts->counts.missed > THROTTLED_SHARE * (double)(facts->counts.missed + facts->counts.emitted);
}

static uint32_t skipped(const struct xp_cpu_facts *facts)
{
	const struct xp_sampler_counts *counts = &facts->counts;

	return counts->threads_observed > counts->threads_attached ? counts->threads_observed - counts->threads_attached : 0;
}

static void loss_issues(const struct xp_cpu_facts *facts, const struct xp_cpu_samples *value, struct xp_issues *issues)
{
	const struct xp_cpu_collection *c = &value->collection;

	if (facts->request->threads)
		xp_issue_add(issues, "threads_filtered", XP_INFO,
			     json_pack("{s:o}", "threads", xp_json_text(facts->request->threads_pattern)),
			     "only threads whose name matches %s are sampled", facts->request->threads_pattern);
	if (facts->no_bpf)
		xp_issue_add(issues, "perf_ring_sampler", XP_INFO, NULL, "samples come from perf rings, for %s", facts->no_bpf);
	if (c->lost_samples)
		xp_issue_add(issues, "lost_samples", XP_CAUTION, count_of("lost_samples", c->lost_samples),
			     "%llu samples were taken and could not be kept", (unsigned long long)c->lost_samples);
	if (value->sample_capacity_reached)
		xp_issue_add(issues, "sample_capacity", XP_CAUTION, count_of("sample_capacity", c->sample_capacity),
			     "the capacity of %llu samples was reached", (unsigned long long)c->sample_capacity);
	if (value->group_capacity_reached)
		xp_issue_add(issues, "group_capacity", XP_CAUTION, count_of("group_capacity", c->group_capacity),
			     "there were more different stacks than the %llu that are kept; hotspots count all samples",
			     (unsigned long long)c->group_capacity);
	if (throttled(facts, c))
		xp_issue_add(issues, "sampling_throttled", XP_CAUTION, count_of("missed", facts->counts.missed),
			     "%llu samples were due and never taken", (unsigned long long)facts->counts.missed);
	if (c->coverage.set && c->coverage.v < LOW_COVERAGE && c->target_cpu_ns >= LOW_COVERAGE_CPU_NS)
		xp_issue_add(issues, "low_coverage", XP_CAUTION, json_pack("{s:f}", "coverage", c->coverage.v),
			     "samples stand for only %.2f of the CPU time", c->coverage.v);
}

static void doubtful(struct xp_issues *issues, const char *code, uint64_t n, uint64_t observed, const char *what)
{
	bool many = (double)n > DOUBTFUL_STACKS * (double)observed;

	if (n)
		xp_issue_add(issues, code, many ? XP_CAUTION : XP_INFO, count_of("samples", n), "%llu of %llu stacks %s",
			     (unsigned long long)n, (unsigned long long)observed, what);
}

/* A program that took the place of Python's has no Python frames, and target_exec says so. */
static bool python_unresolved(const struct xp_cpu_facts *facts, const struct xp_cpu_samples *value)
{
	return !facts->window->exec_seen && value->symbolization.python_status == XP_PYTHON_ACTIVE && value->collection.observed_samples &&
	       !value->symbolization.resolved_python_frames;
}

static void stack_issues(const struct xp_cpu_facts *facts, const struct xp_cpu_samples *value, struct xp_issues *issues)
{
	const struct xp_cpu_collection *c = &value->collection;

	if (facts->no_kernel && (double)facts->system_ns > KERNEL_SHARE * (double)c->target_cpu_ns)
		xp_issue_add(issues, "kernel_time_missing", XP_CAUTION, count_of("system_ns", facts->system_ns),
			     "time in the kernel is not among the samples: %s", facts->no_kernel);
	doubtful(issues, "truncated_stacks", c->truncated_stacks, c->observed_samples, "go on beyond what was kept of them");
	doubtful(issues, "unwind_failures", c->unwind_failed, c->observed_samples, "could not be followed to their end");
	if (python_unresolved(facts, value))
		xp_issue_add(issues, "python_unresolved", XP_CAUTION, NULL,
			     "the process runs Python %s, but no sample has a Python frame%s%s", value->symbolization.python_version,
			     facts->no_python ? ": " : "", facts->no_python ? facts->no_python : "");
}

static void python_warnings(const struct xp_cpu_facts *facts, const struct xp_cpu_samples *value, struct xp_warnings *warnings)
{
	if (python_unresolved(facts, value))
		xp_warn(warnings, "PYTHON_FRAMES_UNRESOLVED", NULL, "%s",
			facts->no_python ? facts->no_python : "Python is there and can be read, yet no sample has a Python frame");
	if (value->symbolization.python_status != XP_PYTHON_UNSUPPORTED || value->symbolization.python_source == XP_PYTHON_FROM_PERF_MAP)
		return;
	xp_warn(warnings, "PYTHON_PERF_TRAMPOLINE_INACTIVE", NULL, "no Python frames: %s; `python -X perf` (3.12 or newer) would give some",
		facts->python_why ? facts->python_why : "the layout of this build is not known");
}

static void loss_warnings(const struct xp_cpu_facts *facts, const struct xp_cpu_samples *value, struct xp_warnings *warnings)
{
	const struct xp_cpu_collection *c = &value->collection;

	if (value->sample_capacity_reached)
		xp_warn(warnings, "CPU_SAMPLE_CAPACITY_REACHED", count_of("sample_capacity", c->sample_capacity),
			"raise --max-samples to see more");
	if (value->group_capacity_reached)
		xp_warn(warnings, "CPU_GROUP_CAPACITY_REACHED", count_of("group_capacity", c->group_capacity),
			"raise --max-groups to see every stack");
	if (c->lost_samples)
		xp_warn(warnings, "CPU_SAMPLES_LOST", count_of("lost_samples", c->lost_samples), "samples were lost on their way");
	if (throttled(facts, c))
		xp_warn(warnings, "CPU_SAMPLING_THROTTLED", count_of("missed", facts->counts.missed),
			"the kernel took fewer samples than were due");
	if (skipped(facts))
		xp_warn(warnings, "CPU_THREADS_NOT_ATTACHED", count_of("threads", skipped(facts)), "%u threads are not sampled",
			skipped(facts));
}

void xp_cpu_notes(const struct xp_cpu_facts *facts, const char *const *missing, size_t n_missing, struct xp_arena *arena,
		  struct xp_cpu_samples *out)
{
	struct xp_cpu_collection *c = &out->collection;
	struct xp_issues issues = { .arena = arena };
	struct xp_warnings warnings = { .arena = arena };

	xp_window_issues_end(facts->window, &issues);
	xp_window_issues_cost(facts->window, &issues);
	xp_window_issues_target(facts->window, &issues);
	loss_issues(facts, out, &issues);
	stack_issues(facts, out, &issues);
	out->quality = xp_quality_of(&issues);

	python_warnings(facts, out, &warnings);
	for (size_t i = 0; i < n_missing && i < 8; i++)
		xp_warn(&warnings, "NATIVE_MODULE_UNAVAILABLE", json_pack("{s:o}", "path", xp_json_text(missing[i])),
			"a sampled file could not be read or was replaced; its functions have no names");
	loss_warnings(facts, out, &warnings);
	out->head.warnings = warnings.at;
	out->head.n_warnings = warnings.n;
	out->head.status = (int)xp_window_status(facts->window);
	bool incomplete = out->sample_capacity_reached || out->group_capacity_reached || c->lost_samples || throttled(facts, c) ||
			  skipped(facts) || (c->coverage.set && c->coverage.v < LOW_COVERAGE && c->target_cpu_ns >= LOW_COVERAGE_CPU_NS);
	c->completeness = incomplete ? XP_CPU_INCOMPLETE : XP_CPU_COMPLETE;
}
