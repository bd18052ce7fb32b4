// SPDX-License-Identifier: Apache-2.0
/* The GPUs of a triage, a line each: load, clock, power, heat, memory. In: the summary. Out: text. No state. */
#include "output/report_gpu_health.h"

#include "base/text.h"
#include "inventory/gpu_health.h"
#include "output/human.h"

enum { LABEL = 11, NAME = 30, MAX_DEVICES = 8 };

/* "1755 of 1980 MHz"; the second part only where it is told. */
static void pair(struct xp_text *out, struct xp_opt_f64 value, struct xp_opt_f64 most, const char *unit)
{
	if (!value.set)
		return;
	xp_text_fmt(out, ", %.4g", value.v);
	if (most.set)
		xp_text_fmt(out, " of %.4g", most.v);
	xp_text_fmt(out, " %s", unit);
}

static struct xp_opt_f64 scaled(bool set, uint64_t value, double by)
{
	return (struct xp_opt_f64){ set, (double)value / by };
}

static void device_line(const struct xp_gpu_device *device, struct xp_text *out)
{
	xp_text_fmt(out, "gpu %-*u", LABEL - 4, device->index);
	xp_human_text(out, device->name ? device->name : device->uuid, NAME);
	if (device->utilization.set)
		xp_text_fmt(out, ", %.0f%% used", device->utilization.v * 100);
	pair(out, scaled(device->sm_clock_mhz.set, device->sm_clock_mhz.v, 1),
	     scaled(device->sm_clock_max_mhz.set, device->sm_clock_max_mhz.v, 1), "MHz");
	pair(out, scaled(device->power_mw.set, device->power_mw.v, 1000),
	     scaled(device->power_limit_mw.set, device->power_limit_mw.v, 1000), "W");
	pair(out, scaled(device->temperature_c.set, device->temperature_c.v, 1), (struct xp_opt_f64){ 0 }, "C");
	pair(out, scaled(device->memory_used.set, device->memory_used.v, 1 << 30),
	     scaled(device->memory_total.set, device->memory_total.v, 1 << 30), "GiB");
	if (device->mig)
		xp_text_str(out, ", MIG");
	xp_text_char(out, '\n');
}

void xp_report_gpu_health(const struct xp_gpu_health *gpu, struct xp_text *out)
{
	for (size_t i = 0; gpu && i < gpu->n_devices && i < MAX_DEVICES; i++)
		device_line(&gpu->devices[i], out);
	if (gpu && gpu->n_devices > MAX_DEVICES)
		xp_text_fmt(out, "%*sand %zu more GPUs\n", LABEL, "", gpu->n_devices - MAX_DEVICES);
}
