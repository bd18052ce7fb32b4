/* SPDX-License-Identifier: Apache-2.0 */
/* Native stacks of blocked threads: which of them wait for Python's global lock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "inventory/gil_wait.h"

#define LIBC "/usr/lib/x86_64-linux-gnu/libc.so.6"
#define PYTHON "/usr/bin/python3.11"

/* Pairs of module and symbol, leaf first, NULL-terminated by the module. */
static bool waits(const char *const pairs[][2])
{
	struct xp_symbolized frames[16] = { 0 };
	size_t n = 0;

	for (; pairs[n][0]; n++)
		frames[n] = (struct xp_symbolized){ .kind = XP_FRAME_NATIVE, .module_path = pairs[n][0], .symbol = pairs[n][1] };
	return xp_is_gil_wait(frames, n);
}

static void with_local_symbols(void **state)
{
	assert_true(waits((const char *const[][2]){ { LIBC, "__futex_abstimed_wait_common" },
						    { LIBC, "pthread_cond_timedwait" },
						    { PYTHON, "take_gil" },
						    { PYTHON, "PyEval_RestoreThread" },
						    { NULL } }));
	assert_true(waits((const char *const[][2]){ { LIBC, NULL }, { LIBC, NULL }, { PYTHON, "take_gil.isra.0" }, { NULL } }));
	assert_false(waits((const char *const[][2]){ { LIBC, "read" }, { PYTHON, "take_gilded" }, { NULL } }));
}

/* Debian's interpreter keeps exported names only. */
static void stripped(void **state)
{
	assert_true(waits((const char *const[][2]){ { LIBC, "__futex_abstimed_wait_common" },
						    { LIBC, "pthread_cond_timedwait" },
						    { PYTHON, NULL },
						    { PYTHON, "_PyEval_EvalFrameDefault" },
						    { NULL } }));
	assert_true(waits((const char *const[][2]){
		{ LIBC, "pthread_cond_clockwait" }, { "/opt/lib/libpython3.13.so.1.0", "PyEval_AcquireThread" }, { NULL } }));
}

/* A lock of the program, an event, a queue: semaphores, or conditions of other libraries. */
static void other_waits(void **state)
{
	assert_false(waits((const char *const[][2]){
		{ LIBC, "__new_sem_wait_slow64.constprop.0" }, { PYTHON, "PyThread_acquire_lock_timed" }, { PYTHON, NULL }, { NULL } }));
	assert_false(waits((const char *const[][2]){ { LIBC, "pthread_cond_wait" }, { PYTHON, "PyThread_acquire_lock_timed" }, { NULL } }));
	assert_false(waits((const char *const[][2]){ { LIBC, "pthread_cond_wait" },
						     { "/usr/lib/libtorch.so", "wait_for_work" },
						     { PYTHON, "_PyEval_EvalFrameDefault" },
						     { NULL } }));
	assert_false(waits((const char *const[][2]){ { LIBC, "__poll" }, { PYTHON, NULL }, { NULL } }));
	assert_false(waits((const char *const[][2]){ { NULL } }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_local_symbols),
		cmocka_unit_test(stripped),
		cmocka_unit_test(other_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
