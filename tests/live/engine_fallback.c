/* SPDX-License-Identifier: Apache-2.0 */
/* Function probes through perf events, as on kernels without uprobe_multi links: same counts, a cap, refusals named. */
#include "../lib/capture.c"

static uint64_t seen[XP_PERF_UPROBE_CAP + 1];

static void take(void *arg, uint32_t point, const struct xp_rec_hdr *record)
{
	assert_true(point < XP_LEN(seen));
	seen[point]++;
}

static struct xp_point point_on(enum xp_point_at at, const char *symbol)
{
	return (struct xp_point){ .at = at, .path = CALLS, .offset = symbol_offset(symbol), .selector = symbol };
}

static struct xp_probes *new_fallback(const struct xp_point *points, size_t n, pid_t pid)
{
	const struct xp_probe_request request = { .points = points, .n_points = n, .pid = (uint32_t)pid, .perf_only = true };
	struct xp_probes *probes = NULL;
	xp_auto_err err = {};

	memset(seen, 0, sizeof(seen));
	if (xp_probes_new(&request, &probes, &err)) {
		if (err.code != XP_E_PERMISSION_DENIED)
			fail_msg("%s: %s", xp_err_name(err.code), err.message);
		print_message("SKIP: %s: %s\n", err.call, err.errno_text);
		skip();
	}
	assert_true(xp_probes_is_fallback(probes));
	return probes;
}

static void same_counts(void **state)
{
	struct child child = start_child_in(&(struct habitat){ 0 }, "two", 1009);
	struct xp_point points[] = { point_on(XP_POINT_ENTRY, "work"), point_on(XP_POINT_RETURN, "work") };
	struct xp_probes *probes = new_fallback(points, XP_LEN(points), child.pid);
	const struct xp_probe_reader reader = { .take = take };
	struct xp_probe_counts counts;
	char answer[8] = "";
	xp_auto_err err = {};

	assert_int_equal(xp_probes_attach(probes, &err), 0);
	xp_probes_switch(probes, true);
	assert_int_equal(write(child.in, "g", 1), 1);
	assert_int_equal(read(child.out, answer, 5), 5);
	xp_probes_switch(probes, false);
	assert_int_equal(xp_probes_read(probes, &reader, &err), 0);
	xp_probes_detach(probes);
	assert_int_equal(seen[0], 2 * 1009);
	assert_int_equal(seen[1], 2 * 1009);
	assert_int_equal(xp_probes_count(probes, &counts, &err), 0);
	assert_int_equal(counts.kind[XP_COUNT_RETURN].delivered, 2 * 1009);
	assert_true(xp_probes_floor(probes, XP_COUNT_RETURN) > 0);
	xp_probes_free(probes);
	assert_int_equal(end_child(&child), 0);
}

static void marker_semaphore_goes_up_and_down(void **state)
{
	struct child child = start_child_in(&(struct habitat){ 0 }, "marker", 503);
	struct xp_point points[] = { point_on(XP_POINT_MARKER, "marker") };
	const struct xp_probe_reader reader = { .take = take };
	char answer[8] = "";
	xp_auto_err err = {};

	points[0].ref_ctr_offset = symbol_offset("marker_semaphore");
	struct xp_probes *probes = new_fallback(points, 1, child.pid);

	assert_int_equal(xp_probes_attach(probes, &err), 0);
	xp_probes_switch(probes, true);
	assert_int_equal(write(child.in, "g", 1), 1);
	assert_int_equal(read(child.out, answer, 5), 5);
	assert_int_equal(xp_probes_read(probes, &reader, &err), 0);
	assert_int_equal(seen[0], 503);
	struct xp_target *target = NULL;
	unsigned short semaphore[2] = {};

	assert_int_equal(xp_target_open((uint32_t)child.pid, NULL, &target, &err), 0);
	read_memory(child.pid, data_address(target, "marker_semaphore"), &semaphore[0], sizeof(semaphore[0]));
	xp_probes_detach(probes);
	read_memory(child.pid, data_address(target, "marker_semaphore"), &semaphore[1], sizeof(semaphore[1]));
	assert_int_equal(semaphore[0], 1);
	assert_int_equal(semaphore[1], 0);
	xp_target_close(target);
	xp_probes_free(probes);
	assert_int_equal(end_child(&child), 0);
}

static void more_than_the_cap_is_refused(void **state)
{
	struct child child = start_child_in(&(struct habitat){ 0 }, "idle", 0);
	struct xp_point points[XP_PERF_UPROBE_CAP + 1];
	xp_auto_err err = {};

	for (size_t i = 0; i < XP_LEN(points); i++)
		points[i] = point_on(XP_POINT_ENTRY, "work");
	struct xp_probes *probes = new_fallback(points, XP_LEN(points), child.pid);

	assert_int_equal(xp_probes_attach(probes, &err), -XP_E_RESOURCE_LIMIT);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(err.details, "limit"), "maximum")), XP_PERF_UPROBE_CAP);
	xp_probes_free(probes);
	assert_int_equal(end_child(&child), 0);
}

static void refused_place_is_named(void **state)
{
	struct child child = start_child_in(&(struct habitat){ 0 }, "idle", 0);
	struct xp_point points[] = { point_on(XP_POINT_ENTRY, "work"), point_on(XP_POINT_ENTRY, "begins_lock") };
	struct xp_probes *probes = new_fallback(points, XP_LEN(points), child.pid);
	xp_auto_err err = {};

	assert_int_equal(xp_probes_attach(probes, &err), -XP_E_PROBE_REFUSED);
	assert_string_equal(err.object, "begins_lock");
	assert_string_equal(err.call, "perf_event_open");
	xp_probes_free(probes);
	assert_int_equal(end_child(&child), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_counts),
		cmocka_unit_test(marker_semaphore_goes_up_and_down),
		cmocka_unit_test(more_than_the_cap_is_refused),
		cmocka_unit_test(refused_place_is_named),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
