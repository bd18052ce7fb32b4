/* SPDX-License-Identifier: Apache-2.0 */
/* Any JSON document as a measurement spec, and as a graph, which is planned too: refused with one of the two codes of contract 10.2, or
 * read. */
#include <stdlib.h>

#include "fuzz.h"

#include "plan/graph.h"
#include "plan/spec.h"

/* Without a target every fault of a graph is an issue. */
static void read_graph(const json_t *document, struct xp_arena *arena)
{
	const struct xp_plan_options options = { 0 };
	xp_auto_err err = { 0 };
	struct xp_graph_spec spec;
	struct xp_graph graph;
	struct xp_plan plan;

	if (xp_graph_spec_read(document, arena, &spec, &err)) {
		if (err.code != XP_E_INVALID_EVENT_SELECTOR)
			abort();
		return;
	}
	xp_plan_init(&plan, NULL, arena);
	if (xp_graph_plan(&plan, &spec, &options, &graph, &err))
		abort();
	if (plan.n_edges > XP_MAX_EDGES || (!graph.n_issues && plan.n_edges != spec.n_edges))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[160];
	json_t *document = xp_json_parse((const char *)data, size, why, sizeof(why));

	if (!document)
		return 0;
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto_err err = { 0 };
	struct xp_measurement_spec spec;
	int rc = xp_measurement_spec_read(document, arena, &spec, &err);
	if (rc && (err.code != XP_E_INVALID_EVENT_SELECTOR && err.code != XP_E_SESSION_LIMIT_EXCEEDED &&
		   err.code != XP_E_INVALID_CORRELATION_POLICY))
		abort();
	if (!rc && (!spec.start_selector || !spec.end_selector || !spec.timeout_ms))
		abort();
	read_graph(document, arena);
	json_decref(document);
	return 0;
}
