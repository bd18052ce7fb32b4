/* SPDX-License-Identifier: Apache-2.0 */
/* The scene of triage_scene.h with recorded stacks, which are set in words. */
#ifndef XP_TEST_TRIAGE_SCENE_STACKS_H
#define XP_TEST_TRIAGE_SCENE_STACKS_H

#include "triage_scene.h"

#include <stdlib.h>

#include "triage/own_code.h"

/* "leaf@k < memset@/usr/lib/libc.so.6 < encode@/srv/app < load@/srv/job.py:12": of the kernel, native, Python. Leaf first. */
static inline const struct xp_frame *const *stack_of(struct xp_arena *arena, const char *text, size_t *ret_n)
{
	const struct xp_frame **frames = xp_arena_array(arena, const struct xp_frame *, 8);
	char *rest = xp_arena_str(arena, text);
	size_t n = 0;

	while (rest) {
		struct xp_frame *frame = xp_arena_new_of(arena, struct xp_frame);
		char *word = rest, *end = strstr(rest, " < "), *path;

		rest = end ? end + 3 : NULL;
		if (end)
			*end = 0;
		path = strchr(word, '@');
		*path++ = 0;
		frame->symbol = *word ? word : NULL;
		frame->kind = !strcmp(path, "k") ? XP_FRAME_KERNEL : strstr(path, ".py:") ? XP_FRAME_PYTHON : XP_FRAME_NATIVE;
		if (frame->kind == XP_FRAME_PYTHON) {
			frame->line = (struct xp_opt_u32)XP_SOME((uint32_t)atoi(strrchr(path, ':') + 1));
			*strrchr(path, ':') = 0;
			frame->source_path = path;
		} else if (frame->kind == XP_FRAME_NATIVE) {
			frame->module_path = path;
		}
		frames[n++] = frame;
	}
	*ret_n = n;
	return frames;
}

/* One thread, its samples and its blocks: 100 samples a second, so that one is 10 ms. */
struct recorded {
	struct xp_cpu_samples cpu;
	struct xp_stack_group groups[4];
	struct xp_cpu_thread thread;
	struct xp_cpu_call call;
	struct xp_hotspot spot;
	struct xp_hot_thread hot;
	struct xp_off_cpu_value off_cpu;
	struct xp_off_cpu_group blocks[4];
	struct xp_off_cpu_use uses[4];
};

static inline struct recorded *record(struct scene *s)
{
	struct recorded *r = xp_arena_new_of(s->arena, struct recorded);

	r->cpu.inventory.frequency_hz = 100;
	r->cpu.inventory.stack_groups = r->groups;
	r->cpu.inventory.hotspots = &r->spot;
	r->cpu.by_thread = &r->thread;
	r->cpu.n_by_thread = 1;
	r->thread = (struct xp_cpu_thread){ .tid = MAIN, .name = "main", .name_pattern = "main", .calls = &r->call };
	r->off_cpu.groups = r->blocks;
	r->off_cpu.uses = r->uses;
	s->input.cpu = &r->cpu;
	s->input.off_cpu = &r->off_cpu;
	s->input.can_sample = true;
	s->input.sources[XP_SOURCE_CPU_SAMPLES] = xp_source_available(XP_SOURCE_CPU_SAMPLES);
	s->input.sources[XP_SOURCE_OFF_CPU] = xp_source_available(XP_SOURCE_OFF_CPU);
	return r;
}

/* Samples of the thread that the finding is about. */
static inline void runs(struct scene *s, struct recorded *r, const char *stack, uint64_t samples)
{
	struct xp_stack_group *group = &r->groups[r->cpu.inventory.n_stack_groups++];

	*group = (struct xp_stack_group){ .thread_name_pattern = "main", .samples = samples };
	group->frames = stack_of(s->arena, stack, &group->n_frames);
	r->thread.samples += samples;
	r->thread.kernel_samples += group->frames[0]->kind == XP_FRAME_KERNEL ? samples : 0;
}

static inline void blocks(struct scene *s, struct recorded *r, uint32_t tid, const char *call, const char *stack, uint64_t ms)
{
	struct xp_off_cpu_group *group = &r->blocks[r->off_cpu.n_groups++];
	const char *name = tid == MAIN ? "main" : "worker";

	*group = (struct xp_off_cpu_group){ .thread_name_pattern = name,
					    .reason = call ? XP_REASON_SYSCALL : XP_REASON_PAGE_FAULT,
					    .syscall_name = call,
					    .total_ns = ms * MS };
	group->frames = stack_of(s->arena, stack, &group->n_frames);
	r->uses[r->off_cpu.n_uses++] = (struct xp_off_cpu_use){
		.tid = tid, .thread_name = name, .syscall_name = call, .reason = group->reason, .total_ns = ms * MS, .longest = group
	};
	if (!call)
		return;
	s->sums[s->view.n_sums++] = (struct xp_call_sum){ .name = call, .calls = 7, .total_ns = ms * MS };
	s->uses[s->view.n_uses++] = (struct xp_call_use){ .tid = tid, .thread_name = name, .name = call, .calls = 7, .total_ns = ms * MS };
}

static inline void says(struct scene *s, const char *code, const char *words)
{
	codes(s);
	for (size_t i = 0; i < s->found.n; i++) {
		if (strcmp(s->found.at[i]->code, code) != 0)
			continue;
		if (!strstr(s->found.at[i]->message, words))
			fail_msg("\"%s\" lacks \"%s\"", s->found.at[i]->message, words);
		return;
	}
	fail_msg("no %s", code);
}

static inline void says_not(struct scene *s, const char *words)
{
	codes(s);
	assert_true(s->found.n > 0);
	for (size_t i = 0; i < s->found.n; i++)
		assert_null(strstr(s->found.at[i]->message, words));
}

#endif
