/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture costs its targets. In: counters of the collectors, CPU clocks of the targets. Out: sums, and whether a limit is reached.
 */
#include "collect/window_priv.h"

/* Among several, a target is judged by itself only when it used at least one part in so many of a CPU. */
enum { JUDGED_PART = 10 };

void xp_window_sum_cost(const struct xp_window_run *run, size_t of, uint64_t *ret_ns, uint64_t *ret_events)
{
	*ret_ns = *ret_events = 0;
	for (size_t i = 0; i < run->n; i++) {
		const struct xp_collector *collector = &run->collectors[i];
		uint64_t ns = 0, events = 0;

		if (collector->of != of || !run->armed[i] || !collector->ops->cost)
			continue;
		collector->ops->cost(collector->state, &ns, &events);
		*ret_ns += ns;
		*ret_events += events;
	}
}

bool xp_window_read_cpu(struct xp_window_target *target)
{
	uint64_t now_ns;
	xp_auto_err gone = {};

	/* Also fails when the target has just gone: the last reading stands then. */
	if (target->cpu_known && xp_target_cpu_ns(target->target, &now_ns, &gone) == 0)
		target->cpu_last_ns = now_ns;
	return target->cpu_known;
}

bool xp_window_all_gone(const struct xp_window_run *run)
{
	for (size_t i = 0; i < run->n_targets; i++)
		if (!run->targets[i].gone)
			return false;
	return run->n_targets > 0;
}

bool xp_window_too_dear(struct xp_window_run *run, uint64_t now_ns)
{
	uint64_t judged_ns = (now_ns - run->window->start_ns) / JUDGED_PART, all_spent_ns = 0, all_cpu_ns = 0;
	double limit = run->bounds->max_cost;
	bool reached = false, known = false;

	for (size_t i = 0; i < run->n_targets && limit > 0; i++) {
		struct xp_window_target *target = &run->targets[i];
		uint64_t spent_ns, events;

		if (!xp_window_read_cpu(target))
			continue;
		uint64_t cpu_ns = target->cpu_last_ns - target->cpu_base_ns;

		xp_window_sum_cost(run, i, &spent_ns, &events);
		known = true;
		all_spent_ns += spent_ns;
		all_cpu_ns += cpu_ns;
		target->cost.limit_reached = cpu_ns >= judged_ns && (double)spent_ns > limit * (double)cpu_ns;
		reached |= target->cost.limit_reached;
	}
	reached |= known && (double)all_spent_ns > limit * (double)all_cpu_ns;
	run->window->cost.limit_reached |= reached;
	return reached;
}

/* One target's part; `all` grows by it. */
static void fill_one(const struct xp_window_run *run, size_t of, struct xp_cost *all, uint64_t *ret_spent_ns)
{
	struct xp_window_target *target = &run->targets[of];
	struct xp_cost *cost = &target->cost;
	uint64_t floor_ns = 0, cpu_ns = target->cpu_last_ns - target->cpu_base_ns;

	xp_window_sum_cost(run, of, ret_spent_ns, &cost->probe_events);
	for (size_t i = 0; i < run->n; i++) {
		const struct xp_collector *collector = &run->collectors[i];
		bool ours = collector->of == of && run->armed[i];
		uint64_t one_ns = ours && collector->ops->floor_ns ? collector->ops->floor_ns(collector->state) : 0;

		floor_ns = one_ns > floor_ns ? one_ns : floor_ns;
		if (ours && collector->ops->children)
			target->children += collector->ops->children(collector->state);
	}
	if (floor_ns)
		cost->probe_floor_ns = (struct xp_opt_u64)XP_SOME(floor_ns);
	if (target->cpu_known)
		cost->target_cpu_ns = (struct xp_opt_u64)XP_SOME(cpu_ns);
	all->probe_events += cost->probe_events;
	if (floor_ns > all->probe_floor_ns.v)
		all->probe_floor_ns = cost->probe_floor_ns;
	if (target->cpu_known)
		all->target_cpu_ns = (struct xp_opt_u64)XP_SOME(all->target_cpu_ns.v + cpu_ns);
}

static void fill_share(struct xp_cost *cost, uint64_t spent_ns)
{
	uint64_t cpu_ns = cost->target_cpu_ns.v;

	if (cost->target_cpu_ns.set && cpu_ns)
		cost->cpu_share = (struct xp_opt_f64)XP_SOME(spent_ns >= cpu_ns ? 1.0 : (double)spent_ns / (double)cpu_ns);
}

void xp_window_fill_cost(struct xp_window_run *run)
{
	struct xp_window *window = run->window;
	uint64_t all_spent_ns = 0;

	for (size_t i = 0; i < run->n_targets; i++) {
		struct xp_window_target *target = &run->targets[i];
		uint64_t spent_ns;

		fill_one(run, i, &window->cost, &spent_ns);
		fill_share(&target->cost, spent_ns);
		target->cost.limit = window->cost.limit;
		target->cost.attach_ms = window->cost.attach_ms;
		all_spent_ns += spent_ns;
		window->children += target->children;
		window->exec_seen |= target->exec_seen;
	}
	fill_share(&window->cost, all_spent_ns);
	if (run->n_targets == 1)
		run->targets[0].cost.limit_reached = window->cost.limit_reached;
}
