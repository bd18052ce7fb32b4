/* SPDX-License-Identifier: Apache-2.0 */
/* A program started with NVTX_INJECTION64_PATH: the agent comes with the first NVTX call, and knows every domain and string from then on.
 */
#include "agent_nvtx.h"

static void start_with_agent(struct app *app)
{
	need_headers();
	spawn_program(app, NVTX "app", "NVTX_INJECTION64_PATH=" AGENT);
	assert_int_equal(tell(app, "domain early"), 0);
	connect_agent(app);
}

static void handles_made_while_idle(void **state)
{
	char text[XP_AGENT_NVTX_TEXT];
	struct app app;
	uint64_t before;

	start_with_agent(&app);
	tell(&app, "register 0 a_string");
	before = tell(&app, "hash app");
	/* Nobody measures: as without a tool. */
	assert_int_equal(tell(&app, "push app 3 a_text"), 0);
	assert_int_equal(tell(&app, "start a_text"), 0);
	for (int round = 0; round < 2; round++) {
		app.request.n_filters = 0;
		want_ranges(&app, XP_AGENT_MATCH_PREFIX, "a_");
		arm_ranges(&app);
		tell(&app, "by 0 101");
		tell(&app, "in 0 103 a_text");
		stop(&app);
		assert_ranges(&app, 101 + 103);
		assert_int_equal(nvtx_of(&app).unnamed + nvtx_of(&app).foreign + nvtx_of(&app).refused, 0);
		assert_int_equal(named(&app, XP_CAPTURE_NVTX_END, "a_string"), 101);
		for (unsigned i = 0; i < app.n; i++) {
			name_of(&app, app.records[i].graph, text);
			assert_string_equal(text, "early");
		}
		assert_int_equal(tell(&app, "hash app"), before);
	}
	end_app(&app);
}

/* A library's first call is its initialisation, which must lead to us at once. */
static void the_first_call_of_a_library(void **state)
{
	struct app app;
	unsigned unused, index;
	uint64_t before;

	start_with_agent(&app);
	unused = load_plugin(&app, 12);
	before = tell(&app, "hash %u", unused);
	want_ranges(&app, XP_AGENT_MATCH_EXACT, "step");
	arm_ranges(&app);
	index = load_plugin(&app, 13);
	tell(&app, "push %u 211 step", index);
	stop(&app);
	assert_ranges(&app, 211);
	assert_int_equal(tell(&app, "hash %u", unused), before);
	/* In use now, by the way of its own initialisation. */
	before = tell(&app, "hash %u", index);
	arm_ranges(&app);
	tell(&app, "push %u 223 step", index);
	stop(&app);
	assert_ranges(&app, 223);
	assert_int_equal(tell(&app, "hash %u", index), before);
	end_app(&app);
}

/* Unused copies will load the tool that the environment names: they are left to it. */
static void another_tool_in_the_environment(void **state)
{
	struct app app;
	unsigned unused;
	uint64_t before;

	need_headers();
	spawn_program(&app, NVTX "app", "NVTX_INJECTION64_PATH=/no/such/tool.so");
	assert_int_equal(tell(&app, "agent " AGENT), 0);
	connect_agent(&app);
	tell(&app, "push app 1 step");
	unused = load_plugin(&app, 12);
	before = tell(&app, "hash %u", unused);
	want_ranges(&app, XP_AGENT_MATCH_EXACT, "step");
	arm_ranges(&app);
	assert_int_equal(tell(&app, "hash %u", unused), before);
	tell(&app, "push app 31 step");
	stop(&app);
	assert_ranges(&app, 31);
	assert_int_equal(nvtx_of(&app).foreign, 1);
	end_app(&app);
}

static void a_forked_child_has_no_tool(void **state)
{
	struct app app;

	start_with_agent(&app);
	want_ranges(&app, XP_AGENT_MATCH_EXACT, "step");
	arm_ranges(&app);
	assert_int_equal(tell(&app, "fork 31 step"), 0);
	tell(&app, "push app 37 step");
	stop(&app);
	assert_ranges(&app, 37);
	end_app(&app);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handles_made_while_idle),
		cmocka_unit_test(the_first_call_of_a_library),
		cmocka_unit_test(another_tool_in_the_environment),
		cmocka_unit_test(a_forked_child_has_no_tool),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
