/* SPDX-License-Identifier: Apache-2.0 */
/* The html report: nothing that a target supplies becomes markup, no request leaves the page, flame trees keep every sample and their
 * bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "output/command_line.h"
#include "output/flame.h"
#include "output/html.h"
#include "result/graph.h"
#include "result/triage.h"

#define EVIL "</script><script>alert(1)</script>\"'&\x01\xff\xe2\x80\xa8<!--"
enum { SAMPLES = 1009 };

static int collect(void *arg, const char *bytes, size_t len, struct xp_err *reterr)
{
	xp_text_add(arg, bytes, len);
	return 0;
}

static void write_page(const struct xp_record *record, const void *value, struct xp_text *ret_text)
{
	const struct xp_output_input input = { .session_id = "xp_test_1_00000000", .record = record, .value = value };
	const struct xp_sink sink = { .write = collect, .arg = ret_text };
	xp_auto_err err = { 0 };

	assert_int_equal(xp_output_find("html")->write(&input, &sink, &err), 0);
}

static unsigned times(const char *text, const char *what)
{
	unsigned n = 0;

	for (const char *p = strstr(text, what); p; p = strstr(p + 1, what))
		n++;
	return n;
}

/* The data of a page, read back; owned by the caller. */
static json_t *data_of(const char *page)
{
	static const char opening[] = "<script type=\"application/json\" id=\"data\">";
	const char *begin = strstr(page, opening);
	char why[160];

	assert_non_null(begin);
	begin += strlen(opening);
	const char *end = strstr(begin, "</script>");
	assert_non_null(end);
	assert_null(memchr(begin, '<', (size_t)(end - begin)));
	json_t *data = xp_json_parse(begin, (size_t)(end - begin), why, sizeof(why));
	if (!data)
		fail_msg("%s", why);
	return data;
}

static json_t *member(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (!value)
		fail_msg("no member %s", key);
	return value;
}

static void check_shell(const char *page)
{
	assert_int_equal(times(page, "<script"), 2);
	assert_int_equal(times(page, "</script>"), 2);
	assert_int_equal(times(page, "<style>"), 1);
	assert_null(strstr(page, "alert(1)</script>"));
	assert_null(strstr(page, "http://"));
	assert_null(strstr(page, "https://"));
	assert_null(strstr(page, "innerHTML"));
	assert_non_null(strstr(page, "content=\"default-src 'none'; style-src 'sha256-"));
	assert_null(strstr(xp_html_policy, "unsafe"));
	const char *end = page + strlen(page);
	for (const char *p = page; p < end; p += xp_utf8_len(p, end))
		if (!xp_utf8_len(p, end))
			fail_msg("not UTF-8 at %.20s", p);
}

static void names_of_a_target_stay_data(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_frame frame = { .symbol = EVIL, .kind = XP_FRAME_NATIVE, .module_path = "/opt/" EVIL };
	const struct xp_frame *frames[] = { &frame };
	struct xp_stack_group group = { .frames = frames, .n_frames = 1, .samples = SAMPLES, .thread_name_pattern = EVIL };
	struct xp_cpu_samples samples = { .inventory = { .stack_groups = &group, .n_stack_groups = 1 } };
	struct xp_thread_row row = { .tid = 71, .name = EVIL, .name_pattern = EVIL, .on_cpu_ns = 1000 };
	struct xp_thread_time threads = { .count = 1, .threads = &row, .n_threads = 1 };
	struct xp_warnings warnings = { .arena = arena };
	struct xp_triage_parts parts = {
		.session_id = "xp_test_1_00000000",
		.name = EVIL,
		.warnings = &warnings,
		.window = { .opened = true, .end_ns = 2000, .end = XP_END_DURATION },
		.input = { .target = { .pid = 71 }, .window_ns = 2000, .cpu = &samples, .threads = &threads },
	};
	xp_auto_builder page = { 0 };

	for (int id = 0; id < XP_SOURCE_COUNT; id++)
		parts.input.sources[id] = xp_source_unavailable(id, XP_REASON_FAILED, EVIL);
	parts.input.sources[XP_SOURCE_THREADS] = xp_source_available(XP_SOURCE_THREADS);
	parts.input.sources[XP_SOURCE_CPU_SAMPLES] = xp_source_available(XP_SOURCE_CPU_SAMPLES);
	const struct xp_triage_input *input = &parts.input;
	const struct xp_html_triage value = { .triage = xp_triage_assemble(&parts, arena), .inputs = &input, .n_inputs = 1 };
	write_page(&xp_triage_record, &value, &page);
	check_shell(page.data);
	json_t *data = data_of(page.data);
	const json_t *process = json_array_get(member(data, "processes"), 0), *flame = member(process, "cpu");
	const char *name = json_string_value(json_array_get(json_array_get(member(flame, "names"), 1), 0));

	assert_non_null(strstr(name, "</script><script>alert(1)</script>\"'&\x01"));
	assert_int_equal(json_integer_value(member(flame, "total")), SAMPLES);
	assert_string_equal(json_string_value(member(data, "kind")), "triage");
	assert_null(json_object_get(process, "blocked"));
	json_decref(data);
}

static void a_graph_has_a_page(void **state)
{
	struct xp_latency latency = { .min = 2, .mean = 3, .p50 = 3, .p90 = 5, .p95 = 5, .p99 = 7, .max = 11 };
	struct xp_graph_edge_result edge = { .name = "a", .start = "b", .end = "c", .latency_ns = &latency, .start_selector = EVIL };
	struct xp_graph_result graph = { .session_id = "xp_test_1_00000000", .name = EVIL, .edges = &edge, .n_edges = 1 };
	xp_auto_builder page = { 0 };

	write_page(&xp_graph_result_record, &graph, &page);
	check_shell(page.data);
	json_t *data = data_of(page.data);
	assert_string_equal(json_string_value(member(data, "kind")), "graph");
	assert_int_equal(json_array_size(member(data, "selectors")), 1);
	json_decref(data);
}

static void text_is_escaped(void **state)
{
	xp_auto_builder text = { 0 };

	xp_html_text(&text, "<b a=\"x\" b='y'>&\t\n\x1b\x7f\xff\xc3(\xc3\xa4");
	assert_string_equal(text.data,
			    "&lt;b a=&quot;x&quot; b=&#39;y&#39;&gt;&amp;\t\n\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd(\xc3\xa4");
}

static void words_are_safe_to_paste(void **state)
{
	static const char *const rows[][2] = {
		{ "/tmp/a-b_c.json", "/tmp/a-b_c.json" },
		{ "", "''" },
		{ "a b", "'a b'" },
		{ "it's", "'it'\\''s'" },
		{ "~root", "'~root'" },
		{ "$(reboot)", "'$(reboot)'" },
		{ "a\nb'\\", "$'a\\012b\\'\\\\'" },
	};

	for (size_t i = 0; i < XP_LEN(rows); i++) {
		xp_auto_builder text = { 0 };

		xp_shell_word(&text, rows[i][0]);
		assert_string_equal(text.data, rows[i][1]);
	}
}

/* Depth 0 sums to the total, no callee outweighs its caller, siblings fall. */
static void check_tree(const struct xp_flame *flame, uint64_t total)
{
	uint64_t open[600] = { 0 }, used[600] = { 0 }, top = 0;

	assert_int_equal(flame->total, total);
	for (size_t i = 0; i < flame->n_nodes; i++) {
		const struct xp_flame_node *node = &flame->nodes[i];

		assert_true(node->name < flame->n_names);
		assert_true(i ? node->depth <= flame->nodes[i - 1].depth + 1 : node->depth == 0);
		if (node->depth) {
			used[node->depth - 1] += node->value;
			assert_true(used[node->depth - 1] <= open[node->depth - 1]);
		} else {
			top += node->value;
		}
		open[node->depth] = node->value;
		used[node->depth] = 0;
	}
	assert_true(top <= total);
}

static void flames_merge_what_is_equal(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	const struct xp_frame main_frame = { .symbol = "main" }, twin = { .symbol = "main", .address = 7 }, leaf = { .symbol = "leaf" };
	const struct xp_frame *deep[] = { &leaf, &main_frame }, *shallow[] = { &twin };
	const struct xp_flame_stack stacks[] = {
		{ .threads = "t", .frames = deep, .n_frames = 2, .value = 13, .wait = "futex" },
		{ .threads = "t", .frames = shallow, .n_frames = 1, .value = 17 },
		{ .threads = "none", .value = 0 },
	};
	struct xp_flame *flame = xp_flame_build(stacks, XP_LEN(stacks), 100, arena);

	check_tree(flame, 30);
	assert_int_equal(flame->n_nodes, 4);
	assert_int_equal(flame->left_out, 0);
	assert_int_equal(flame->nodes[1].value, 30);
	assert_string_equal(flame->names[flame->nodes[1].name].text, "main");
	assert_string_equal(flame->names[flame->nodes[3].name].text, "futex");
	assert_int_equal(flame->names[flame->nodes[3].name].kind, XP_FLAME_WAIT);
}

static void flames_keep_their_bound(void **state)
{
	enum { STACKS = 211, MOST = 97 };
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_frame frames[STACKS];
	const struct xp_frame *at[STACKS];
	struct xp_flame_stack stacks[STACKS];
	uint64_t total = 0;

	for (size_t i = 0; i < STACKS; i++) {
		frames[i] = (struct xp_frame){ .symbol = xp_arena_fmt(arena, "f%zu", i) };
		at[i] = &frames[i];
		stacks[i] = (struct xp_flame_stack){ .threads = "t", .frames = &at[i], .n_frames = 1, .value = i + 1 };
		total += i + 1;
	}
	struct xp_flame *flame = xp_flame_build(stacks, STACKS, MOST, arena);
	check_tree(flame, total);
	assert_true(flame->n_nodes <= MOST && flame->n_nodes >= MOST - 1);
	assert_int_equal(flame->n_nodes + flame->left_out, STACKS + 1);
	assert_string_equal(flame->names[flame->nodes[1].name].text, "f210");
	flame = xp_flame_build(stacks, 0, MOST, arena);
	assert_int_equal(flame->n_nodes, 0);
	for (size_t i = 0; i < STACKS; i++)
		stacks[i].value = 1;
	flame = xp_flame_build(stacks, STACKS, MOST, arena);
	check_tree(flame, STACKS);
	assert_int_equal(flame->n_nodes, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_a_target_stay_data),
		cmocka_unit_test(a_graph_has_a_page),
		cmocka_unit_test(text_is_escaped),
		cmocka_unit_test(words_are_safe_to_paste),
		cmocka_unit_test(flames_merge_what_is_equal),
		cmocka_unit_test(flames_keep_their_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
