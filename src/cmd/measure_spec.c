/* SPDX-License-Identifier: Apache-2.0 */
/* `measure --spec` and `trace --spec`: the spec's kind decides what runs. */
#include "cmd/measure.h"

#include <string.h>

void xp_measure_request_of_spec(const struct xp_measurement_spec *spec, struct xp_measure_request *ret_request)
{
	*ret_request = (struct xp_measure_request){
		.name = spec->name,
		.target = spec->target,
		.identity_given = true,
		.from = spec->start_selector,
		.to = spec->end_selector,
		.policy = (enum xp_policy_id)spec->match_policy,
		.bounds = {
			.samples = spec->samples,
			.duration_ms = spec->duration_ms,
			.timeout_ms = spec->timeout_ms,
			.max_events = spec->max_events.v,
			.max_cost = spec->max_cost.set ? spec->max_cost.v : 0.05,
			.max_unmatched = -1,
		},
		.allow_cxx_return = spec->allow_cxx_return.set && spec->allow_cxx_return.v,
		.records_only = spec->records_only.set && spec->records_only.v,
		.format = "jsonl",
	};
}

static void request_of_graph(const struct xp_graph_spec *spec, struct xp_measure_request *ret_request)
{
	*ret_request = (struct xp_measure_request){
		.name = spec->name,
		.target = spec->target,
		.identity_given = true,
		.graph = spec,
		.bounds = {
			.samples = spec->samples,
			.duration_ms = spec->duration_ms,
			.timeout_ms = spec->timeout_ms,
			.max_events = spec->max_events,
			.max_cost = spec->max_cost.set ? spec->max_cost.v : 0.05,
			.max_unmatched = -1,
		},
		.allow_cxx_return = spec->allow_cxx_return.set && spec->allow_cxx_return.v,
	};
}

/* A flag on the command line wins over the spec. */
static void apply_flags(const struct xp_session *session, struct xp_measure_request *request)
{
	const struct xp_flag_use *cost = xp_flag_find(session, "--max-cost"), *unmatched = xp_flag_find(session, "--max-unmatched");

	if (cost)
		request->bounds.max_cost = cost->share;
	if (unmatched)
		request->bounds.max_unmatched = unmatched->share;
	if (xp_flag_on(session, "--allow-cxx-return"))
		request->allow_cxx_return = true;
	if (xp_flag_on(session, "--records-only"))
		request->records_only = true;
	request->events_out = xp_flag_text(session, "--events-out", NULL);
	request->format = xp_flag_text(session, "--format", "jsonl");
	request->evidence_mode = strcmp(xp_flag_text(session, "--evidence", "summary"), "full") ? XP_EVIDENCE_SUMMARY : XP_EVIDENCE_FULL;
}

static int refuse_kind(enum xp_spec_kind kind, struct xp_err *reterr)
{
	static const char *const names[XP_SPEC_KIND_COUNT] = { "measurement", "graph", "CPU sampling", "syscall" };

	return xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "a %s spec is not accepted here", names[kind]);
}

static int measure_graph(struct xp_session *session, const json_t *document, struct xp_err *reterr)
{
	struct xp_graph_spec *spec = xp_arena_new_of(session->arena, struct xp_graph_spec);
	struct xp_measure_request request;
	int rc = xp_graph_spec_read(document, session->arena, spec, reterr);

	if (rc)
		return rc;
	request_of_graph(spec, &request);
	apply_flags(session, &request);
	/* Contract 12: an extra file; the events still go to the private folder. */
	if (!strcmp(request.format, "html")) {
		request.page_out = request.events_out;
		request.events_out = NULL;
		request.format = "jsonl";
	}
	return xp_measure_exact(session, &request, reterr);
}

int xp_measure_spec(struct xp_session *session, struct xp_err *reterr)
{
	bool trace = !strcmp(session->command->name, "trace");
	struct xp_measure_request request;
	struct xp_measurement_spec spec;
	enum xp_spec_kind kind;
	json_t *document;
	int rc = xp_spec_load(xp_flag_text(session, "--spec", ""), &kind, &document, reterr);

	if (rc)
		return rc;
	xp_arena_defer(session->arena, (void (*)(void *))json_decref, document);
	if (kind == XP_SPEC_SYSCALLS && !trace)
		return xp_measure_syscall_spec(session, document, reterr);
	if (kind == XP_SPEC_CPU && !trace)
		return xp_measure_cpu_spec(session, document, reterr);
	if (kind == XP_SPEC_GRAPH && !trace)
		return measure_graph(session, document, reterr);
	if (kind != XP_SPEC_MEASUREMENT)
		return refuse_kind(kind, reterr);
	rc = xp_measurement_spec_read(document, session->arena, &spec, reterr);
	if (rc)
		return rc;
	if (spec.measurement_mode == XP_MODE_AGGREGATE)
		return trace ? refuse_kind(kind, reterr) : xp_measure_aggregate_spec(session, &spec, reterr);
	xp_measure_request_of_spec(&spec, &request);
	apply_flags(session, &request);
	return xp_measure_exact(session, &request, reterr);
}
