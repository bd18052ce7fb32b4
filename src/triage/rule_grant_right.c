// SPDX-License-Identifier: Apache-2.0
/* A source is not there for lack of rights: say the smallest change that brings it. */
#include "triage/rule.h"

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	for (int id = 0; id < XP_SOURCE_COUNT; id++) {
		const struct xp_triage_source *source = &input->sources[id];
		json_t *evidence;

		if (source->status == XP_SOURCE_AVAILABLE || source->reason != XP_REASON_NOT_PERMITTED)
			continue;
		evidence = json_object();
		json_object_set_new(evidence, "source", json_string(source->name));
		json_object_set_new(evidence, "call", source->call ? xp_json_text(source->call) : json_null());
		json_object_set_new(evidence, "errno", source->errno_name ? json_string(source->errno_name) : json_null());
		json_object_set_new(evidence, "object", source->object ? xp_json_text(source->object) : json_null());
		struct xp_finding *finding = xp_finding_add(out, "grant_right", source->name, -1, evidence);

		xp_finding_say(out, finding, "source %s was refused%s%s", source->name, source->call ? " by " : "",
			       source->call ? source->call : "");
		xp_next_action(out, finding, "grant_right", source->object, NULL, "%s",
			       source->unblock ? source->unblock : "`xprobe doctor` tries each right and names the missing one");
	}
}

const struct xp_rule xp_rule_grant_right = {
	.code = "grant_right",
	.order = 990,
	.run = run,
};
