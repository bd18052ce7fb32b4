/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs without a target: reading of specs, counts, merged selectors and filters, rules that need a GPU process to break. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* For rule_of and the order of issues. */
#include "plan/graph.c"

static struct xp_arena *arena;

static int set_up(void **state)
{
	arena = xp_arena_new();
	return 0;
}

static int tear_down(void **state)
{
	xp_arena_free(arena);
	return 0;
}

static const struct xp_graph_spec small = {
	.endpoints = (const struct xp_named_text[]){ { "in", "syscall:read:entry" }, { "out", "syscall:read:exit" } },
	.n_endpoints = 2,
	.edges = (const struct xp_graph_edge_spec[]){ { "read", "in", "out", XP_POLICY_EXACT } },
	.n_edges = 1,
	.samples = XP_SOME(10),
	.timeout_ms = 1000,
	.max_events = 1000,
};

static struct xp_plan *plan_new(void)
{
	struct xp_plan *plan = xp_arena_new_of(arena, struct xp_plan);

	xp_plan_init(plan, NULL, arena);
	return plan;
}

static struct xp_graph plan_into(struct xp_plan *plan, const struct xp_graph_spec *spec)
{
	const struct xp_plan_options options = { 0 };
	xp_auto_err err = { 0 };
	struct xp_graph graph;

	assert_int_equal(xp_graph_plan(plan, spec, &options, &graph, &err), 0);
	return graph;
}

static struct xp_graph planned(const struct xp_graph_spec *spec)
{
	return plan_into(plan_new(), spec);
}

static size_t count_of(const struct xp_graph *graph, enum xp_graph_rule rule)
{
	size_t n = 0;

	for (size_t i = 0; i < graph->n_issues; i++)
		n += graph->issues[i].rule == (int)rule;
	return n;
}

static void a_good_graph_has_no_issue(void **state)
{
	struct xp_graph graph = planned(&small);
	xp_auto_err err = { 0 };

	assert_int_equal(graph.n_issues, 0);
	assert_int_equal(xp_graph_first_issue(&graph, &err), 0);
	assert_int_equal(graph.plan->n_endpoints, 2);
	assert_int_equal(graph.plan->n_edges, 1);
	assert_string_equal(graph.plan->edges[0].name, "read");
	assert_true(graph.plan->follow_restarts);
	assert_int_equal(graph.linux_slots, 2);
	assert_int_equal(graph.cuda_filters, 0);
	assert_false(graph.edges[0].faulty);
	assert_string_equal(graph.endpoints[0].used_by[0], "read");
}

/* n endpoints e0.. of n different calls, and m edges that pair e0 with e1 under all policies, then again. */
static struct xp_graph_spec *spec_of(size_t n, size_t m)
{
	static const char *const calls[] = { "read", "write", "openat", "close",  "mmap",  "munmap", "futex", "ioctl",	 "brk",
					     "dup",  "pipe",  "poll",	"select", "ppoll", "clone",  "fork",  "pread64", "execve" };
	struct xp_graph_spec *spec = xp_arena_new_of(arena, struct xp_graph_spec);
	struct xp_named_text *endpoints = xp_arena_array(arena, struct xp_named_text, n);
	struct xp_graph_edge_spec *edges = xp_arena_array(arena, struct xp_graph_edge_spec, m);

	for (size_t i = 0; i < n; i++)
		endpoints[i] = (struct xp_named_text){ xp_arena_fmt(arena, "e%zu", i),
						       xp_arena_fmt(arena, "syscall:%s:entry", calls[i % XP_LEN(calls)]) };
	for (size_t i = 0; i < m; i++)
		edges[i] = (struct xp_graph_edge_spec){ xp_arena_fmt(arena, "edge%zu", i), xp_arena_fmt(arena, "e%zu", i % n),
							xp_arena_fmt(arena, "e%zu", (i + 1) % n), XP_POLICY_FIRST_AFTER };
	*spec = small;
	spec->endpoints = endpoints;
	spec->n_endpoints = n;
	spec->edges = edges;
	spec->n_edges = m;
	return spec;
}

static void counts_above_the_maximum_are_issues_and_the_rest_is_judged(void **state)
{
	struct xp_graph graph = planned(spec_of(17, 17));

	assert_int_equal(count_of(&graph, XP_GRAPH_EDGE_COUNT), 1);
	assert_int_equal(count_of(&graph, XP_GRAPH_ENDPOINT_COUNT), 1);
	assert_int_equal(graph.n_issues, 2);
	assert_int_equal(graph.plan->n_endpoints, XP_MAX_ENDPOINTS);
	assert_int_equal(graph.plan->n_edges, XP_MAX_EDGES);
	assert_int_equal(graph.n_endpoints, 17);
	assert_int_equal(graph.endpoints[16].index, -1);
	assert_false(graph.edges[8].faulty); /* judged, though there is no room for it */
	assert_true(graph.edges[15].faulty); /* its end found no room */
}

static void what_lies_beyond_the_64th_is_counted_only(void **state)
{
	struct xp_graph_spec *spec = spec_of(200, 200);
	struct xp_graph graph = planned(spec);

	assert_int_equal(graph.n_endpoints, XP_GRAPH_LOOKED_AT);
	assert_int_equal(graph.n_edges, XP_GRAPH_LOOKED_AT);
	assert_int_equal(count_of(&graph, XP_GRAPH_UNKNOWN_ENDPOINT), 0); /* edge63 names e64, which is there */
	assert_int_equal(count_of(&graph, XP_GRAPH_UNUSED), 0);
	assert_int_equal(graph.n_issues, 2);
}

static void no_endpoints_and_no_edges(void **state)
{
	struct xp_graph_spec spec = small;

	spec.n_endpoints = spec.n_edges = 0;
	struct xp_graph graph = planned(&spec);
	assert_int_equal(graph.n_issues, 2);
	assert_int_equal(graph.issues[0].rule, XP_GRAPH_EDGE_COUNT);
	assert_int_equal(graph.issues[1].rule, XP_GRAPH_ENDPOINT_COUNT);
	assert_string_equal(graph.issues[0].code, "SESSION_LIMIT_EXCEEDED");
	assert_null(graph.issues[0].name);
}

static void every_bound_is_told(void **state)
{
	static char long_name[300];
	struct xp_graph_spec spec = small;

	memset(long_name, 'x', sizeof(long_name) - 1);
	spec.name = long_name;
	spec.samples = (struct xp_opt_u64)XP_SOME(10000001);
	spec.duration_ms = (struct xp_opt_u64)XP_SOME(0);
	spec.timeout_ms = 3600001;
	spec.max_events = 0;
	spec.max_cost = (struct xp_opt_f64)XP_SOME(-0.1);
	struct xp_graph graph = planned(&spec);
	assert_int_equal(count_of(&graph, XP_GRAPH_BOUNDS), 6);
	assert_int_equal(graph.n_issues, 6);
}

/* A selector under two names is resolved once, and its fault holds under both. */
static void equal_selectors_are_one(void **state)
{
	struct xp_named_text endpoints[] = {
		{ "a", "syscall:read:entry" }, { "b", "syscall:read:entry" }, { "c", "rubbish" }, { "d", "rubbish" }
	};
	struct xp_graph_edge_spec edges[] = { { "one", "a", "b", XP_POLICY_FIRST_AFTER }, { "two", "c", "d", XP_POLICY_FIRST_AFTER } };
	struct xp_graph_spec spec = small;

	spec.endpoints = endpoints;
	spec.n_endpoints = 4;
	spec.edges = edges;
	spec.n_edges = 2;
	struct xp_graph graph = planned(&spec);
	assert_int_equal(graph.plan->n_endpoints, 1);
	assert_int_equal(graph.endpoints[0].index, graph.endpoints[1].index);
	assert_int_equal(count_of(&graph, XP_GRAPH_SELECTOR), 2);
	assert_string_equal(graph.issues[0].name, "c");
	assert_string_equal(graph.issues[1].name, "d");
	assert_false(graph.edges[0].faulty);
	assert_true(graph.edges[1].faulty);
}

/* Found by the fuzzer: offline there is nothing to resolve, and the edge is planned all the same. */
static void functions_need_no_target_to_be_planned(void **state)
{
	struct xp_named_text endpoints[] = { { "in", "uprobe:/srv/app:f:entry" }, { "out", "syscall:read:exit" } };
	struct xp_graph_edge_spec edges[] = { { "e", "in", "out", XP_POLICY_FIRST_AFTER } };
	struct xp_graph_spec spec = small;

	spec.endpoints = endpoints;
	spec.edges = edges;
	struct xp_graph graph = planned(&spec);
	assert_int_equal(graph.n_issues, 0);
	assert_int_equal(graph.plan->n_edges, 1);
}

static void an_edge_is_named_in_the_error(void **state)
{
	struct xp_graph_edge_spec edges[] = { { "wrong", "in", "out", XP_POLICY_STACK_NESTED } };
	struct xp_graph_spec spec = small;
	xp_auto_err err = { 0 };

	spec.edges = edges;
	struct xp_graph graph = planned(&spec);
	assert_int_equal(graph.n_issues, 1);
	assert_int_equal(graph.issues[0].rule, XP_GRAPH_POLICY);
	assert_int_equal(xp_graph_first_issue(&graph, &err), -XP_E_INVALID_CORRELATION_POLICY);
	assert_string_equal(json_string_value(json_object_get(err.details, "edge")), "wrong");
	assert_string_equal(json_string_value(json_object_get(err.details, "recommended_policy")), "exact");
}

static void codes_of_edges_have_their_rules(void **state)
{
	assert_int_equal(rule_of(XP_E_INVALID_CORRELATION_POLICY), XP_GRAPH_POLICY);
	assert_int_equal(rule_of(XP_E_CLOCK_ALIGNMENT_FAILED), XP_GRAPH_CLOCK);
	assert_int_equal(rule_of(XP_E_UNSUPPORTED_CUDA_VERSION), XP_GRAPH_CAPABILITY);
}

static struct xp_plan *cuda_plan(const char *const *selectors, size_t n)
{
	struct xp_plan *plan = plan_new();
	xp_auto_err err = { 0 };
	unsigned index;

	for (size_t i = 0; i < n; i++)
		assert_int_equal(xp_plan_endpoint(plan, selectors[i], "x", &index, &err), 0);
	return plan;
}

static void equal_filters_count_once(void **state)
{
	static const char *const different[] = { "cuda:kernel_start:name~^a$", "cuda:kernel_end:name~^a$", "cuda:kernel_start:name~^a",
						 "cuda:runtime_api:cudaLaunchKernel:entry", "syscall:read:entry" };
	/* Two spellings of one folded name; two patterns that the agent cannot compare and takes everything for. */
	static const char *const equal[] = { "cuda:runtime_api:cudaLaunchKernel:entry", "cuda:runtime_api:cudaLaunchKernel_ptsz:entry",
					     "cuda:kernel_start:name~a.*b", "cuda:kernel_start:name~c.*d" };

	assert_int_equal(xp_graph_cuda_filters(cuda_plan(different, XP_LEN(different))), 4);
	assert_int_equal(xp_graph_cuda_filters(cuda_plan(equal, XP_LEN(equal))), 2);
}

/* As resolution on a process without the agent leaves it. */
static void nvtx_among_others_without_an_agent(void **state)
{
	struct xp_named_text endpoints[] = { { "a", "cuda:nvtx_range_start:name~^step$" }, { "b", "cuda:kernel_start:name~^k$" } };
	struct xp_graph_edge_spec edges[] = { { "ab", "a", "b", XP_POLICY_FIRST_AFTER } };
	struct xp_graph_spec spec = small;
	struct xp_plan *plan = plan_new();
	xp_auto_err err = { 0 };

	spec.endpoints = endpoints;
	spec.edges = edges;
	struct xp_graph before = planned(&spec);
	assert_int_equal(count_of(&before, XP_GRAPH_MIXED_ACTIVATION), 0);
	xp_fail(&err, XP_E_CUPTI_AGENT_NOT_LOADED, "no agent");
	xp_plan_add_issue(plan, &err, "a");
	struct xp_graph graph = plan_into(plan, &spec);
	assert_int_equal(count_of(&graph, XP_GRAPH_MIXED_ACTIVATION), 1);
	assert_string_equal(graph.issues[0].code, "CUPTI_AGENT_NOT_LOADED");
	endpoints[1].text = "syscall:read:entry";
	struct xp_plan *alone = plan_new();
	xp_fail(&err, XP_E_CUPTI_AGENT_NOT_LOADED, "no agent");
	xp_plan_add_issue(alone, &err, "a");
	graph = plan_into(alone, &spec);
	assert_int_equal(count_of(&graph, XP_GRAPH_MIXED_ACTIVATION), 0);
}

static int read_text(const char *text, struct xp_graph_spec *ret_spec, enum xp_err_code *ret_code)
{
	char why[160];
	json_t *document = xp_json_parse(text, strlen(text), why, sizeof(why));
	xp_auto_err err = { 0 };

	assert_non_null(document);
	int rc = xp_graph_spec_read(document, arena, ret_spec, &err);
	*ret_code = err.code;
	json_decref(document);
	return rc;
}

#define HEAD "{\"schema_version\":\"3.0\",\"name\":null,\"target\":{\"pid\":1,\"process_start_time\":2},"
#define TAIL ",\"samples\":1,\"duration_ms\":null,\"timeout_ms\":3,\"max_events\":4}"

static void names_and_order_are_kept(void **state)
{
	struct xp_graph_spec spec;
	enum xp_err_code code;

	assert_int_equal(read_text(HEAD "\"endpoints\":{\"z\":\"1\",\"a.b-c_D\":\"2\",\"m\":\"3\"},"
					"\"edges\":[{\"name\":\"e\",\"start\":\"z\",\"end\":\"m\",\"match_policy\":\"nearest\"}]" TAIL,
				   &spec, &code),
			 0);
	assert_int_equal(spec.n_endpoints, 3);
	assert_string_equal(spec.endpoints[0].name, "z");
	assert_string_equal(spec.endpoints[1].name, "a.b-c_D");
	assert_string_equal(spec.endpoints[2].text, "3");
	assert_int_equal(spec.edges[0].match_policy, XP_POLICY_NEAREST);
	assert_false(spec.max_cost.set);
}

static void malformed_specs_are_refused(void **state)
{
	static const char *const texts[] = {
		HEAD "\"endpoints\":{\"\":\"1\"},\"edges\":[]" TAIL,
		HEAD "\"endpoints\":{\"a b\":\"1\"},\"edges\":[]" TAIL,
		HEAD "\"endpoints\":{\"a\":1},\"edges\":[]" TAIL,
		HEAD "\"endpoints\":{\"a\":null},\"edges\":[]" TAIL,
		HEAD "\"endpoints\":{\"a\":18446744073709551615},\"edges\":[]" TAIL,
		HEAD "\"endpoints\":{\"a\":\"x\\u0000y\"},\"edges\":[]" TAIL,
		HEAD "\"endpoints\":[],\"edges\":[]" TAIL,
		HEAD "\"endpoints\":{},\"edges\":{}" TAIL,
		HEAD "\"endpoints\":{},\"edges\":[{\"name\":\"e\",\"start\":\"z\",\"end\":\"m\"}]" TAIL,
		HEAD
		"\"endpoints\":{},\"edges\":[{\"name\":\"e\",\"start\":\"z\",\"end\":\"m\",\"match_policy\":\"nearest\",\"more\":1}]" TAIL,
		HEAD "\"endpoints\":{},\"edges\":[{\"name\":\"/\",\"start\":\"z\",\"end\":\"m\",\"match_policy\":\"nearest\"}]" TAIL,
		HEAD "\"endpoints\":{},\"edges\":[],\"max_groups\":1" TAIL,
		HEAD "\"edges\":[]" TAIL,
	};
	struct xp_graph_spec spec;
	enum xp_err_code code;

	for (size_t i = 0; i < XP_LEN(texts); i++) {
		assert_true(read_text(texts[i], &spec, &code) < 0);
		assert_int_equal(code, XP_E_INVALID_EVENT_SELECTOR);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_graph_has_no_issue),
		cmocka_unit_test(counts_above_the_maximum_are_issues_and_the_rest_is_judged),
		cmocka_unit_test(what_lies_beyond_the_64th_is_counted_only),
		cmocka_unit_test(no_endpoints_and_no_edges),
		cmocka_unit_test(every_bound_is_told),
		cmocka_unit_test(equal_selectors_are_one),
		cmocka_unit_test(functions_need_no_target_to_be_planned),
		cmocka_unit_test(an_edge_is_named_in_the_error),
		cmocka_unit_test(codes_of_edges_have_their_rules),
		cmocka_unit_test(equal_filters_count_once),
		cmocka_unit_test(nvtx_among_others_without_an_agent),
		cmocka_unit_test(names_and_order_are_kept),
		cmocka_unit_test(malformed_specs_are_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
