/* SPDX-License-Identifier: Apache-2.0 */
/* `measure --input`: the same measurement on completed captures (contract 6.4). Touches no target. */
#include "cmd/measure_finish.h"

#include <string.h>

#include "result/input.h"
#include "select/match.h"

static bool stop_reading(void)
{
	return xp_interrupts() > 0;
}

static int gather_paths(const struct xp_session *session, const char **paths, size_t *ret_n, struct xp_err *reterr)
{
	size_t n = 0;

	for (size_t i = 0; i < session->n_uses; i++) {
		if (strcmp(session->uses[i].flag->name, "--input") != 0)
			continue;
		if (n == XP_INPUT_FILES_MAX)
			return xp_spec_bound("input", n + 1, 1, XP_INPUT_FILES_MAX, reterr);
		paths[n++] = session->uses[i].text;
	}
	*ret_n = n;
	return 0;
}

static int plan_offline(struct xp_plan *plan, const struct xp_measure_request *request, struct xp_err *reterr)
{
	unsigned from, to;
	int rc = xp_plan_endpoint(plan, request->from, "start", &from, reterr);

	if (!rc)
		rc = xp_plan_endpoint(plan, request->to, "end", &to, reterr);
	if (rc)
		return rc;
	xp_plan_edge(plan, NULL, from, to, request->policy);
	plan->bounds = request->bounds;
	return xp_plan_first_issue(plan, reterr);
}

static void store_free(void *store)
{
	xp_store_free(store);
}

static const struct xp_cupti_account *cupti_of(const struct xp_input_summary *summary, struct xp_arena *arena)
{
	const struct xp_input_cupti *in = &summary->cupti;
	struct xp_cupti_account *out = xp_arena_new_of(arena, struct xp_cupti_account);

	if (!in->present)
		return NULL;
	*out = (struct xp_cupti_account){
		.record_capacity = in->record_capacity,
		.observed_records = in->observed_records,
		.retained_records = in->retained_records,
		.dropped_records = in->dropped_records,
		.buffer_utilization = in->record_capacity ? (double)in->retained_records / (double)in->record_capacity : 0,
	};
	return out;
}

static bool wants_cuda(const struct xp_plan *plan)
{
	for (unsigned i = 0; i < plan->n_endpoints; i++)
		if (!plan->endpoints[i].family->host)
			return true;
	return false;
}

static const struct xp_cuda_account *cuda_of(const struct xp_plan *plan, const struct xp_input_summary *summary, struct xp_arena *arena)
{
	const struct xp_input_cupti *in = &summary->cupti;
	struct xp_cuda_account *out = xp_arena_new_of(arena, struct xp_cuda_account);

	if (!wants_cuda(plan))
		return NULL;
	*out = (struct xp_cuda_account){
		.api_launches_seen = in->api_launches,
		.graph_launches_seen = in->graph_launches,
		.activities_seen = in->activities_seen,
		.invalid_time_records = in->invalid_time_records + summary->invalid_time_events,
		.in_flight_at_stop = in->in_flight_at_stop,
		.cupti_version = in->cupti_version,
		.driver_version = in->driver_version,
		.agent_abi = in->agent_abi,
	};
	return out;
}

static int measure(struct xp_session *session, const struct xp_measure_request *request, struct xp_plan *plan, struct xp_store *store,
		   const struct xp_input_summary *summary, struct xp_err *reterr)
{
	struct xp_captured captured = {
		.plan = plan,
		.store = store,
		.target = summary->have_target ? &summary->target : NULL,
		.cupti = cupti_of(summary, session->arena),
		.cuda = cuda_of(plan, summary, session->arena),
		.source_loss_unknown = summary->source_loss_unknown,
		.observed_events = summary->events,
		.host_events = summary->host_events,
		.cuda_events = summary->cuda_events,
	};
	xp_auto_err failure = { 0 };
	uint32_t bits = (1u << plan->n_endpoints) - 1;

	captured.sources = xp_input_accounts(summary, session->arena, &captured.n_sources);
	if (xp_input_judge(summary, request->bounds.max_events, &failure))
		return xp_err_move(reterr, &failure);
	int rc = xp_match_store(plan->endpoints, plan->n_endpoints, store, reterr);
	if (rc)
		return rc;
	if (request->bounds.duration_ms.set)
		captured.last_ns = xp_correlate_last_ns(store, bits, request->bounds.duration_ms.v);
	return xp_measure_finish(session, request, &captured, &failure, reterr);
}

int xp_measure_input(struct xp_session *session, const struct xp_measure_request *request, struct xp_err *reterr)
{
	const char *paths[XP_INPUT_FILES_MAX];
	struct xp_plan *plan = xp_arena_new_of(session->arena, struct xp_plan);
	struct xp_input_options options = { .max_events = request->bounds.max_events, .stop = stop_reading };
	struct xp_input_summary *summary = xp_arena_new_of(session->arena, struct xp_input_summary);
	struct xp_store *store;
	size_t n = 0;

	int rc = gather_paths(session, paths, &n, reterr);
	if (!rc && request->events_out)
		rc = xp_artifact_check_destination(request->events_out, reterr);
	if (rc)
		return rc;
	xp_plan_init(plan, NULL, session->arena);
	rc = plan_offline(plan, request, reterr);
	if (!rc)
		rc = xp_input_read(paths, n, &options, &store, summary, reterr);
	if (rc)
		return rc;
	xp_arena_defer(session->arena, store_free, store);
	return measure(session, request, plan, store, summary, reterr);
}
