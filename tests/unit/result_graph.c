/* SPDX-License-Identifier: Apache-2.0 */
/* The MeasurementGraphResult: members, the capture's doubts apart from the edges', size in the worst case (contract 10.6, 1.1). */
#include "measured.h"

#include "result/graph.h"

enum { EDGES = 8, BUDGET = 16384 };

struct graphs {
	struct setting s;
	struct xp_graph_edge_request edges[EDGES];
	struct xp_graph_request request;
};

/* The same capture under n long names. */
static void set_graph(struct graphs *g, struct capture *c, size_t n)
{
	static const char longest[] = "a_name_of_exactly_64_bytes_which_is_the_longest_that_there_is_00";

	set(&g->s, c);
	assert_int_equal(strlen(longest), 64);
	for (size_t i = 0; i < n; i++) {
		char *name = xp_arena_str(g->s.arena, longest);

		name[63] = (char)('0' + i);
		g->edges[i] = (struct xp_graph_edge_request){ name, name, name, g->s.request.edge };
	}
	g->request = (struct xp_graph_request){
		.session_id = "xp_measure_4194303_00aa11bb",
		.name = "request_path",
		.target = g->s.request.target,
		.edges = g->edges,
		.n_edges = n,
		.collection = g->s.request.collection,
		.artifact = g->s.request.artifact,
	};
}

static struct xp_graph_result *make_graph(struct graphs *g)
{
	struct xp_graph_result *value;
	xp_auto_err err = { 0 };

	assert_int_equal(xp_graph_make(&g->request, g->s.arena, &value, &err), 0);
	return value;
}

static size_t size_of(const struct xp_graph_result *value)
{
	xp_auto_builder out = { 0 };
	struct xp_json json = { .out = &out };

	xp_record_write(&json, &xp_graph_result_record, value, false);
	return out.len + 1;
}

static bool has(const struct xp_quality *quality, const char *code)
{
	for (size_t i = 0; i < quality->n_issues; i++)
		if (!strcmp(quality->issues[i].code, code))
			return true;
	return false;
}

static void edges_carry_what_a_measurement_carries(void **state)
{
	struct graphs g = { 0 };

	set_graph(&g, mmaps(101), 2);
	struct xp_graph_result *graph = make_graph(&g);
	struct xp_measurement *alone = make(&g.s);
	const struct xp_graph_edge_result *edge = &graph->edges[1];

	assert_int_equal(graph->n_edges, 2);
	assert_memory_equal(&edge->samples, &alone->measurement.samples, sizeof(edge->samples));
	assert_memory_equal(edge->latency_ns, alone->measurement.latency_ns, sizeof(*edge->latency_ns));
	assert_int_equal(edge->n_exemplars, XP_RANK_COUNT);
	for (unsigned rank = 0; rank < XP_RANK_COUNT; rank++) {
		assert_string_equal(edge->exemplars[rank].start_event_id, alone->evidence.exemplars[rank].start.event_id);
		assert_string_equal(edge->exemplars[rank].end_event_id, alone->evidence.exemplars[rank].end.event_id);
		assert_int_equal(edge->exemplars[rank].end_ns - edge->exemplars[rank].start_ns, edge->exemplars[rank].latency_ns);
	}
	assert_int_equal(graph->quality.verdict, alone->quality.verdict);
	assert_int_equal(graph->collection.host_events, 202);
	assert_null(edge->pairs);
	done(&g.s);
}

static void the_capture_tells_its_doubts_once(void **state)
{
	struct graphs g = { 0 };

	set_graph(&g, mmaps(29), 2);
	g.s.facts.status = XP_TIMED_OUT;
	struct xp_graph_result *graph = make_graph(&g);
	assert_true(has(&graph->quality, "timed_out"));
	assert_false(has(&graph->quality, "few_samples"));
	assert_true(has(&graph->edges[0].quality, "timed_out"));
	assert_true(has(&graph->edges[1].quality, "few_samples"));
	assert_int_equal(graph->quality.verdict, XP_CAUTIOUS);
	assert_true(xp_graph_shrink(graph));
	assert_false(has(&graph->edges[0].quality, "timed_out"));
	assert_true(has(&graph->edges[0].quality, "few_samples"));
	assert_true(has(&graph->quality, "timed_out"));
	done(&g.s);
}

static void an_edge_alone_can_make_the_verdict(void **state)
{
	struct graphs g = { 0 };

	set_graph(&g, mmaps(29), 1);
	struct xp_graph_result *graph = make_graph(&g);
	assert_int_equal(graph->quality.n_issues, 0);
	assert_int_equal(graph->quality.verdict, XP_CAUTIOUS);
	done(&g.s);
}

static void an_edge_that_was_not_correlated_is_told_without_numbers(void **state)
{
	struct graphs g = { 0 };

	set_graph(&g, mmaps(101), 2);
	g.edges[1].edge.pairs = NULL;
	g.s.facts.status = XP_FAILED;
	struct xp_graph_result *graph = make_graph(&g);
	assert_non_null(graph->edges[0].latency_ns);
	assert_null(graph->edges[1].latency_ns);
	assert_int_equal(graph->edges[1].samples.matched, 0);
	assert_int_equal(graph->edges[1].n_exemplars, 0);
	assert_string_equal(graph->edges[1].correlation.method, "exact_syscall_tid_lifecycle");
	assert_int_equal(graph->status, XP_FAILED);
	done(&g.s);
}

static void full_evidence_lists_every_pair(void **state)
{
	struct graphs g = { 0 };

	set_graph(&g, mmaps(101), 2);
	g.request.evidence = XP_EVIDENCE_FULL;
	struct xp_graph_result *graph = make_graph(&g);
	assert_int_equal(graph->edges[1].n_pairs, 101);
	assert_int_equal(graph->edges[1].pairs[0].latency_ns, 2000);
	done(&g.s);
}

/* Everything that a host graph can be doubted for, in all of eight edges with the longest names and large numbers. */
static void the_worst_case_fits_its_budget(void **state)
{
	struct graphs g = { 0 };
	struct capture *c = capture_new(XP_POLICY_FIRST_AFTER, XP_EV_HOST_FUNCTION_ENTRY, XP_EV_HOST_FUNCTION_EXIT);
	const uint64_t late = UINT64_C(9000000000000000000);

	for (unsigned i = 0; i < 40; i++)
		put_at(c, late + 1000000 * (uint64_t)i, i < 20 ? START : i % 2 ? START : END);
	correlate(c);
	set_graph(&g, c, EDGES);
	g.s.facts.status = XP_TIMED_OUT;
	g.s.facts.source_loss_unknown = g.s.facts.clock_stepped = g.s.facts.records_only = g.s.facts.kinds_left_on =
		g.s.facts.correlation_unreliable = g.s.facts.nvtx_partial = true;
	g.s.facts.cupti_caveat = "records of a version with a known defect are not what they seem to be";
	g.s.window.exec_seen = true;
	g.s.window.children = 4000000000;
	g.s.cost.cpu_share = (struct xp_opt_f64)XP_SOME(0.12345678901234);
	g.s.cost.stall_ms = (struct xp_opt_f64)XP_SOME(1234.5678901234);
	g.s.cost.probe_floor_ns = (struct xp_opt_u64)XP_SOME(UINT64_C(90000000000000000));
	struct xp_graph_result *graph = make_graph(&g);
	assert_true(size_of(graph) > BUDGET);
	while (size_of(graph) > BUDGET && xp_graph_shrink(graph))
		;
	if (size_of(graph) > BUDGET)
		print_error("%zu bytes\n", size_of(graph));
	assert_true(size_of(graph) <= BUDGET);
	for (size_t i = 0; i < EDGES; i++) {
		assert_int_equal(graph->edges[i].quality.verdict, XP_CAUTIOUS);
		assert_int_equal(graph->edges[i].n_exemplars, XP_RANK_COUNT);
	}
	assert_true(has(&graph->edges[0].quality, "heuristic_correlation"));
	assert_true(has(&graph->edges[0].quality, "unmatched_events"));
	done(&g.s);
}

static void an_ordinary_graph_of_eight_is_not_shrunk(void **state)
{
	struct graphs g = { 0 };

	set_graph(&g, mmaps(100), EDGES);
	assert_true(size_of(make_graph(&g)) <= BUDGET);
	done(&g.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edges_carry_what_a_measurement_carries),
		cmocka_unit_test(the_capture_tells_its_doubts_once),
		cmocka_unit_test(an_edge_alone_can_make_the_verdict),
		cmocka_unit_test(an_edge_that_was_not_correlated_is_told_without_numbers),
		cmocka_unit_test(full_evidence_lists_every_pair),
		cmocka_unit_test(the_worst_case_fits_its_budget),
		cmocka_unit_test(an_ordinary_graph_of_eight_is_not_shrunk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
