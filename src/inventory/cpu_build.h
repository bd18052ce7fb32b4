/* SPDX-License-Identifier: Apache-2.0 */
/* The pure steps from sums and named stacks to struct xp_cpu_samples. Everything that is returned lives in the arena. */
#ifndef XP_INVENTORY_CPU_BUILD_H
#define XP_INVENTORY_CPU_BUILD_H

#include "engine/bpf_sample.h"
#include "inventory/cpu_samples.h"
#include "inventory/cpu_sum.h"
#include "inventory/named_stacks.h"

struct xp_inventory_request;

/* CPU time of one thread in the window, as the scheduler counts it. */
struct xp_cpu_time {
	uint32_t tid;
	const char *name;
	uint64_t cpu_ns;
};

/* What is known beside the samples. */
struct xp_cpu_facts {
	const struct xp_inventory_request *request; /* with every default filled in */
	const struct xp_window *window;
	struct xp_sampler_counts counts;
	const char *no_kernel;		 /* why kernel time is not sampled; NULL: it is */
	const char *no_python;		 /* why no sample can have Python frames; NULL: they can */
	const char *no_bpf;		 /* which refused call made the samples come from perf rings; NULL: none */
	struct xp_opt_u64 cpu_ns;	 /* of the process in the window; unset: not readable */
	uint64_t system_ns;		 /* part of it in the kernel */
	const struct xp_cpu_time *times; /* threads alive at the end that ran in the window */
	size_t n_times;
	int python_status; /* enum xp_python_status */
	const char *python_version, *python_why;
};

/* Stack groups, the largest max_groups of them; *ret_total counts all. */
void xp_cpu_groups(const struct xp_cpu_sum *sum, const struct xp_named_stacks *named, uint64_t max_groups, struct xp_arena *arena,
		   struct xp_cpu_samples *out, uint64_t *ret_total);
/* Every function, with counts and intervals, without hints. */
void xp_cpu_hotspots(const struct xp_cpu_sum *sum, const struct xp_named_stacks *named, const struct xp_cpu_facts *facts,
		     struct xp_arena *arena, struct xp_cpu_samples *out);
/* Threads by name pattern, and by thread for rules. */
void xp_cpu_patterns(const struct xp_cpu_sum *sum, const struct xp_cpu_facts *facts, struct xp_arena *arena, struct xp_cpu_samples *out);
void xp_cpu_by_thread(const struct xp_cpu_sum *sum, const struct xp_named_stacks *named, struct xp_arena *arena,
		      struct xp_cpu_samples *out);
/* Selector hints of the first hotspots and of others that much time lies below, for functions that can be probed (contract 8.3). */
enum { XP_HINTED_HOTSPOTS = 48, XP_HINTED_FIRST = 32 };
void xp_cpu_hints(struct xp_target *target, struct xp_arena *arena, struct xp_cpu_samples *out);
/* Quality issues and warnings. `missing`: files that gave no names. */
void xp_cpu_notes(const struct xp_cpu_facts *facts, const char *const *missing, size_t n_missing, struct xp_arena *arena,
		  struct xp_cpu_samples *out);
/* All of it but the hints. */
struct xp_cpu_samples *xp_cpu_samples_build(const struct xp_cpu_sum *sum, const struct xp_named_stacks *named,
					    const struct xp_cpu_facts *facts, struct xp_arena *arena);

/* Adds the blocked stacks of the same window. */
void xp_cpu_samples_join(struct xp_cpu_samples *value, struct xp_off_cpu_value *off_cpu, struct xp_arena *arena);

#endif
