// SPDX-License-Identifier: Apache-2.0
/* Folds readings as they come, then makes the numbers of a device. In: readings. Out: struct xp_gpu_device. State: struct xp_gpu_tally. */
#include "inventory/gpu_tally.h"

static void most32(struct xp_opt_u32 *most, struct xp_opt_u32 value)
{
	if (value.set && (!most->set || value.v > most->v))
		*most = value;
}

static void most64(struct xp_opt_u64 *most, struct xp_opt_u64 value)
{
	if (value.set && (!most->set || value.v > most->v))
		*most = value;
}

static void average(struct xp_gpu_mean *mean, bool first, bool set, double value)
{
	if (!set)
		return;
	if (first) {
		mean->first = (struct xp_opt_f64)XP_SOME(value);
		return;
	}
	mean->sum += value;
	mean->n++;
}

static struct xp_opt_f64 mean_of(const struct xp_gpu_mean *mean)
{
	return mean->n ? (struct xp_opt_f64)XP_SOME(mean->sum / mean->n) : mean->first;
}

/* What short readings leave out stays as the last full one told it. */
static void keep_full(struct xp_nvml_reading *now, const struct xp_nvml_reading *before)
{
	if (!now->power_limit_mw.set)
		now->power_limit_mw = before->power_limit_mw;
	if (!now->memory_total.set)
		now->memory_total = before->memory_total;
	if (!now->sm_clock_max_mhz.set)
		now->sm_clock_max_mhz = before->sm_clock_max_mhz;
	if (!now->pcie_generation_max.set)
		now->pcie_generation_max = before->pcie_generation_max;
	if (!now->pcie_width_max.set)
		now->pcie_width_max = before->pcie_width_max;
	if (!now->ecc_uncorrected.set)
		now->ecc_uncorrected = before->ecc_uncorrected;
	if (!now->remap_pending.set)
		now->remap_pending = before->remap_pending;
}

void xp_gpu_tally_add(struct xp_gpu_tally *t, const struct xp_nvml_reading *r)
{
	bool first = !t->readings;

	if (r->fault.kind) {
		t->fault = r->fault;
		t->lost = t->readings > 0;
		return;
	}
	t->lost = false;
	if (first)
		t->first = *r;
	struct xp_nvml_reading last = *r;
	keep_full(&last, &t->last);
	t->last = last;
	t->readings++;
	average(&t->utilization, first, r->utilization.set, r->utilization.v);
	average(&t->power, first, r->power_mw.set, (double)r->power_mw.v);
	average(&t->clock, first, r->sm_clock_mhz.set, r->sm_clock_mhz.v);
	most64(&t->memory_used, r->memory_used);
	most32(&t->temperature, r->temperature_c);
	most32(&t->generation, r->pcie_generation);
	most32(&t->width, r->pcie_width);
	t->reasons_seen += r->reasons.set;
	for (unsigned i = 0; i < XP_CLOCK_REASON_COUNT; i++)
		t->hits[i] += r->reasons.set && (r->reasons.v >> i & 1);
}

/* One reason; false: the driver tells nothing of it. A counter that went backwards was set anew in the window: the readings remain. */
static bool event_of(const struct xp_gpu_tally *t, unsigned reason, uint64_t window_ns, struct xp_gpu_clock_event *ret_event)
{
	const struct xp_opt_u64 *from = &t->first.reason_ns[reason], *to = &t->last.reason_ns[reason];
	bool counted = from->set && to->set && to->v >= from->v && t->readings > 1;

	if (!counted && !t->reasons_seen)
		return false;
	*ret_event = (struct xp_gpu_clock_event){
		.reason = xp_clock_reason_names[reason],
		.source = counted ? XP_CLOCK_COUNTERS : XP_CLOCK_SNAPSHOTS,
		.ns = counted ? to->v - from->v : (uint64_t)((double)window_ns * t->hits[reason] / t->reasons_seen),
		.hits = t->hits[reason],
	};
	return true;
}

static void build_events(const struct xp_gpu_tally *t, uint64_t window_ns, struct xp_arena *arena, struct xp_gpu_device *device)
{
	struct xp_gpu_clock_event *events = xp_arena_array(arena, struct xp_gpu_clock_event, XP_CLOCK_REASON_COUNT);

	device->clock_event_ns = xp_arena_array(arena, struct xp_count, XP_CLOCK_REASON_COUNT);
	device->clock_events = events;
	for (unsigned i = 0; i < XP_CLOCK_REASON_COUNT; i++) {
		struct xp_gpu_clock_event *event = &events[device->n_clock_events];

		if (!event_of(t, i, window_ns, event))
			continue;
		device->clock_event_ns[device->n_clock_events++] = (struct xp_count){ event->reason, event->ns };
	}
	device->n_clock_event_ns = device->n_clock_events;
}

static struct xp_opt_u64 rounded(struct xp_opt_f64 value)
{
	return (struct xp_opt_u64){ value.set, (uint64_t)(value.v + 0.5) };
}

void xp_gpu_tally_build(const struct xp_gpu_tally *t, uint64_t window_ns, struct xp_arena *arena, struct xp_gpu_device *ret_device)
{
	struct xp_gpu_device *d = ret_device;
	struct xp_opt_u64 clock = rounded(mean_of(&t->clock));
	const struct xp_opt_u64 *before = &t->first.ecc_uncorrected, *after = &t->last.ecc_uncorrected;

	d->readings = t->readings;
	d->span_ns = t->last.t_ns - t->first.t_ns;
	d->utilization = mean_of(&t->utilization);
	d->memory_used = t->memory_used;
	d->memory_total = t->last.memory_total;
	d->temperature_c = t->temperature;
	d->power_mw = rounded(mean_of(&t->power));
	d->power_limit_mw = t->last.power_limit_mw;
	d->sm_clock_mhz = (struct xp_opt_u32){ clock.set, (uint32_t)clock.v };
	d->sm_clock_max_mhz = t->last.sm_clock_max_mhz;
	d->pcie_generation = t->generation;
	d->pcie_generation_max = t->last.pcie_generation_max;
	d->pcie_width = t->width;
	d->pcie_width_max = t->last.pcie_width_max;
	d->ecc_uncorrected = *after;
	if (before->set && after->set && t->readings > 1)
		d->ecc_uncorrected_new = (struct xp_opt_u64)XP_SOME(after->v > before->v ? after->v - before->v : 0);
	d->remap_pending = t->last.remap_pending;
	d->lost = t->lost;
	if (t->fault.kind)
		d->note = xp_arena_fmt(arena, "%s gave status %d", t->fault.call, t->fault.status);
	build_events(t, window_ns, arena, d);
}
