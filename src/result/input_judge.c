/* SPDX-License-Identifier: Apache-2.0 */
/* What the envelopes of input files mean for a measurement. In: a summary. Out: an error, or accounts. No state. */
#include "result/input.h"

static const char *const source_names[XP_INPUT_SOURCE_COUNT] = {
	[XP_IN_UPROBE] = "ebpf_uprobe", [XP_IN_SYSCALL] = "ebpf_syscall",    [XP_IN_TRACEPOINT] = "ebpf_tracepoint",
	[XP_IN_USDT] = "ebpf_usdt",	[XP_IN_CALLBACK] = "cupti_callback", [XP_IN_ACTIVITY] = "cupti_activity",
	[XP_IN_NVTX] = "nvtx",
};

static int dropped(const struct xp_input_summary *summary, struct xp_err *reterr)
{
	const struct xp_input_cupti *cupti = &summary->cupti;
	int rc = xp_fail(reterr, XP_E_EVENTS_DROPPED, "the input captures lost %llu events, so counts from them would be wrong",
			 (unsigned long long)(summary->host_dropped + cupti->dropped_records));

	xp_err_detail(reterr, "dropped_events", xp_json_count(summary->host_dropped + cupti->dropped_records));
	if (cupti->present) {
		xp_err_detail(reterr, "record_capacity", xp_json_count(cupti->record_capacity));
		xp_err_detail(reterr, "observed_records", xp_json_count(cupti->observed_records));
		xp_err_detail(reterr, "retained_records", xp_json_count(cupti->retained_records));
		xp_err_detail(reterr, "dropped_records", xp_json_count(cupti->dropped_records));
	}
	return rc;
}

static int too_many(const struct xp_input_summary *summary, uint64_t max_events, struct xp_err *reterr)
{
	int rc;

	if (summary->events > max_events)
		rc = xp_fail(reterr, XP_E_EVENT_RATE_TOO_HIGH, "the input holds %llu events, more than --max-events %llu",
			     (unsigned long long)summary->events, (unsigned long long)max_events);
	else
		rc = xp_fail(reterr, XP_E_EVENT_RATE_TOO_HIGH, "an input capture ended because its capacity was used up");
	xp_err_detail(reterr, "observed_events", xp_json_count(summary->events));
	xp_err_detail(reterr, "max_events", xp_json_count(max_events));
	if (summary->cupti.present)
		xp_err_detail(reterr, "record_capacity", xp_json_count(summary->cupti.record_capacity));
	return rc;
}

int xp_input_judge(const struct xp_input_summary *summary, uint64_t max_events, struct xp_err *reterr)
{
	const struct xp_input_cupti *cupti = &summary->cupti;

	if (summary->host_dropped || cupti->dropped_records)
		return dropped(summary, reterr);
	if (summary->host_limit_reached || cupti->limit_reached || summary->events > max_events)
		return too_many(summary, max_events, reterr);
	if (cupti->unknown_records) {
		int rc = xp_fail(reterr, XP_E_TRACE_EXPORT_FAILED, "the input captures hold %llu records of unknown kinds",
				 (unsigned long long)cupti->unknown_records);

		xp_err_detail(reterr, "unknown_records", xp_json_count(cupti->unknown_records));
		return rc;
	}
	if (cupti->failed || cupti->not_stopped) {
		int rc = xp_fail(reterr, XP_E_CUPTI_NOT_AVAILABLE, "an input CUPTI capture was not stopped cleanly");

		xp_err_detail(reterr, "capture_state", json_string(cupti->failed ? "failed" : "active"));
		return rc;
	}
	return 0;
}

/* What a name filter of the agent took out was an activity: callbacks and ranges are filtered before they are recorded. */
struct xp_account *xp_input_accounts(const struct xp_input_summary *summary, struct xp_arena *arena, size_t *ret_n)
{
	struct xp_account *accounts = xp_arena_array(arena, struct xp_account, XP_INPUT_SOURCE_COUNT);
	size_t n = 0;

	for (unsigned i = 0; i < XP_INPUT_SOURCE_COUNT; i++) {
		uint64_t filtered = i == XP_IN_ACTIVITY ? summary->cupti.filtered : 0;

		if (!summary->by_source[i] && !filtered)
			continue;
		accounts[n++] = (struct xp_account){
			.source = source_names[i],
			.emitted = summary->by_source[i] + filtered,
			.delivered = summary->by_source[i],
			.filtered = filtered,
		};
	}
	*ret_n = n;
	return accounts;
}
