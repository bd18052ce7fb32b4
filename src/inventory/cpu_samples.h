/* SPDX-License-Identifier: Apache-2.0 */
/* The value of inventory `cpu_samples`: CpuSampleInventoryResult (contract 10.8). */
#ifndef XP_INVENTORY_CPU_SAMPLES_H
#define XP_INVENTORY_CPU_SAMPLES_H

#include "collect/document.h"
#include "inventory/cpu_threads.h"
#include "inventory/off_cpu.h"
#include "inventory/stack.h"

struct xp_text;

/* Samples of one stack in threads of one name pattern. Frames are shared between groups. */
struct xp_stack_group {
	const struct xp_frame *const *frames; /* leaf first */
	size_t n_frames;
	uint64_t samples, frames_total; /* frames_total: before the size budget cut the list */
	double proportion;		/* of observed_samples */
	const char *thread_name_pattern;
	struct xp_interval interval_95;
	bool collector; /* under Python's garbage collector */
};

/* A function in one thread. Samples under Python's garbage collector, and those that wait for a GPU, are findings of their own. */
struct xp_hot_thread {
	uint32_t tid;
	const char *name;
	uint64_t inclusive, exclusive;		/* without these */
	uint64_t in_copy, in_launch, in_kernel; /* of exclusive: under CUDA calls that copy, that launch; of inclusive: in the kernel */
};

#define XP_HOT_SHARE 0.05

/* One function; a Python function is one whatever its line, and shows the line that was sampled most. */
struct xp_hotspot {
	const struct xp_frame *frame;
	uint64_t inclusive_samples, exclusive_samples; /* inclusive: once a stack */
	double inclusive_proportion, exclusive_proportion;
	struct xp_interval inclusive_interval_95, exclusive_interval_95;
	const char *entry_selector_hint, *return_selector_hint;
	/* Not written, for rules: */
	struct xp_hot_thread by_exclusive, by_inclusive; /* the busiest thread by either count */
	const struct xp_hot_thread *hot;		 /* every thread that spent at least XP_HOT_SHARE of the window in it */
	size_t n_hot;
	uint64_t depth;			    /* sum over samples of its distance from the root */
	const struct xp_frame *python_line; /* Python frame below which most of its own samples lie; NULL: none */
	uint64_t python_line_samples;
};

struct xp_cpu_inventory {
	const char *name;
	uint64_t frequency_hz, duration_ms;
	struct xp_stack_group *stack_groups; /* by samples falling, then frames */
	size_t n_stack_groups;
	struct xp_hotspot *hotspots; /* by exclusive, then inclusive samples falling */
	size_t n_hotspots;
};

enum xp_cpu_completeness { XP_CPU_COMPLETE, XP_CPU_INCOMPLETE, XP_CPU_COMPLETENESS_COUNT };
struct xp_cpu_collection {
	int completeness;
	uint64_t observed_samples, grouped_samples, lost_samples, sample_capacity, group_capacity, groups;
	double table_utilization;
	uint32_t stack_depth;
	uint64_t truncated_stacks; /* samples */
	uint32_t threads_observed, threads_attached, thread_capacity;
	double expected_samples;
	struct xp_opt_f64 coverage;
	uint64_t target_cpu_ns;
	struct xp_opt_u64 kernel_samples;
	uint64_t unwind_failed, torn_python_stacks;
	uint32_t threads_started, threads_ended;
	uint64_t groups_listed, hotspots_listed, window_ns;
	const struct xp_account *sources;
	size_t n_sources;
};

enum xp_python_source { XP_PYTHON_FROM_FRAMES, XP_PYTHON_FROM_PERF_MAP, XP_PYTHON_FROM_NOTHING, XP_PYTHON_SOURCE_COUNT };
/* Counts over the frames of all different stacks. */
struct xp_symbolization {
	uint64_t total_frames, resolved_native_frames, resolved_python_frames, resolved_kernel_frames, resolved_jit_frames,
		unresolved_frames;
	int python_status; /* enum xp_python_status */
	const char *python_version;
	int python_source; /* -1: no Python */
	bool deadline_reached;
};

struct xp_cpu_pattern {
	const char *name_pattern;
	uint32_t threads;
	uint64_t samples, cpu_ns;
};

struct xp_cpu_samples {
	struct xp_document head;
	struct xp_cpu_inventory inventory;
	struct xp_cpu_collection collection;
	struct xp_symbolization symbolization;
	const struct xp_cpu_pattern *threads; /* by samples falling, then "*" */
	size_t n_threads;
	struct xp_off_cpu_value *off_cpu; /* NULL: not asked for */
	struct xp_quality quality;
	const struct xp_cpu_thread *by_thread; /* not written, for rules: by samples falling */
	size_t n_by_thread;
	bool sample_capacity_reached, group_capacity_reached;
	struct xp_arena *arena;		/* for names that the size budget cuts */
	struct xp_frame *const *frames; /* every frame that the lists share */
	size_t n_frames;
};
extern const struct xp_record xp_cpu_samples_record; /* "CpuSampleInventoryResult" */

/* One step towards the size budget. False: nothing is left to cut. `value` is a struct xp_cpu_samples. */
bool xp_cpu_samples_shrink(void *value);
/* True when there is nothing to keep: no sample. */
bool xp_cpu_samples_empty(const void *value);
/* The value for people; lives in output/report_cpu_samples.c, beside the other reports. */
void xp_cpu_samples_report(const void *value, struct xp_text *out, bool color);

#endif
