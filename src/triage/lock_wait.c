// SPDX-License-Identifier: Apache-2.0
/* Who waits for a lock tells little; what the code that takes it does, tells why the wait is long. In: stacks. Out: words. No state. */
#include "triage/lock_wait.h"

#include "base/arena.h"
#include "inventory/stack_text.h"
#include "triage/blocked.h"
#include "triage/own_code.h"

#define LEAST_SHARE 0.05

/* Adds `ns` to what `taker` called in that stack, itself at the leaf; nothing when the stack lacks it. */
static void add_stack(struct xp_own_tally *tally, const struct xp_frame *taker, const struct xp_frame *const *frames, size_t n, uint64_t ns)
{
	size_t at = 0;

	while (at < n && !xp_same_function(frames[at], taker))
		if (xp_is_lock_function(frames[at++]->symbol))
			return;
	if (at < n)
		xp_own_add(tally, at && frames[at - 1]->kind != XP_FRAME_KERNEL ? frames[at - 1] : frames[at], ns);
}

static struct xp_own_tally work_of(const struct xp_triage_input *input, const struct xp_frame *taker)
{
	struct xp_own_tally tally = { 0 };

	for (size_t i = 0; i < input->off_cpu->n_groups; i++) {
		const struct xp_off_cpu_group *group = &input->off_cpu->groups[i];

		if (!group->interpreter_lock && !xp_blocked_at_lock(group))
			add_stack(&tally, taker, group->frames, group->n_frames, group->total_ns);
	}
	for (size_t i = 0; input->cpu && i < input->cpu->inventory.n_stack_groups; i++) {
		const struct xp_stack_group *group = &input->cpu->inventory.stack_groups[i];

		add_stack(&tally, taker, group->frames, group->n_frames, group->samples * 1000000000u / input->cpu->inventory.frequency_hz);
	}
	return tally;
}

bool xp_lock_say_work(const struct xp_triage_input *input, struct xp_findings *out, struct xp_finding *finding,
		      const struct xp_off_cpu_group *waiting)
{
	const struct xp_frame *taker = xp_own_frame(waiting->frames, waiting->n_frames);
	struct xp_own_tally tally = { 0 };
	xp_auto_builder text = { .limit = 160 };
	size_t most = 0;

	if (taker)
		tally = work_of(input, taker);
	if (!tally.n || xp_input_share(input, tally.total) < LEAST_SHARE)
		return false;
	for (size_t i = 1; i < tally.n; i++)
		most = tally.at[i].amount > tally.at[most].amount ? i : most;
	if (tally.at[most].frame->kind != XP_FRAME_PYTHON && tally.at[most].frame->symbol)
		xp_short_function(tally.at[most].frame->symbol, &text);
	else
		xp_frame_text(tally.at[most].frame, &text);
	bool itself = xp_same_function(tally.at[most].frame, taker);
	finding->message = xp_arena_fmt(out->arena, "%s, which took about %.0f ms of all threads beside waiting, mostly %s%s",
					finding->message, (double)tally.total / 1e6, itself ? "itself" : "in ", itself ? "" : text.data);
	json_t *work = json_object();
	json_object_set_new(work, "total_ns", xp_json_count(tally.total));
	json_object_set_new(work, "function", xp_json_text(text.data));
	json_object_set_new(work, "function_ns", xp_json_count(tally.at[most].amount));
	json_object_set_new(finding->evidence, "beside_waiting", work);
	return true;
}
