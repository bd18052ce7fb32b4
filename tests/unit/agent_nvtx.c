/* SPDX-License-Identifier: Apache-2.0 */
/* NVTX ranges of a program that already runs: every copy of the header hooked, every range counted, every slot as before afterwards. */
#include "agent_nvtx.h"

static void used_and_unused_copies(void **state)
{
	struct app app;
	uint64_t before[6];

	start_nvtx(&app);
	for (int i = 0; i < 5; i++)
		assert_int_equal(load_plugin(&app, i % 2 ? 13 : 12), i);
	tell(&app, "push app 3 step");
	tell(&app, "push 0 3 step");
	tell(&app, "mark 1 1");
	for (int i = 0; i < 5; i++)
		before[i] = tell(&app, "hash %d", i);
	before[5] = tell(&app, "hash app");
	assert_int_equal(tell(&app, "state 0"), 2);
	assert_int_equal(tell(&app, "state 3"), 0);
	for (int round = 0; round < 3; round++) {
		app.request.n_filters = 0;
		want_ranges(&app, XP_AGENT_MATCH_EXACT, "step");
		arm_ranges(&app);
		assert_int_equal(tell(&app, "push app 1009 step"), 0);
		for (int i = 0; i < 5; i++) {
			assert_int_equal(tell(&app, "push %d 211 step", i), 0);
			tell(&app, "push %d 7 steps", i);
			tell(&app, "mark %d 5", i);
		}
		stop(&app);
		assert_ranges(&app, 1009 + 5 * 211);
		assert_int_equal(app.counters.callback_records, app.n);
		assert_int_equal(nvtx_of(&app).copies, 6);
		assert_int_equal(nvtx_of(&app).fresh, 3);
		assert_int_equal(nvtx_of(&app).foreign + nvtx_of(&app).refused + nvtx_of(&app).missed + nvtx_of(&app).unplaced, 0);
		for (int i = 0; i < 5; i++)
			assert_int_equal(tell(&app, "hash %d", i), before[i]);
		assert_int_equal(tell(&app, "hash app"), before[5]);
	}
	tell(&app, "push 4 31 step");
	assert_int_equal(tell(&app, "state 4"), 2);
	drain(&app);
	assert_ranges(&app, 1009 + 5 * 211);
	end_app(&app);
}

static void patterns(void **state)
{
	static const struct {
		uint32_t match;
		const char *text;
		unsigned n;
	} cases[] = {
		{ XP_AGENT_MATCH_EXACT, "step", 31 },	   { XP_AGENT_MATCH_PREFIX, "step", 31 + 17 },
		{ XP_AGENT_MATCH_SUFFIX, "step", 31 + 7 }, { XP_AGENT_MATCH_CONTAINS, "te", 31 + 17 + 7 },
		{ XP_AGENT_MATCH_EXACT, "nothing", 0 },
	};
	struct app app;

	start_nvtx(&app);
	for (size_t i = 0; i < XP_LEN(cases); i++) {
		app.request.n_filters = 0;
		want_ranges(&app, cases[i].match, cases[i].text);
		arm_ranges(&app);
		tell(&app, "push app 31 step");
		tell(&app, "push app 17 step_2");
		tell(&app, "push app 7 one_step");
		stop(&app);
		assert_ranges(&app, cases[i].n);
	}
	end_app(&app);
}

/* Which endpoints a record is for is told by bits of the filters, start and end apart. */
static void filters_of_a_record(void **state)
{
	struct app app;

	start_nvtx(&app);
	want(&app, XP_CAPTURE_NVTX_START, XP_AGENT_MATCH_PREFIX, "st");
	want(&app, XP_CAPTURE_NVTX_START, XP_AGENT_MATCH_EXACT, "step");
	want(&app, XP_CAPTURE_NVTX_END, XP_AGENT_MATCH_EXACT, "stop");
	arm_ranges(&app);
	tell(&app, "push app 3 step");
	tell(&app, "push app 5 stop");
	stop(&app);
	assert_int_equal(app.of_kind[XP_CAPTURE_NVTX_START], 8);
	assert_int_equal(app.of_kind[XP_CAPTURE_NVTX_END], 5);
	for (unsigned i = 0; i < app.n; i++)
		assert_int_equal(app.records[i].src_memory, app.records[i].event.kind == XP_CAPTURE_NVTX_END ? 4 : i < 3 ? 3 : 1);
	end_app(&app);
}

static void nesting(void **state)
{
	struct app app;

	start_nvtx(&app);
	want_ranges(&app, XP_AGENT_MATCH_EXACT, "a");
	arm_ranges(&app);
	tell(&app, "nest 5 101 a");
	stop(&app);
	assert_ranges(&app, 5 * 101);
	for (unsigned i = 0; i < app.n; i++) {
		const struct xp_capture_event *event = &app.records[i].event;
		unsigned level = i % 10 < 5 ? i % 10 : 9 - i % 10;

		assert_int_equal(range_id(&app.records[i]), (uint64_t)app.pid << 32 | level);
		assert_int_equal(event->kind, i % 10 < 5 ? XP_CAPTURE_NVTX_START : XP_CAPTURE_NVTX_END);
		assert_int_equal(event->grid[2], 1);
		assert_int_equal(event->tid, app.pid);
		assert_int_equal(event->block[0], app.pid);
		assert_int_equal(event->block[1], 1);
		assert_true(!i || event->t_ns >= app.records[i - 1].event.t_ns);
	}
	end_app(&app);
}

/* Deeper than there is room for: those ranges are counted, and the others not confused. */
static void too_deep(void **state)
{
	struct app app;

	start_nvtx(&app);
	want_ranges(&app, XP_AGENT_MATCH_EXACT, "a");
	arm_ranges(&app);
	tell(&app, "nest 71 11 a");
	tell(&app, "push app 13 a");
	stop(&app);
	assert_ranges(&app, 64 * 11 + 13);
	assert_int_equal(nvtx_of(&app).unplaced, 7 * 11);
	end_app(&app);
}

static void ranges_across_the_borders(void **state)
{
	struct app app;

	start_nvtx(&app);
	tell(&app, "open 3 a");
	want_ranges(&app, XP_AGENT_MATCH_EXACT, "a");
	arm_ranges(&app);
	tell(&app, "close 3");
	tell(&app, "open 5 a");
	stop(&app);
	assert_int_equal(app.of_kind[XP_CAPTURE_NVTX_START], 5);
	assert_int_equal(app.of_kind[XP_CAPTURE_NVTX_END], 0);
	/* The five are still open: none of them belongs to this capture. */
	arm_ranges(&app);
	tell(&app, "close 5");
	tell(&app, "push app 7 a");
	stop(&app);
	assert_ranges(&app, 7);
	end_app(&app);
}

static void process_ranges(void **state)
{
	struct app app;
	uint64_t id;

	start_nvtx(&app);
	want_ranges(&app, XP_AGENT_MATCH_EXACT, "p");
	assert_int_equal(tell(&app, "start p"), 0);
	arm_ranges(&app);
	assert_int_equal(tell(&app, "process 997 p"), 997);
	/* Nobody wants it: the program gets what it gets without a tool. */
	assert_int_equal(tell(&app, "start q"), 0);
	id = tell(&app, "start p");
	tell(&app, "stop 12345");
	stop(&app);
	assert_int_equal(app.of_kind[XP_CAPTURE_NVTX_START], 998);
	assert_int_equal(app.of_kind[XP_CAPTURE_NVTX_END], 997);
	for (unsigned i = 0; i < app.n; i++) {
		const struct xp_capture_event *event = &app.records[i].event;
		bool end = event->kind == XP_CAPTURE_NVTX_END;

		assert_int_equal(event->grid[2], 2);
		assert_int_equal(event->block[0], app.pid);
		assert_true((event->tid == (uint32_t)app.pid) == !end);
		if (i < 997)
			assert_int_equal(range_id(&app.records[i]), range_id(&app.records[i + 997]));
	}
	/* Its beginning was in an earlier capture. */
	arm_ranges(&app);
	tell(&app, "stop %llu", (unsigned long long)id);
	stop(&app);
	assert_int_equal(app.n, 0);
	end_app(&app);
}

static void names(void **state)
{
	char longest[201];
	struct app app;

	start_nvtx(&app);
	want_ranges(&app, XP_AGENT_MATCH_PREFIX, "n");
	arm_ranges(&app);
	memset(longest, 'n', 200);
	longest[200] = '\0';
	tell(&app, "push app 3 %s", longest);
	longest[127] = '\0';
	tell(&app, "push app 5 %s", longest);
	longest[126] = '\0';
	tell(&app, "wide 7 n@uro");
	tell(&app, "attributes 11 name");
	stop(&app);
	longest[126] = 'n';
	assert_ranges(&app, 3 + 5 + 7 + 11);
	assert_int_equal(named(&app, XP_CAPTURE_NVTX_START, longest), 3 + 5);
	assert_int_equal(named(&app, XP_CAPTURE_NVTX_END, "n\xe2\x82\xacuro"), 7);
	assert_int_equal(named(&app, XP_CAPTURE_NVTX_END, "name"), 11);
	for (unsigned i = 0; i < app.n; i++)
		assert_int_equal(app.records[i].event.block[1], i >= 6);
	end_app(&app);
}

static void domains_and_registered_strings(void **state)
{
	char text[XP_AGENT_NVTX_TEXT];
	struct app app;

	start_nvtx(&app);
	/* Made without a tool: no handles, so the domain is the default one and the string has no text. */
	assert_int_equal(tell(&app, "domain early"), 0);
	tell(&app, "register 0 a_string");
	want_ranges(&app, XP_AGENT_MATCH_PREFIX, "a");
	arm_ranges(&app);
	tell(&app, "in 0 7 a_text");
	tell(&app, "by 0 5");
	assert_int_equal(tell(&app, "domain late"), 1);
	tell(&app, "register 1 a_late_string");
	tell(&app, "in 1 11 a_text");
	tell(&app, "by 1 13");
	stop(&app);
	assert_ranges(&app, 7 + 11 + 13);
	assert_int_equal(nvtx_of(&app).unnamed, 5);
	assert_int_equal(named(&app, XP_CAPTURE_NVTX_START, "a_late_string"), 13);
	for (unsigned i = 0; i < app.n; i++) {
		assert_int_equal(!app.records[i].graph, i < 14);
		if (i >= 14) {
			name_of(&app, app.records[i].graph, text);
			assert_string_equal(text, "late");
		}
	}
	/* What was made in one capture is known in the next. */
	arm_ranges(&app);
	tell(&app, "by 1 17");
	stop(&app);
	assert_ranges(&app, 17);
	assert_int_equal(named(&app, XP_CAPTURE_NVTX_END, "a_late_string"), 17);
	end_app(&app);
}

static void domains_nest_by_themselves(void **state)
{
	struct app app;
	uint64_t open[4] = { 0 };

	start_nvtx(&app);
	want_ranges(&app, XP_AGENT_MATCH_PREFIX, "o");
	arm_ranges(&app);
	tell(&app, "domain x");
	tell(&app, "domain y");
	tell(&app, "interleave 0 1 103");
	stop(&app);
	assert_ranges(&app, 3 * 103);
	assert_int_equal(named(&app, XP_CAPTURE_NVTX_END, "other"), 103);
	/* No id begins twice without an end between. */
	for (unsigned i = 0; i < app.n; i++) {
		uint64_t id = range_id(&app.records[i]);
		unsigned k = 0;

		while (k < 3 && open[k] != id)
			k++;
		if (app.records[i].event.kind == XP_CAPTURE_NVTX_START) {
			assert_int_equal(k, 3);
			for (k = 0; open[k];)
				k++;
			open[k] = id;
		} else {
			assert_true(k < 3);
			open[k] = 0;
		}
	}
	end_app(&app);
}

static void another_tools_copy(void **state)
{
	struct app app;
	uint64_t before;

	start_nvtx(&app);
	load_plugin(&app, 12);
	load_plugin(&app, 13);
	tell(&app, "take 1");
	before = tell(&app, "hash 1");
	want_ranges(&app, XP_AGENT_MATCH_EXACT, "step");
	arm_ranges(&app);
	tell(&app, "push 0 101 step");
	tell(&app, "push 1 103 step");
	assert_int_equal(tell(&app, "hash 1"), before);
	stop(&app);
	assert_ranges(&app, 101);
	assert_int_equal(tell(&app, "taken 1"), 103);
	assert_int_equal(nvtx_of(&app).foreign, 1);
	assert_int_equal(nvtx_of(&app).copies, 2);
	assert_int_equal(tell(&app, "hash 1"), before);
	end_app(&app);
}

static void plugin_loaded_while_armed(void **state)
{
	struct app app;
	unsigned index;
	uint64_t loads;

	start_nvtx(&app);
	want_ranges(&app, XP_AGENT_MATCH_EXACT, "step");
	arm_ranges(&app);
	tell(&app, "push app 31 step");
	loads = nvtx_of(&app).loads;
	index = load_plugin(&app, 13);
	for (unsigned i = 0; i < 1000 && nvtx_of(&app).loads == loads; i++) {
		usleep(1000);
		drain(&app);
	}
	assert_int_equal(nvtx_of(&app).loads, loads + 1);
	look_for_copies(&app);
	for (unsigned i = 0; i < 1000 && nvtx_of(&app).copies < 2; i++) {
		usleep(1000);
		drain(&app);
	}
	tell(&app, "push %u 37 step", index);
	stop(&app);
	assert_ranges(&app, 31 + 37);
	assert_int_equal(nvtx_of(&app).missed, 0);
	end_app(&app);
}

/* Fault: a library that had gone when a capture began, and came back to its place, was never hooked again. */
static void a_plugin_that_comes_back(void **state)
{
	struct app app;

	start_nvtx(&app);
	want_ranges(&app, XP_AGENT_MATCH_EXACT, "step");
	for (unsigned i = 0; i < 3; i++) {
		unsigned index = (unsigned)tell(&app, "load " NVTX "plugin13.so");

		arm_ranges(&app);
		tell(&app, "push %u 31 step", index);
		/* Hooked, it goes in the middle of the first capture. */
		if (!i)
			assert_int_equal(tell(&app, "unload %u", index), 0);
		stop(&app);
		assert_ranges(&app, 31);
		if (i)
			assert_int_equal(tell(&app, "unload %u", index), 0);
		arm_ranges(&app);
		tell(&app, "push app 7 step");
		stop(&app);
		assert_ranges(&app, 7);
	}
	end_app(&app);
}

static void threads_and_children(void **state)
{
	struct app app;

	start_nvtx(&app);
	want_ranges(&app, XP_AGENT_MATCH_EXACT, "step");
	app.request.capacity = 1 << 17;
	arm_ranges(&app);
	tell(&app, "threads 8 1009 step");
	drain(&app);
	tell(&app, "fresh 101 7 step");
	assert_int_equal(tell(&app, "fork 50 step"), 0);
	stop(&app);
	assert_ranges(&app, 8 * 1009 + 101 * 7);
	assert_int_equal(nvtx_of(&app).unplaced, 0);
	assert_int_equal(app.counters.callback_dropped, 0);
	end_app(&app);
}

/* Each capture ends in the middle of ranges of four threads; the slots are as before each time, and the program goes on. */
static void on_and_off_under_load(void **state)
{
	unsigned rounds = getenv("XP_NVTX_CAPTURES") ? (unsigned)atoi(getenv("XP_NVTX_CAPTURES")) : 60;
	uint64_t app_hash, plugin_hash, seen = 0;
	struct app app;

	start_nvtx(&app);
	load_plugin(&app, 13);
	tell(&app, "push app 1 step");
	tell(&app, "push 0 1 step");
	app_hash = tell(&app, "hash app");
	plugin_hash = tell(&app, "hash 0");
	tell(&app, "loop 4 step");
	for (unsigned i = 0; i < rounds; i++) {
		app.request.n_filters = 0;
		app.request.capacity = 1 << 12;
		want_ranges(&app, XP_AGENT_MATCH_EXACT, "step");
		arm_ranges(&app);
		usleep(500);
		xp_agent_link_window(app.link, 1, now_ns());
		xp_agent_link_send(app.link, XP_AGENT_STOP, NULL);
		assert_true(wait_answer(&app, 10000));
		drain(&app);
		app.counters = xp_agent_link_counters(app.link);
		assert_int_equal(app.n, app.counters.callback_records);
		seen += app.n;
		assert_int_equal(tell(&app, "hash app"), app_hash);
		assert_int_equal(tell(&app, "hash 0"), plugin_hash);
	}
	assert_true(seen > rounds);
	assert_true(tell(&app, "end") > rounds);
	end_app(&app);
}

/* One copy is hooked and unhooked without a pause while four threads run through it. XP_NVTX_TOGGLES=1000000 for the full run. */
static void a_copy_toggled_under_load(void **state)
{
	const char *times = getenv("XP_NVTX_TOGGLES") ? getenv("XP_NVTX_TOGGLES") : "100000";
	struct app app;
	uint64_t before;

	need_headers();
	spawn_program(&app, NVTX "app", NULL);
	tell(&app, "push app 1 step");
	before = tell(&app, "hash app");
	tell(&app, "loop 4 step");
	assert_true(tell(&app, "toggle " NVTX "toggle.so %s", times) > 1000);
	assert_int_equal(tell(&app, "hash app"), before);
	assert_true(tell(&app, "end") > 1000);
	fclose(app.to);
	fclose(app.from);
	assert_int_equal(waitpid(app.pid, NULL, 0), app.pid);
	free(app.records);
}

/* The tool dies: within its lease the slots are empty again. */
static void a_lost_lease_unhooks(void **state)
{
	struct app app;
	uint64_t before;

	start_nvtx(&app);
	tell(&app, "push app 1 step");
	before = tell(&app, "hash app");
	want_ranges(&app, XP_AGENT_MATCH_EXACT, "step");
	arm_ranges(&app);
	assert_int_not_equal(tell(&app, "hash app"), before);
	for (unsigned i = 0; i < 3000 && tell(&app, "hash app") != before; i++)
		usleep(1000);
	assert_int_equal(tell(&app, "hash app"), before);
	end_app(&app);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(used_and_unused_copies),
		cmocka_unit_test(patterns),
		cmocka_unit_test(filters_of_a_record),
		cmocka_unit_test(nesting),
		cmocka_unit_test(too_deep),
		cmocka_unit_test(ranges_across_the_borders),
		cmocka_unit_test(process_ranges),
		cmocka_unit_test(names),
		cmocka_unit_test(domains_and_registered_strings),
		cmocka_unit_test(domains_nest_by_themselves),
		cmocka_unit_test(another_tools_copy),
		cmocka_unit_test(plugin_loaded_while_armed),
		cmocka_unit_test(a_plugin_that_comes_back),
		cmocka_unit_test(threads_and_children),
		cmocka_unit_test(on_and_off_under_load),
		cmocka_unit_test(a_copy_toggled_under_load),
		cmocka_unit_test(a_lost_lease_unhooks),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
