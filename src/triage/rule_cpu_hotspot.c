// SPDX-License-Identifier: Apache-2.0
/* A function that a thread spends a noticeable part of the window in. */
#include "triage/cpu_view.h"
#include "triage/rule.h"

enum { MAX_FUNCTIONS = 3 };
#define LEAST_SHARE 0.10

/* Kernel functions are cpu_kernel's. */
static bool is_hot(const struct xp_triage_input *input, const struct xp_hotspot *spot)
{
	return spot->frame->kind != XP_FRAME_KERNEL && xp_cpu_share(input, spot->by_exclusive.exclusive) >= LEAST_SHARE;
}

static bool is_told(const struct xp_hotspot *const *told, unsigned n, const struct xp_hotspot *spot)
{
	for (unsigned i = 0; i < n; i++)
		if (told[i] == spot)
			return true;
	return false;
}

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	const struct xp_cpu_inventory *inventory = &input->cpu->inventory;
	const struct xp_hotspot *told[MAX_FUNCTIONS];

	for (unsigned n = 0; n < MAX_FUNCTIONS; n++) {
		const struct xp_hotspot *best = NULL;

		for (size_t i = 0; i < inventory->n_hotspots; i++) {
			const struct xp_hotspot *spot = &inventory->hotspots[i];

			if (is_hot(input, spot) && !is_told(told, n, spot) &&
			    (!best || spot->by_exclusive.exclusive > best->by_exclusive.exclusive))
				best = spot;
		}
		if (!best)
			return;
		told[n] = best;
		xp_cpu_tell(input, out, &(struct xp_cpu_told){ "cpu_hotspot", best, &best->by_exclusive, false, LEAST_SHARE });
	}
}

static const struct xp_take takes[] = { { "cpu_bound_thread", XP_TAKE_SAME_THREAD }, { NULL } };

const struct xp_rule xp_rule_cpu_hotspot = {
	.code = "cpu_hotspot",
	.order = 30,
	.needs = 1u << XP_SOURCE_CPU_SAMPLES,
	.takes = takes,
	.run = run,
};
