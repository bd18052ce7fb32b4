// SPDX-License-Identifier: Apache-2.0
/* A GPU ran below its clock, for lack of power or for heat. */
#include <string.h>

#include "engine/nvml.h"
#include "triage/gpu_device.h"
#include "triage/rule.h"

#define LEAST_SHARE 0.05

struct cause {
	const char *because, *action, *part, *message;
};

static const struct cause *cause_of(const char *reason)
{
	static const struct cause causes[XP_CLOCK_REASON_COUNT] = {
		[XP_CLOCK_SW_POWER_CAP] = { "its power limit", "gpu_power_cap", "POWER",
					    "raise the power limit where the machine allows it, or expect this clock: the work needs more "
					    "power than the limit grants" },
		[XP_CLOCK_HW_SLOWDOWN] = { "a slowdown by hardware", "gpu_cooling", "PERFORMANCE",
					   "look at cooling and at the power supply: hardware lowered the clock" },
		[XP_CLOCK_SYNC_BOOST] = { "sync boost with a slower GPU", "gpu_power_cap", "PERFORMANCE",
					  "find the GPU of the same boost group that is slower, or leave the group" },
		[XP_CLOCK_SW_THERMAL] = { "heat", "gpu_cooling", "TEMPERATURE",
					  "look at fans, air flow and neighbours: the driver lowered the clock for heat" },
		[XP_CLOCK_HW_THERMAL] = { "heat, by hardware", "gpu_cooling", "TEMPERATURE",
					  "look at fans, air flow and neighbours: hardware lowered the clock for heat" },
		[XP_CLOCK_HW_POWER_BRAKE] = { "the power brake", "gpu_power_cap", "POWER",
					      "look at the power supply of the machine: it asked the GPU to brake" },
	};

	for (size_t i = 0; i < XP_LEN(causes); i++)
		if (!strcmp(xp_clock_reason_names[i], reason))
			return &causes[i];
	return NULL;
}

static void tell(const struct xp_triage_input *input, const struct xp_gpu_device *device, const struct xp_gpu_clock_event *event,
		 struct xp_findings *out)
{
	const struct cause *cause = cause_of(event->reason);
	double share = xp_input_share(input, event->ns);
	struct xp_finding *finding = xp_gpu_finding(out, "gpu_clock_limited", device, share);
	json_t *others = json_object();

	for (size_t i = 0; i < device->n_clock_events; i++)
		if (device->clock_events[i].ns)
			json_object_set_new(others, device->clock_events[i].reason, xp_json_count(device->clock_events[i].ns));
	finding->confidence = event->source == XP_CLOCK_COUNTERS ? XP_MEASURED : XP_ESTIMATED;
	json_object_set_new(finding->evidence, "reason", json_string(event->reason));
	json_object_set_new(finding->evidence, "limited_ns", xp_json_count(event->ns));
	json_object_set_new(finding->evidence, "source", json_string(xp_clock_source_names[event->source]));
	xp_gpu_tell_u32(finding, "sm_clock_mhz", device->sm_clock_mhz);
	xp_gpu_tell_u32(finding, "sm_clock_max_mhz", device->sm_clock_max_mhz);
	xp_gpu_tell_u64(finding, "power_mw", device->power_mw);
	xp_gpu_tell_u64(finding, "power_limit_mw", device->power_limit_mw);
	xp_gpu_tell_u32(finding, "temperature_c", device->temperature_c);
	json_object_set_new(finding->evidence, "readings", xp_json_count(device->readings));
	json_object_set_new(finding->evidence, "hits", xp_json_count(event->hits));
	json_object_set_new(finding->evidence, "clock_event_ns", others);
	xp_finding_say(out, finding, "GPU %u ran below its clock for %.0f ms of %.0f ms because of %s", device->index,
		       (double)event->ns / 1e6, (double)input->window_ns / 1e6, cause ? cause->because : event->reason);
	xp_next_gpu_state(out, finding, cause ? cause->action : "gpu_cooling", device, cause ? cause->part : "PERFORMANCE",
			  cause ? cause->message : "look at what holds the clock down");
}

static bool is(const struct xp_gpu_clock_event *event, enum xp_clock_reason reason)
{
	return !strcmp(event->reason, xp_clock_reason_names[reason]);
}

/* One finding a device, by the reason that lasted longest. The slowdown bit comes with heat and with the brake, which say more. */
static const struct xp_gpu_clock_event *longest(const struct xp_gpu_device *device)
{
	const struct xp_gpu_clock_event *most = NULL;
	bool closer = false;

	for (size_t i = 0; i < device->n_clock_events; i++) {
		const struct xp_gpu_clock_event *event = &device->clock_events[i];

		closer |= event->ns && (is(event, XP_CLOCK_HW_THERMAL) || is(event, XP_CLOCK_HW_POWER_BRAKE));
	}
	for (size_t i = 0; i < device->n_clock_events; i++) {
		const struct xp_gpu_clock_event *event = &device->clock_events[i];

		if ((!most || event->ns > most->ns) && !(closer && is(event, XP_CLOCK_HW_SLOWDOWN)))
			most = event;
	}
	return most;
}

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	for (size_t i = 0; i < input->gpu->n_devices; i++) {
		const struct xp_gpu_clock_event *event = longest(&input->gpu->devices[i]);

		if (event && xp_input_share(input, event->ns) >= LEAST_SHARE)
			tell(input, &input->gpu->devices[i], event, out);
	}
}

const struct xp_rule xp_rule_gpu_clock_limited = {
	.code = "gpu_clock_limited",
	.order = 230,
	.needs = 1u << XP_SOURCE_GPU,
	.run = run,
};
