/* SPDX-License-Identifier: Apache-2.0 */
/* The outcome table of contract 6.3. In: how the window ended, what was paired and lost. Out: a status or an error. No state. */
#include "result/outcome.h"

#include <inttypes.h>

#include "result/measurement.h"

static enum xp_window_end end_of(const struct xp_outcome_request *request)
{
	return request->window ? request->window->end : XP_END_DURATION;
}

/* One reason for failure: applies says whether, fail makes the error. */
struct reason {
	enum xp_err_code code;
	bool (*applies)(const struct xp_outcome_request *request);
	void (*describe)(const struct xp_outcome_request *request, struct xp_err *err);
};

static bool exited(const struct xp_outcome_request *request)
{
	return request->identity == XP_E_TARGET_EXITED || (request->identity == XP_E_NONE && end_of(request) == XP_END_TARGET_GONE);
}

static bool reused(const struct xp_outcome_request *request)
{
	return request->identity == XP_E_TARGET_REUSED;
}

static void describe_gone(const struct xp_outcome_request *request, struct xp_err *err)
{
	xp_err_say(err, "the target %s during the window; what was captured until then is kept",
		   reused(request) ? "was replaced by another process" : "ended");
}

static bool dropped(const struct xp_outcome_request *request)
{
	return xp_dropped_of(request->sources, request->n_sources) > 0;
}

static void describe_dropped(const struct xp_outcome_request *request, struct xp_err *err)
{
	uint64_t lost = xp_dropped_of(request->sources, request->n_sources);

	xp_err_say(err, "%" PRIu64 " events were lost between their source and xprobe", lost);
	xp_err_detail(err, "dropped_events", xp_json_count(lost));
	xp_err_detail(err, "captured_events", xp_json_count(request->events));
	xp_err_hint(err, "choose a start and an end that happen less often, or a shorter window");
}

static bool costly(const struct xp_outcome_request *request)
{
	return end_of(request) == XP_END_COST && !request->pairs->n;
}

/* A capture that filled up at the moment its samples bound was met is complete. */
static bool full(const struct xp_outcome_request *request)
{
	bool enough = request->samples.set && request->pairs->n >= request->samples.v;

	return (request->capacity_reached || end_of(request) == XP_END_CAPACITY) && !enough;
}

static bool too_fast(const struct xp_outcome_request *request)
{
	return full(request) || costly(request);
}

static void describe_rate(const struct xp_outcome_request *request, struct xp_err *err)
{
	if (!full(request)) {
		xp_err_say(err, "the probes cost the target more than their limit of %.1f%% of its CPU time before there was a pair",
			   request->window->cost.limit * 100);
		xp_err_hint(err, "choose a start and an end that happen less often");
		xp_err_hint(err, "or allow more with --max-cost");
		return;
	}
	xp_err_say(err, "the capture's %" PRIu64 " events were filled before its bound was reached", request->max_events);
	xp_err_detail(err, "observed_events", xp_json_count(request->observed_events ? request->observed_events : request->events));
	xp_err_detail(err, "max_events", xp_json_count(request->max_events));
	xp_err_hint(err, "raise --max-events");
	xp_err_hint(err, "or ask for fewer --samples or a shorter --duration-ms");
}

static bool dead(const struct xp_outcome_request *request)
{
	return request->dead_collection && !request->pairs->n;
}

static void describe_dead(const struct xp_outcome_request *request, struct xp_err *err)
{
	xp_err_say(err, "kernels were launched in the window, but CUPTI delivered not one activity");
	xp_err_detail(err, "observed_activities", xp_json_count(0));
	xp_err_hint(err, "another profiler may have used CUPTI in this process before; restart the process to measure its GPU side");
}

static bool interrupted(const struct xp_outcome_request *request)
{
	return end_of(request) == XP_END_SIGNAL && !request->pairs->n;
}

static void describe_interrupted(const struct xp_outcome_request *request, struct xp_err *err)
{
	xp_err_say(err, "a signal ended the capture before there was a pair");
	xp_err_detail(err, "cancelled", json_true());
	xp_err_detail(err, "captured_events", xp_json_count(request->events));
}

static bool no_pair(const struct xp_outcome_request *request)
{
	return !request->pairs->n;
}

static void hint_api_calls(const struct xp_outcome_request *request, struct xp_err *err)
{
	if (request->n_api_calls)
		for (size_t i = 0; i < request->n_api_calls && i < 20; i++)
			xp_err_hint(err, "called in the window: %s", request->api_calls[i]);
}

static void hint_silence(const struct xp_outcome_request *request, struct xp_err *err)
{
	const struct xp_pairs *pairs = request->pairs;

	if (!pairs->start_events && !pairs->end_events)
		xp_err_hint(err, "neither selector saw an event: check that this process does that work now, and in this process rather "
				 "than a child");
	else if (!pairs->start_events)
		xp_err_hint(err, "no start: %s was silent while %s saw %" PRIu64 " events", request->start->selector,
			    request->end->selector, pairs->end_events);
	else if (!pairs->end_events)
		xp_err_hint(err, "no end: %s was silent while %s saw %" PRIu64 " events", request->end->selector, request->start->selector,
			    pairs->start_events);
	else
		xp_err_hint(err,
			    "both sides saw events (%" PRIu64 " and %" PRIu64 "), but none share a key: try first_after or another end",
			    pairs->start_events, pairs->end_events);
	if (!pairs->start_events || !pairs->end_events)
		hint_api_calls(request, err);
	if (request->window && end_of(request) != XP_END_CAPACITY)
		xp_err_hint(err, "or wait longer: --duration-ms and --timeout-ms bound the window");
}

static void describe_no_pair(const struct xp_outcome_request *request, struct xp_err *err)
{
	const struct xp_pairs *pairs = request->pairs;
	const char *why = pairs->start_events && pairs->end_events ? "no two of them belong together"
			  : pairs->start_events			   ? "no end event came"
			  : pairs->end_events			   ? "no start event came"
								   : "neither event came";

	xp_err_say(err, "no pair was measured: %s", why);
	xp_err_detail(err, "captured_events", xp_json_count(request->events));
	xp_err_detail(err, "host_events", xp_json_count(request->host_events));
	xp_err_detail(err, "cuda_events", xp_json_count(request->cuda_events));
	if (end_of(request) == XP_END_TIMEOUT)
		xp_err_detail(err, "timed_out", json_true());
	hint_silence(request, err);
}

static bool much_unmatched(const struct xp_outcome_request *request)
{
	struct xp_opt_f64 score = xp_score(request->pairs);

	return request->max_unmatched >= 0 && score.set && 1 - score.v > request->max_unmatched;
}

static void describe_unmatched(const struct xp_outcome_request *request, struct xp_err *err)
{
	double share = 1 - xp_score(request->pairs).v;

	xp_err_say(err, "%.1f%% of the events found no sure partner, more than the %.1f%% allowed", share * 100,
		   request->max_unmatched * 100);
	xp_err_hint(err, "the capture is kept: measure --input with another --match shows whether the policy is at fault");
}

/* In the precedence of contract 1.5; what is not named there stands in order of occurrence. */
static const struct reason reasons[] = {
	{ XP_E_TARGET_EXITED, exited, describe_gone },		{ XP_E_TARGET_REUSED, reused, describe_gone },
	{ XP_E_EVENTS_DROPPED, dropped, describe_dropped },	{ XP_E_EVENT_RATE_TOO_HIGH, too_fast, describe_rate },
	{ XP_E_COLLECTION_DEAD, dead, describe_dead },		{ XP_E_CANCELLED, interrupted, describe_interrupted },
	{ XP_E_NO_MATCHED_SAMPLES, no_pair, describe_no_pair }, { XP_E_HIGH_UNMATCHED_RATE, much_unmatched, describe_unmatched },
};

static const struct reason *next_reason(const struct xp_outcome_request *request, const struct reason *reason)
{
	for (; reason < reasons + XP_LEN(reasons); reason++)
		if (reason->applies(request))
			return reason;
	return NULL;
}

static int fail(const struct xp_outcome_request *request, const struct reason *reason, struct xp_err *reterr)
{
	const struct reason *hidden = next_reason(request, reason + 1);
	int r = xp_fail(reterr, reason->code, "%s", xp_err_name(reason->code));

	reason->describe(request, reterr);
	xp_err_detail(reterr, "start_selector", xp_json_selector(request->start->selector));
	xp_err_detail(reterr, "end_selector", xp_json_selector(request->end->selector));
	xp_err_detail(reterr, "match_policy", xp_json_text(xp_policy_names[request->policy]));
	if (request->edge)
		xp_err_detail(reterr, "edge", xp_json_text(request->edge));
	/* A capture that found nothing because of the first failure says nothing new. */
	if (hidden && hidden->code != XP_E_NO_MATCHED_SAMPLES)
		xp_err_detail(reterr, "original_error_code", xp_json_text(xp_err_name(hidden->code)));
	return r;
}

static enum xp_status status_of(const struct xp_outcome_request *request)
{
	static const enum xp_status by_end[XP_WINDOW_END_COUNT] = {
		[XP_END_DURATION] = XP_COMPLETED, [XP_END_SAMPLES] = XP_COMPLETED, [XP_END_CAPACITY] = XP_COMPLETED,
		[XP_END_TIMEOUT] = XP_TIMED_OUT,  [XP_END_COST] = XP_CANCELLED,	   [XP_END_SIGNAL] = XP_CANCELLED,
		[XP_END_TARGET_GONE] = XP_FAILED, [XP_END_FAILED] = XP_FAILED,
	};
	enum xp_status status = by_end[end_of(request)];

	/* The bound was met in the same drain that saw the window end; a cost limit is told in any case. */
	return (status == XP_TIMED_OUT || end_of(request) == XP_END_SIGNAL) && request->samples.set &&
			       request->pairs->n >= request->samples.v
		       ? XP_COMPLETED
		       : status;
}

int xp_outcome_of(const struct xp_outcome_request *request, enum xp_status *ret_status, struct xp_err *reterr)
{
	const struct reason *reason = next_reason(request, reasons);

	if (reason)
		return fail(request, reason, reterr);
	*ret_status = status_of(request);
	return 0;
}
