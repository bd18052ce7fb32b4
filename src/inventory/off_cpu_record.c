/* SPDX-License-Identifier: Apache-2.0 */
/* Field table of `off_cpu` (contract 10.8). No state. */
#include "inventory/off_cpu.h"

#include <string.h>

#include "base/text.h"

enum { NAME_BYTES = 256 };

const char *const xp_block_reason_names[XP_BLOCK_REASON_COUNT] = {
	[XP_REASON_SYSCALL] = "syscall", [XP_REASON_PAGE_FAULT] = "page_fault", [XP_REASON_LOCK] = "lock", [XP_REASON_SLEEP] = "sleep",
	[XP_REASON_IO] = "io",		 [XP_REASON_STOPPED] = "stopped",	[XP_REASON_EXIT] = "exit", [XP_REASON_OTHER] = "other",
};

static const struct xp_field group_fields[] = {
	XP_FIELD(xp_off_cpu_group, thread_name_pattern, STR, "thread name with each run of digits as one #"),
	XP_FIELD_ENUM(xp_off_cpu_group, reason, xp_block_reason_names, "what kind of wait; lock: futex"),
	XP_FIELD(xp_off_cpu_group, syscall_name, STR, "the call it was in; null: none, or its number has no name", .flags = XP_NULLABLE),
	XP_FIELD(xp_off_cpu_group, wait_channel, STR, "kernel function of a block that was open at the end; null: not known",
		 .flags = XP_NULLABLE),
	XP_FIELD_PTRS(xp_off_cpu_group, frames, &xp_frame_record, "user stack, leaf first; empty: short blocks, or the stack was lost"),
	XP_FIELD(xp_off_cpu_group, count, U64, "blocks; all blocks of one call are one"),
	XP_FIELD(xp_off_cpu_group, total_ns, U64, "their time in the window"),
	XP_FIELD(xp_off_cpu_group, max_ns, U64, "the longest"),
	XP_FIELD(xp_off_cpu_group, open_at_end, U64, "of count: not over when the window ended"),
};
static const struct xp_record group_record = XP_RECORD("OffCpuGroup", xp_off_cpu_group, group_fields, "blocks with one stack");

static const struct xp_field fields[] = {
	XP_FIELD(xp_off_cpu_value, min_block_us, U64, "shorter blocks are counted without a stack"),
	XP_FIELD(xp_off_cpu_value, blocks_total, U64, "blocks that lay in the window, or a part of them"),
	XP_FIELD(xp_off_cpu_value, blocks_listed, U64, "of these in the groups below"),
	XP_FIELD(xp_off_cpu_value, stacks_lost, U64, "long blocks without a stack; their time is in a group without frames"),
	XP_FIELD(xp_off_cpu_value, blocked_ns, U64, "blocked time, summed over threads"),
	XP_FIELD(xp_off_cpu_value, runqueue_ns, U64, "time ready and waiting for a CPU, summed over threads"),
	XP_FIELD_LIST(xp_off_cpu_value, groups, &group_record, "by total time falling"),
};
const struct xp_record xp_off_cpu_record = XP_RECORD("OffCpu", xp_off_cpu_value, fields, "where threads waited in one window");

/* Contract 1.1: names of default results. */
static void cut_names(struct xp_off_cpu_value *value)
{
	for (size_t i = 0; i < value->n_frames; i++)
		if (value->frames[i]->symbol && strlen(value->frames[i]->symbol) > NAME_BYTES)
			value->frames[i]->symbol = xp_utf8_cut(value->arena, value->frames[i]->symbol, NAME_BYTES, NULL);
	value->names_cut = true;
}

/* False: no stack is longer than n. */
static bool cut_stacks(struct xp_off_cpu_value *value, size_t n)
{
	bool cut = false;

	for (size_t i = 0; i < value->n_groups; i++) {
		cut |= value->groups[i].n_frames > n;
		if (value->groups[i].n_frames > n)
			value->groups[i].n_frames = n;
	}
	return cut;
}

static bool cut_groups(struct xp_off_cpu_value *value, size_t n)
{
	if (value->n_groups <= n)
		return false;
	while (value->n_groups > n)
		value->blocks_listed -= value->groups[--value->n_groups].count;
	return true;
}

bool xp_off_cpu_shrink(void *opaque)
{
	static const struct {
		size_t groups, frames;
	} rounds[] = { { 16, 24 }, { 12, 16 }, { 8, 12 }, { 5, 8 }, { 3, 6 }, { 1, 4 } };
	struct xp_off_cpu_value *value = opaque;

	if (!value->names_cut && value->n_frames) {
		cut_names(value);
		return true;
	}
	for (size_t i = 0; i < XP_LEN(rounds); i++)
		if (cut_groups(value, rounds[i].groups) || cut_stacks(value, rounds[i].frames))
			return true;
	return false;
}
