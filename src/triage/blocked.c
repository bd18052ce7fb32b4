/* SPDX-License-Identifier: Apache-2.0 */
/* Blocked stacks for rules. In: struct xp_off_cpu_value. Out: sums and JSON values. No state. */
#include "triage/blocked.h"

#include <string.h>

#include "base/arena.h"
#include "inventory/stack_text.h"
#include "triage/finding.h"
#include "triage/own_code.h"

struct xp_blocked xp_blocked_in(const struct xp_off_cpu_value *off_cpu, uint32_t tid, const char *syscall_name)
{
	struct xp_blocked blocked = { 0 };

	for (size_t i = 0; off_cpu && i < off_cpu->n_uses; i++) { /* by time falling: the first stack is the longest */
		const struct xp_off_cpu_use *use = &off_cpu->uses[i];

		if (use->tid != tid || !use->syscall_name || strcmp(use->syscall_name, syscall_name) != 0)
			continue;
		blocked.total_ns += use->total_ns;
		blocked.lock_ns += use->lock_ns;
		blocked.gpu_ns += use->gpu_ns;
		blocked.copy_ns += use->copy_ns;
		if (!blocked.longest)
			blocked.longest = use->longest;
	}
	return blocked;
}

const char *const *xp_blocked_stack(const struct xp_off_cpu_group *group, struct xp_arena *arena, size_t *ret_n)
{
	const char **texts = xp_arena_array(arena, const char *, XP_EVIDENCE_FRAMES);
	size_t n = 0;

	for (; group && n < group->n_frames && n < XP_EVIDENCE_FRAMES; n++) {
		xp_auto_builder text = { 0 };

		xp_frame_text(group->frames[n], &text);
		texts[n] = xp_arena_dup(arena, text.data ? text.data : "", text.len);
	}
	*ret_n = n;
	return texts;
}

json_t *xp_blocked_stack_json(const struct xp_off_cpu_group *group, struct xp_arena *arena)
{
	json_t *list = json_array();
	size_t n;
	const char *const *texts = xp_blocked_stack(group, arena, &n);

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, xp_json_text(texts[i]));
	return list;
}

/* The library waits on behalf of a line of somebody else's. */
static const struct xp_frame *python_frame(const struct xp_off_cpu_group *group)
{
	const struct xp_frame *innermost = NULL;

	for (size_t i = 0; group && i < group->n_frames; i++) {
		const struct xp_frame *frame = group->frames[i];

		if (frame->kind != XP_FRAME_PYTHON)
			continue;
		if (!xp_is_standard_library(frame))
			return frame;
		innermost = innermost ? innermost : frame;
	}
	return innermost;
}

json_t *xp_blocked_python_line(const struct xp_off_cpu_group *group, uint64_t of_ns)
{
	const struct xp_frame *frame = python_frame(group);
	json_t *line = frame ? json_object() : json_null();

	if (!frame)
		return line;
	json_object_set_new(line, "function", frame->symbol ? xp_json_text(frame->symbol) : json_null());
	json_object_set_new(line, "source_path", frame->source_path ? xp_json_text(frame->source_path) : json_null());
	json_object_set_new(line, "line", frame->line.set ? xp_json_count(frame->line.v) : json_null());
	json_object_set_new(line, "share",
			    of_ns ? json_real(group->total_ns < of_ns ? (double)group->total_ns / (double)of_ns : 1) : json_null());
	return line;
}

bool xp_blocked_at_lock(const struct xp_off_cpu_group *group)
{
	for (size_t i = 0; group && i < group->n_frames && i < XP_EVIDENCE_FRAMES; i++) {
		const struct xp_frame *frame = group->frames[i];

		if (frame->kind == XP_FRAME_KERNEL)
			continue;
		if (frame->kind == XP_FRAME_PYTHON)
			return false;
		if (xp_is_lock_function(frame->symbol))
			return true;
		/* A Python lock that the program itself takes; the library's own serve its queues, events and joins. */
		if (frame->symbol && !strcmp(frame->symbol, "PyThread_acquire_lock_timed")) {
			while (++i < group->n_frames)
				if (group->frames[i]->kind == XP_FRAME_PYTHON)
					return !xp_is_standard_library(group->frames[i]);
			return false;
		}
	}
	return false;
}

json_t *xp_blocked_json(const struct xp_off_cpu_group *group, struct xp_arena *arena)
{
	json_t *entry = json_object();

	json_object_set_new(entry, "thread_name_pattern", xp_json_text(group->thread_name_pattern));
	json_object_set_new(entry, "reason", json_string(xp_block_reason_names[group->reason]));
	json_object_set_new(entry, "syscall_name", group->syscall_name ? json_string(group->syscall_name) : json_null());
	json_object_set_new(entry, "wait_channel", group->wait_channel ? xp_json_text(group->wait_channel) : json_null());
	json_object_set_new(entry, "count", xp_json_count(group->count));
	json_object_set_new(entry, "total_ns", xp_json_count(group->total_ns));
	json_object_set_new(entry, "open_at_end", xp_json_count(group->open_at_end));
	json_object_set_new(entry, "stack", xp_blocked_stack_json(group, arena));
	json_object_set_new(entry, "python_line", xp_blocked_python_line(group, group->total_ns));
	return entry;
}
