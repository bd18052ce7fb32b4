/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a MeasurementGraphSpec. In: a parsed document. Out: the value, text in the arena. No state. */
#include "plan/graph_spec.h"

#include <string.h>

enum { NAME_MAX = 64 };

static const struct xp_field edge_fields[] = {
	XP_FIELD(xp_graph_edge_spec, name, STR, "letters, digits, _ . -, at most 64; unique"),
	XP_FIELD(xp_graph_edge_spec, start, STR, "name of the start endpoint; edges may share it"),
	XP_FIELD(xp_graph_edge_spec, end, STR, "name of the end endpoint; edges may share it"),
	XP_FIELD_ENUM(xp_graph_edge_spec, match_policy, xp_policy_names, "how starts and ends are paired"),
};
static const struct xp_record edge_record =
	XP_RECORD("GraphEdgeSpec", xp_graph_edge_spec, edge_fields, "one pair of endpoints to be measured", .closed = true);

static const struct xp_field spec_fields[] = {
	XP_FIELD_CONST("schema_version", "3.0", "version of this record"),
	XP_FIELD(xp_graph_spec, name, STR, "copied into the result, at most 256 bytes; null: none", .flags = XP_NULLABLE),
	XP_FIELD_OBJ(xp_graph_spec, target, &xp_target_id_record, "must fit at run time, else TARGET_REUSED"),
	XP_FIELD_TEXTS(xp_graph_spec, endpoints, "1 to 16 selectors by name; names as those of edges"),
	XP_FIELD_LIST(xp_graph_spec, edges, &edge_record, "1 to 8"),
	XP_FIELD(xp_graph_spec, samples, OPT_U64, "stop when every edge has that many pairs; null: no such bound"),
	XP_FIELD(xp_graph_spec, duration_ms, OPT_U64, "length of the window; null: no such bound"),
	XP_FIELD(xp_graph_spec, timeout_ms, U64, "bound of attach and window"),
	XP_FIELD(xp_graph_spec, max_events, U64, "one capacity for the whole capture"),
	XP_FIELD(xp_graph_spec, max_cost, OPT_F64, "as --max-cost", .flags = XP_OPTIONAL),
	XP_FIELD(xp_graph_spec, allow_cxx_return, OPT_BOOL, "as --allow-cxx-return", .flags = XP_OPTIONAL),
};
const struct xp_record xp_graph_spec_record =
	XP_RECORD("MeasurementGraphSpec", xp_graph_spec, spec_fields,
		  "several pairs that one capture measures, as `measure --spec` takes it", .closed = true);

static int check_name(const char *what, const char *name, struct xp_err *reterr)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
	size_t len = strlen(name);

	if (len && len <= NAME_MAX && strspn(name, allowed) == len)
		return 0;
	int rc = xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "%s name \"%.80s\" is not made of 1 to %d letters, digits, _ . -", what, name,
			 NAME_MAX);
	xp_err_object(reterr, "%.80s", name);
	return rc;
}

int xp_graph_spec_read(const json_t *document, struct xp_arena *arena, struct xp_graph_spec *ret_spec, struct xp_err *reterr)
{
	struct xp_graph_spec spec;
	int rc = xp_record_read(&xp_graph_spec_record, document, arena, XP_E_INVALID_EVENT_SELECTOR, &spec, reterr);

	for (size_t i = 0; !rc && i < spec.n_endpoints; i++)
		rc = check_name("endpoint", spec.endpoints[i].name, reterr);
	for (size_t i = 0; !rc && i < spec.n_edges; i++)
		rc = check_name("edge", spec.edges[i].name, reterr);
	if (!rc)
		*ret_spec = spec;
	return rc;
}
