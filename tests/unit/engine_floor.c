/* SPDX-License-Identifier: Apache-2.0 */
/* Floors of probes on xprobe itself: every kind is found, and an instruction that is stepped costs more than one that is emulated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/arena.h"
#include "engine/floor.h"
#include "target/rights.h"

static void every_kind(void **state)
{
	struct xp_floors floors;
	xp_auto_err err = { 0 };

	assert_int_equal(xp_floor_measure(&floors, &err), 0);
	assert_true(floors.uprobe.set && floors.uprobe_stepped.set && floors.uretprobe.set && floors.uretprobe_stepped.set);
	assert_true(floors.syscall.set);
	assert_true(floors.uprobe_stepped.v > floors.uprobe.v);
	assert_true(floors.uretprobe_stepped.v > floors.uretprobe.v);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_kind) };
	struct xp_arena *arena = xp_arena_new();
	struct xp_feature feature;

	xp_feature_try(XP_FEATURE_UPROBE, arena, &feature);
	if (feature.status != XP_FEATURE_AVAILABLE) {
		printf("SKIP: no uprobes here: %s\n", feature.unblock);
		xp_arena_free(arena);
		return 77;
	}
	xp_arena_free(arena);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
