/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One injection into each of 200 fresh processes whose threads all loop in malloc and free, dlopen and dlclose, fork, vfork, or signals to
 * themselves. Elsewhere (case F3, F4) a remote dlopen met a lock that its own thread held and hung for ever.
 */
#include "../lib/injection.c"

enum { TIMEOUT_MS = 4000, SPARE_MS = 3000 };

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* How many were injected; the others were refused in time. All ran on, and every signal, child and result came as it should. */
static unsigned storm(const char *mode, const char *threads, unsigned times)
{
	struct xp_inject_request request = probe_request();
	unsigned done = 0;

	request.timeout_ms = TIMEOUT_MS;
	for (unsigned i = 0; i < times; i++) {
		struct victim v = start_victim(mode, threads);
		struct xp_inject_result r;
		struct xp_err err = { 0 };

		usleep(1000 + i * 1009 % 5003);
		uint64_t start = now_ms();
		int rc = inject(v.pid, &request, &r, &err);
		if (rc && err.code != XP_E_CUPTI_NOT_AVAILABLE)
			fail_msg("mode %s, process %u: %s: %s", mode, i + 1, xp_err_name(err.code), err.message);
		assert_true(now_ms() - start < TIMEOUT_MS + SPARE_MS);
		if (rc) {
			print_message("mode %s, process %u refused: %s\n", mode, i + 1, err.message);
		} else {
			check_probe(&r);
			close(r.control_fd);
			done++;
		}
		xp_err_done(&err);
		usleep(5000);
		int status = end_victim(&v);
		if (status)
			fail_msg("mode %s, process %u of %u: status %d", mode, i + 1, times, status);
	}
	print_message("mode %s: %u of %u injected\n", mode, done, times);
	return done;
}

static void malloc_and_free(void **state)
{
	assert_true(storm("malloc", "3", 41) >= 37);
}

static void dlopen_and_dlclose(void **state)
{
	assert_true(storm("dlopen", "2", 41) >= 33);
}

static void forks(void **state)
{
	assert_true(storm("fork", "1", 31) >= 28);
}

/* A thread that waits uninterruptibly for its child cannot be stopped; another one can. */
static void parents_of_vfork(void **state)
{
	assert_true(storm("vfork", "1", 11) >= 10);
}

/* Nobody else is there: injected between two children, or refused in time. */
static void nothing_but_parents_of_vfork(void **state)
{
	storm("vforks", "1", 2);
}

static void signals(void **state)
{
	assert_true(storm("signals", "2", 43) >= 40);
}

static void everything_at_once(void **state)
{
	assert_true(storm("mixed", "5", 33) >= 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(malloc_and_free),    cmocka_unit_test(dlopen_and_dlclose),	      cmocka_unit_test(forks),
		cmocka_unit_test(parents_of_vfork),   cmocka_unit_test(nothing_but_parents_of_vfork), cmocka_unit_test(signals),
		cmocka_unit_test(everything_at_once),
	};

	return skipped() ?: cmocka_run_group_tests(tests, NULL, NULL);
}
