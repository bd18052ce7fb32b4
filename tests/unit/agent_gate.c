/* SPDX-License-Identifier: Apache-2.0 */
/* The real agent on a fake CUPTI before 13.0 U1, which ends the program where the real one would deadlock or crash (tests/fake/gate.c). */
#include "agent_app.h"

enum { AGE_MS = 1000 };

/* Returns once the program's first thread, which obeys commands, sleeps inside the call that it was told to make. */
static void wait_inside(const struct app *app)
{
	enum { CLOCK_NANOSLEEP = 230 };
	int number = -1;

	for (unsigned i = 0; i < 10000 && number != CLOCK_NANOSLEEP; i++) {
		char path[64];
		FILE *file;

		usleep(1000);
		snprintf(path, sizeof(path), "/proc/%d/syscall", app->pid);
		file = fopen(path, "r");
		if (!file || fscanf(file, "%d", &number) != 1)
			number = -1;
		if (file)
			fclose(file);
	}
	assert_int_equal(number, CLOCK_NANOSLEEP);
}

/* A tool that does nothing but live. */
static void live(struct app *app, unsigned ms)
{
	for (unsigned i = 0; i < ms; i += 10) {
		drain(app);
		usleep(10000);
	}
}

static void check_clean(const struct app *app)
{
	const struct xp_agent_counters *c = &app->counters;

	check_books(app);
	assert_int_equal(c->left_on, 0);
	assert_true(c->gate_ns > 0);
	assert_int_equal(c->duplicate_ids, 0);
	assert_int_equal(c->invalid_times, 0);
	assert_int_equal(c->in_flight, 0);
	assert_int_equal(app->of_kind[XP_CAPTURE_KERNEL_START], app->of_kind[XP_CAPTURE_KERNEL_END]);
	/* Calls under way when the callbacks went on, at most one a thread; a graph has five kernels. */
	assert_true(c->launch_unknown <= 4 + 5);
}

/* One thread replays graphs, one loads modules, two launch; each version that has a number of its own, side by side. */
static void every_old_version_stops_behind_the_gate(void **state)
{
	static const unsigned versions[] = { 18, 19, 20, 21, 22, 23, 24, 26 };
	enum { N = sizeof(versions) / sizeof(versions[0]) };
	static struct app apps[N];

	for (unsigned i = 0; i < N; i++) {
		start_version(&apps[i], versions[i]);
		tell(&apps[i], "mixed 4 200");
		want_kernels(&apps[i]);
		arm(&apps[i]);
		for (unsigned k = 0; k < i; k++)
			drain(&apps[k]);
	}
	for (unsigned ms = 0; ms < AGE_MS; ms += 10)
		for (unsigned i = 0; i < N; i++)
			live(&apps[i], i ? 0 : 10), drain(&apps[i]);
	for (unsigned i = 0; i < N; i++) {
		stop(&apps[i]);
		for (unsigned k = i; k < N; k++)
			drain(&apps[k]);
		check_clean(&apps[i]);
		assert_int_equal(xp_agent_link_identity(apps[i].link).cupti_version, versions[i]);
		assert_true(apps[i].of_kind[XP_CAPTURE_KERNEL_START] > 0);
		assert_int_equal(tell(&apps[i], "get kernel_on"), 0);
		assert_true(tell(&apps[i], "end") > apps[i].counters.api_launches + apps[i].counters.graph_launches);
	}
	for (unsigned i = 0; i < N; i++)
		end_app(&apps[i]);
}

static void safe_versions_have_no_gate(void **state)
{
	static const unsigned versions[] = { 130001, 130101, 130202, 130301 };

	for (unsigned i = 0; i < 4; i++) {
		struct app app;

		start_version(&app, versions[i]);
		want_kernels(&app);
		arm(&app);
		tell(&app, "launch 2 101 k 10");
		stop(&app);
		assert_int_equal(app.of_kind[XP_CAPTURE_KERNEL_START], 202);
		assert_int_equal(app.counters.gate_ns, 0);
		assert_int_equal(app.counters.callbacks, 2 * 202);
		end_app(&app);
	}
}

/* A call that began before the arm is not seen by the gate: no switch-off before the gate has stood for a second. */
static void a_short_capture_waits_for_its_gate(void **state)
{
	struct app app;
	uint64_t from_ns;

	start_version(&app, 26);
	want_kernels(&app);
	begin(&app, "full 600");
	wait_inside(&app);
	from_ns = now_ns();
	arm(&app);
	stop(&app);
	assert_true(now_ns() - from_ns > AGE_MS * 1000000ull);
	answer(&app);
	assert_int_equal(app.counters.left_on, 0);
	assert_int_equal(tell(&app, "get kernel_on"), 0);
	end_app(&app);
}

static void launches_are_exact(void **state)
{
	struct app app;

	start_version(&app, 24);
	want_kernels(&app);
	want(&app, XP_CAPTURE_API_ENTRY, XP_AGENT_MATCH_LAUNCH, NULL);
	app.request.filters[2].domain = 2;
	for (unsigned i = 0; i < 3; i++) {
		arm(&app);
		tell(&app, "launch 8 1009 k 700");
		tell(&app, "graph 31 7");
		stop(&app);
		check_clean(&app);
		assert_int_equal(app.of_kind[XP_CAPTURE_KERNEL_START], 8 * 1009 + 31 * 7);
		assert_int_equal(app.of_kind[XP_CAPTURE_API_ENTRY], 8 * 1009 + 7);
		assert_int_equal(app.counters.api_launches, 8 * 1009);
		assert_int_equal(app.counters.graph_launches, 7);
	}
	assert_int_equal(tell(&app, "get freed_early"), 0);
	end_app(&app);
}

/* What the stop holds up is told: CUPTI's switch-off waits for the GPU's queue. */
static void the_time_of_the_hold_is_told(void **state)
{
	struct app app;

	start_version(&app, 26);
	tell(&app, "set disable_ms 300");
	tell(&app, "loop 3 100");
	want(&app, XP_CAPTURE_KERNEL_START, XP_AGENT_MATCH_ANY, NULL);
	arm(&app);
	live(&app, 100);
	stop(&app);
	assert_true(app.counters.gate_ns >= 300000000);
	assert_true(app.counters.gate_ns <= app.counters.stop_ns);
	tell(&app, "end");
	end_app(&app);
}

static void check_left_on(struct app *app, uint64_t why)
{
	check_books(app);
	assert_int_equal(app->counters.left_on, why);
	assert_int_equal(app->counters.gate_ns, 0);
	assert_int_equal(tell(app, "get kernel_on"), 1);
}

/* The next capture is right, what came between them is nobody's, and its stop switches off. */
static void check_next_capture(struct app *app)
{
	tell(app, "launch 4 5003 between 10");
	usleep(100000);
	arm(app);
	tell(app, "launch 2 101 k 10");
	stop(app);
	assert_int_equal(app->of_kind[XP_CAPTURE_KERNEL_START], 202);
	check_clean(app);
	assert_int_equal(tell(app, "get kernel_on"), 0);
}

/* A thread stays inside a launch on a full queue: kinds stay on, and the program is not held. */
static void leave_on(struct app *apps, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		start_version(&apps[i], i ? 24 : 26);
		want_kernels(&apps[i]);
		arm(&apps[i]);
	}
	for (unsigned ms = 0; ms < AGE_MS; ms += 10)
		for (unsigned i = 0; i < n; i++)
			live(&apps[i], i ? 0 : 10), drain(&apps[i]);
	for (unsigned i = 0; i < n; i++) {
		begin(&apps[i], "full 2500");
		wait_inside(&apps[i]);
		xp_agent_link_send(apps[i].link, XP_AGENT_STOP, NULL);
	}
	for (unsigned i = 0; i < n; i++) {
		assert_true(wait_answer(&apps[i], 10000));
		apps[i].counters = xp_agent_link_counters(apps[i].link);
		assert_int_equal(answer(&apps[i]), 0);
		check_left_on(&apps[i], XP_AGENT_LEFT_BUSY);
	}
}

/* Then the next capture is right and its stop switches off; left alone the agent does so by itself, under load, and lets CUPTI go. */
static void a_stop_that_never_drains_leaves_kinds_on(void **state)
{
	static struct app apps[2];

	leave_on(apps, 2);
	tell(&apps[1], "mixed 3 100");
	check_next_capture(&apps[0]);
	end_app(&apps[0]);
	for (unsigned i = 0; i < 1000 && tell(&apps[1], "get kernel_on"); i++)
		usleep(10000);
	assert_int_equal(tell(&apps[1], "get kernel_on"), 0);
	usleep(300000);
	assert_int_equal(tell(&apps[1], "profile start"), 0);
	usleep(10000);
	tell(&apps[1], "end");
	assert_true(tell(&apps[1], "profile stop") > 0);
	end_app(&apps[1]);
}

/* Switching off after that crashes, so kinds stay on for good; the next capture is right all the same. */
static void a_context_made_meanwhile_leaves_kinds_on(void **state)
{
	struct app app;

	start_version(&app, 26);
	want_kernels(&app);
	for (unsigned i = 0; i < 2; i++) {
		arm(&app);
		tell(&app, "launch 2 53 k 10");
		if (!i)
			tell(&app, "context 1");
		stop(&app);
		assert_int_equal(app.of_kind[XP_CAPTURE_KERNEL_START], 106);
		check_left_on(&app, XP_AGENT_LEFT_CONTEXTS);
		tell(&app, "launch 4 5003 between 10");
		usleep(100000);
	}
	end_app(&app);
}

static int refusal(struct app *app)
{
	xp_auto_err err = { 0 };

	return try_arm(app, &err);
}

static void what_cannot_be_kept_is_refused(void **state)
{
	static const unsigned loses[] = { 27, 28, 130000 };
	struct app app;

	start_version(&app, 26);
	want_kernels(&app);
	app.request.flags = XP_AGENT_RECORDS_ONLY;
	assert_int_equal(refusal(&app), -XP_E_UNSUPPORTED_CUDA_VERSION);
	assert_int_equal(tell(&app, "get kernel_on"), 0);
	end_app(&app);

	/* 12.9 and 13.0: contexts were lost. */
	for (unsigned i = 0; i < sizeof(loses) / sizeof(loses[0]); i++) {
		start_version(&app, loses[i]);
		want_kernels(&app);
		assert_int_equal(refusal(&app), -XP_E_UNSUPPORTED_CUDA_VERSION);
		assert_int_equal(tell(&app, "get sessions"), 0);
		app.request.n_filters = 0;
		want(&app, XP_CAPTURE_API_ENTRY, XP_AGENT_MATCH_EXACT, "cuLaunchKernel");
		arm(&app);
		tell(&app, "launch 4 211 k 10");
		stop(&app);
		assert_int_equal(app.n, 844);
		end_app(&app);
	}

	/* 12.0 and 12.1: kernels of graphs made before may have no records; calls alone, and kernels alone, are fine. */
	start_version(&app, 19);
	want(&app, XP_CAPTURE_KERNEL_START, XP_AGENT_MATCH_ANY, NULL);
	want(&app, XP_CAPTURE_API_ENTRY, XP_AGENT_MATCH_EXACT, "cudaGraphLaunch");
	assert_int_equal(refusal(&app), -XP_E_UNSUPPORTED_CUDA_VERSION);
	assert_int_equal(tell(&app, "get sessions"), 0);
	app.request.n_filters = 0;
	want(&app, XP_CAPTURE_API_ENTRY, XP_AGENT_MATCH_EXACT, "cudaGraphLaunch");
	arm(&app);
	tell(&app, "old 7");
	stop(&app);
	assert_int_equal(app.n, 7);
	assert_int_equal(app.counters.gate_ns, 0);
	end_app(&app);
}

/* The tool dies while the gate stands. */
static void a_lost_lease_ends_behind_the_gate(void **state)
{
	struct app app;

	start_version(&app, 26);
	tell(&app, "mixed 4 100");
	want_kernels(&app);
	arm(&app);
	for (unsigned i = 0; i < 400 && xp_agent_link_state(app.link) != XP_AGENT_IDLE; i++)
		usleep(10000);
	assert_int_equal(xp_agent_link_state(app.link), XP_AGENT_IDLE);
	assert_int_equal(tell(&app, "get kernel_on"), 0);
	tell(&app, "end");
	end_app(&app);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_old_version_stops_behind_the_gate),
		cmocka_unit_test(safe_versions_have_no_gate),
		cmocka_unit_test(a_short_capture_waits_for_its_gate),
		cmocka_unit_test(launches_are_exact),
		cmocka_unit_test(the_time_of_the_hold_is_told),
		cmocka_unit_test(a_stop_that_never_drains_leaves_kinds_on),
		cmocka_unit_test(a_context_made_meanwhile_leaves_kinds_on),
		cmocka_unit_test(what_cannot_be_kept_is_refused),
		cmocka_unit_test(a_lost_lease_ends_behind_the_gate),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
