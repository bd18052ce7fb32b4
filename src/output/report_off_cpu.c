/* SPDX-License-Identifier: Apache-2.0 */
/* Blocked stacks at a glance. In: values and evidence. Out: text of at most 100 columns. No state. */
#include "output/report_off_cpu.h"

#include <inttypes.h>

#include "inventory/off_cpu.h"
#include "inventory/stack_text.h"
#include "output/human.h"
#include "result/triage_summary.h"

enum { LABEL = 11, MAX_GROUPS = 8, MAX_FRAMES = 12, MAX_TOP = 3, CALL = 24, PATTERN = 18 };

static void head(const char *call, const char *reason, const char *pattern, uint64_t total_ns, uint64_t count, unsigned indent,
		 struct xp_text *out)
{
	char total[XP_HUMAN_SIZE];

	xp_text_fmt(out, "%*s%9s  ", (int)indent, "", xp_human_ns(total, (double)total_ns));
	for (size_t wide = xp_human_text(out, call ? call : reason, CALL); wide < CALL; wide++)
		xp_text_char(out, ' ');
	xp_text_char(out, ' ');
	xp_human_text(out, pattern, PATTERN);
	xp_text_fmt(out, "  x%" PRIu64, count);
}

static void totals(uint64_t blocks, uint64_t blocked_ns, uint64_t lost, struct xp_text *out)
{
	char total[XP_HUMAN_SIZE];

	xp_text_fmt(out, "%-*s%" PRIu64 " blocks, %s of all threads", LABEL, "blocked", blocks, xp_human_ns(total, (double)blocked_ns));
	if (lost)
		xp_text_fmt(out, ", %" PRIu64 " long ones without a stack", lost);
	xp_text_char(out, '\n');
}

static void whole_stack(const struct xp_off_cpu_group *group, struct xp_text *out)
{
	for (size_t i = 0; i < group->n_frames && i < MAX_FRAMES; i++) {
		xp_auto_builder text = { 0 };

		xp_frame_text(group->frames[i], &text);
		xp_text_fmt(out, "%*s", LABEL + 11, "");
		xp_human_text(out, text.data ? text.data : "", XP_REPORT_COLUMNS - LABEL - 11);
		xp_text_char(out, '\n');
	}
	if (group->n_frames > MAX_FRAMES)
		xp_text_fmt(out, "%*s... %zu more\n", LABEL + 11, "", group->n_frames - MAX_FRAMES);
}

void xp_report_off_cpu(const void *opaque, struct xp_text *out, bool color)
{
	const struct xp_off_cpu_value *value = opaque;

	totals(value->blocks_total, value->blocked_ns, value->stacks_lost, out);
	for (size_t i = 0; i < value->n_groups && i < MAX_GROUPS; i++) {
		const struct xp_off_cpu_group *group = &value->groups[i];

		xp_human_tone(out, XP_TONE_STRONG, color);
		head(group->syscall_name, xp_block_reason_names[group->reason], group->thread_name_pattern, group->total_ns, group->count,
		     LABEL, out);
		xp_human_tone(out, XP_TONE_PLAIN, color);
		if (group->open_at_end)
			xp_text_fmt(out, ", %" PRIu64 " not over", group->open_at_end);
		xp_text_char(out, '\n');
		whole_stack(group, out);
	}
}

/* Leaf first: "read < take (job.py:4) < main". */
static void one_line(const char *const *frames, size_t n, unsigned indent, struct xp_text *out)
{
	xp_auto_builder line = { 0 };

	for (size_t i = 0; i < n; i++) {
		xp_text_str(&line, i ? " < " : "");
		xp_text_str(&line, frames[i] ? frames[i] : "?");
	}
	if (!n)
		return;
	xp_text_fmt(out, "%*s", (int)indent, "");
	xp_human_text(out, line.data, XP_REPORT_COLUMNS - indent);
	xp_text_char(out, '\n');
}

void xp_report_triage_off_cpu(const struct xp_triage_off_cpu *summary, struct xp_text *out)
{
	if (!summary)
		return;
	totals(summary->blocks, summary->blocked_ns, summary->stacks_lost, out);
	for (size_t i = 0; i < summary->n_top && i < MAX_TOP; i++) {
		const struct xp_triage_top_block *block = &summary->top[i];

		head(block->syscall_name, xp_block_reason_names[block->reason], block->thread_name_pattern, block->total_ns, block->count,
		     LABEL, out);
		xp_text_char(out, '\n');
		one_line(block->stack, block->n_stack, LABEL + 11, out);
	}
}

void xp_report_blocked_evidence(const json_t *evidence, unsigned indent, struct xp_text *out)
{
	const char *frames[MAX_FRAMES];
	const json_t *stack = json_object_get(evidence, "stack");
	size_t n = 0;

	for (; n < json_array_size(stack) && n < MAX_FRAMES; n++)
		frames[n] = json_string_value(json_array_get(stack, n));
	one_line(frames, n, indent, out);
}
