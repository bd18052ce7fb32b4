/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU samples as folded stacks: one line a stack, root first, and its samples; blocked stacks the same with us. In: struct xp_cpu_samples.
 * Out: text. No state.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "inventory/cpu_samples.h"
#include "inventory/stack_text.h"
#include "output/output.h"

struct line {
	const char *stack;
	uint64_t n; /* samples, or us */
};

/* Frames joined by ';', which no name may hold. */
static const char *fold(const struct xp_frame *const *frames, size_t n, struct xp_arena *arena)
{
	xp_auto_builder text = { 0 };

	for (size_t i = n; i > 0; i--) {
		size_t begin = text.len;

		xp_frame_text(frames[i - 1], &text);
		for (size_t at = begin; at < text.len; at++)
			if (text.data[at] == ';' || text.data[at] == '\n' || text.data[at] == '\r')
				text.data[at] = '_';
		if (i > 1)
			xp_text_char(&text, ';');
	}
	return xp_utf8_clean(arena, text.data ? text.data : "", text.len);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->stack, ((const struct line *)b)->stack);
}

static int put(const struct xp_sink *sink, const struct line *line, struct xp_err *reterr)
{
	xp_auto_builder text = { 0 };

	xp_text_fmt(&text, "%s %" PRIu64 "\n", line->stack, line->n);
	return sink->write(sink->arg, text.data, text.len, reterr);
}

/* Groups of different threads may have one stack, and different addresses one name: each text is one line. */
static int put_lines(struct line *lines, size_t n, const struct xp_sink *sink, struct xp_err *reterr)
{
	int rc = 0;

	qsort(lines, n, sizeof(*lines), by_text);
	for (size_t i = 0; i < n && !rc; i++) {
		if (i + 1 < n && !strcmp(lines[i].stack, lines[i + 1].stack))
			lines[i + 1].n += lines[i].n;
		else if (lines[i].n)
			rc = put(sink, &lines[i], reterr);
	}
	return rc;
}

static int write_folded(const struct xp_output_input *input, const struct xp_sink *sink, struct xp_err *reterr)
{
	const struct xp_cpu_inventory *inventory = &((const struct xp_cpu_samples *)input->value)->inventory;
	xp_auto(xp_arena_free) struct xp_arena *work = xp_arena_new();
	struct line *lines = xp_arena_array(work, struct line, inventory->n_stack_groups + 1);

	for (size_t i = 0; i < inventory->n_stack_groups; i++) {
		const struct xp_stack_group *group = &inventory->stack_groups[i];

		lines[i] = (struct line){ fold(group->frames, group->n_frames, work), group->samples };
	}
	return put_lines(lines, inventory->n_stack_groups, sink, reterr);
}

/* Blocks without a stack are one frame: the call, or the reason. */
static int write_blocked(const struct xp_output_input *input, const struct xp_sink *sink, struct xp_err *reterr)
{
	const struct xp_off_cpu_value *blocked = ((const struct xp_cpu_samples *)input->value)->off_cpu;
	xp_auto(xp_arena_free) struct xp_arena *work = xp_arena_new();
	size_t n = blocked ? blocked->n_groups : 0;
	struct line *lines = xp_arena_array(work, struct line, n + 1);

	for (size_t i = 0; i < n; i++) {
		const struct xp_off_cpu_group *group = &blocked->groups[i];
		const char *what = group->syscall_name ? group->syscall_name : xp_block_reason_names[group->reason];

		lines[i] = (struct line){ group->n_frames ? fold(group->frames, group->n_frames, work) : xp_arena_fmt(work, "[%s]", what),
					  group->total_ns / 1000 };
	}
	return put_lines(lines, n, sink, reterr);
}

const struct xp_output xp_output_folded = {
	.name = "folded",
	.summary = "one line per stack, root first, for flame graph tools",
	.takes = XP_TAKES_CPU_SAMPLES,
	.write = write_folded,
	.blocked_suffix = ".offcpu",
	.write_blocked = write_blocked,
};
