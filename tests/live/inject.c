/* SPDX-License-Identifier: Apache-2.0 */
/* Injection into ordinary programs: the library runs, and nothing else has changed. */
#include "../lib/injection.c"

static void a_library_comes_in_and_nothing_else_stays(void **state)
{
	struct xp_inject_request request = probe_request();
	struct victim v = start_victim("idle", "3");
	struct xp_inject_result r;
	unsigned fds = count_entries(v.pid, "fd");

	assert_injected(v.pid, &request, &r);
	check_probe(&r);
	assert_int_equal(count_entries(v.pid, "fd"), fds + 1);
	assert_true(count_lines(v.pid, "maps", "/memfd:probe") >= 3);
	assert_int_equal(count_lines(v.pid, "maps", "/memfd:control"), 1);
	assert_int_equal(count_lines(v.pid, "status", "TracerPid:\t0\n"), 1);
	assert_true(r.base && r.handle && r.attempts >= 1 && r.stall_ns > 0);
	assert_int_equal(end_victim(&v), 0);
}

static void the_same_library_comes_in_again_as_another(void **state)
{
	struct xp_inject_request request = probe_request();
	struct victim v = start_victim("idle", "1");
	struct xp_inject_result r[3];

	for (int i = 0; i < 3; i++) {
		assert_injected(v.pid, &request, &r[i]);
		check_probe(&r[i]);
		close(r[i].control_fd);
	}
	assert_true(r[0].base != r[1].base && r[1].base != r[2].base && r[0].base != r[2].base);
	assert_int_equal(end_victim(&v), 0);
}

static void repeat(const char *mode, const char *threads, unsigned times)
{
	struct xp_inject_request request = probe_request();

	for (unsigned i = 0; i < times; i++) {
		struct victim v = start_victim(mode, threads);
		struct xp_inject_result r;

		usleep(2000 + i * 1009 % 7000);
		assert_injected(v.pid, &request, &r);
		check_probe(&r);
		close(r.control_fd);
		usleep(20000);
		int status = end_victim(&v);
		if (status)
			fail_msg("mode %s, process %u of %u: status %d", mode, i + 1, times, status);
	}
}

static void waits_go_on_as_if_nothing_had_happened(void **state)
{
	repeat("wait", "7", 12);
}

static void registers_stay(void **state)
{
	repeat("registers", "3", 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_library_comes_in_and_nothing_else_stays),
		cmocka_unit_test(the_same_library_comes_in_again_as_another),
		cmocka_unit_test(waits_go_on_as_if_nothing_had_happened),
		cmocka_unit_test(registers_stay),
	};

	return skipped() ?: cmocka_run_group_tests(tests, NULL, NULL);
}
