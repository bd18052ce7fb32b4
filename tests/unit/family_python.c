/* SPDX-License-Identifier: Apache-2.0 */
/* Fault: collector markers are absent in many Python builds, and a tool waited for them until its time was over. */
#include "resolve.h"

static void python_markers(void **state)
{
	struct fixture f;

	start(&f, "/usr/bin/python3");
	if (resolve_with(&f, false, "python:gc_start")) {
		printf("SKIP: %s\n", f.err.message);
		stop(&f);
		skip();
	}
	const struct xp_resolved *resolved = f.ep.resolved;
	if (resolved->usdt_provider) {
		assert_string_equal(resolved->usdt_name, "gc__start");
		assert_int_not_equal(resolved->sites[0].ref_ctr_offset, 0);
		check_memory(&f);
		assert_int_equal(resolve_with(&f, false, "python:gc_end"), 0);
		assert_string_equal(f.ep.resolved->usdt_name, "gc__done");
		assert_int_not_equal(f.ep.resolved->sites[0].ref_ctr_offset, resolved->sites[0].ref_ctr_offset);
	}
	stop(&f);
}

static void python_without_markers(void **state)
{
	struct fixture f;

	start(&f, target_path("fakepython"));
	assert_int_equal(resolve_with(&f, false, "python:gc_start"), 0);
	assert_string_equal(f.ep.resolved->symbol, "gc_collect_main");
	assert_null(f.ep.resolved->usdt_provider);
	assert_int_equal(f.ep.type, XP_EV_PYTHON_GC_START);
	assert_int_equal(resolve_with(&f, false, "python:gc_end"), 0);
	assert_int_equal(f.ep.resolved->return_method, XP_RETURN_URETPROBE);
	assert_int_equal(resolve_with(&f, false, "python:gc_middle"), -XP_E_INVALID_EVENT_SELECTOR);
	stop(&f);
	start(&f, target_path("fakepython_stripped"));
	assert_int_equal(resolve_with(&f, false, "python:gc_start"), -XP_E_SYMBOL_NOT_FOUND);
	assert_non_null(strstr(f.err.message, "not built in"));
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(python_markers), cmocka_unit_test(python_without_markers) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
