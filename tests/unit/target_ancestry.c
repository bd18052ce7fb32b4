// SPDX-License-Identifier: Apache-2.0
/* Fault: an ancestor that ended while the chain of parents was walked lost a worker, or found a stranger under its number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "target/ancestry.h"

/* pid -> parent; start time = 10 x pid unless changed. Process `gone_pid` is absent for the first `gone` looks at it. */
struct tree {
	uint32_t gone_pid;
	unsigned gone, looks;
	uint32_t reused_pid; /* started after its children */
};

static bool read_tree(void *arg, uint32_t pid, struct xp_ancestor *ret_ancestor)
{
	static const uint32_t parents[] = { [1] = 0, [2] = 1, [3] = 2, [5] = 3, [7] = 5, [4] = 1, [6] = 4 };
	struct tree *tree = arg;

	tree->looks++;
	if (pid >= XP_LEN(parents) || (pid == tree->gone_pid && tree->gone && tree->gone--))
		return false;
	*ret_ancestor = (struct xp_ancestor){ parents[pid], pid == tree->reused_pid ? 1000 : 10 * pid };
	return true;
}

static enum xp_ancestry walk(struct tree tree, uint32_t root, uint32_t child)
{
	struct xp_target_id above = { .pid = root, .process_start_time = 10 * root };
	struct xp_target_id below = { .pid = child, .process_start_time = 10 * child };

	return xp_ancestry_walk(&above, &below, read_tree, &tree);
}

static void quiet_trees(void **state)
{
	const struct tree tree = { 0 };

	assert_int_equal(walk(tree, 2, 7), XP_BELOW);
	assert_int_equal(walk(tree, 7, 7), XP_BELOW);
	assert_int_equal(walk(tree, 1, 6), XP_BELOW);
	assert_int_equal(walk(tree, 4, 7), XP_ELSEWHERE);
	assert_int_equal(walk(tree, 7, 2), XP_ELSEWHERE);
}

static void an_ancestor_ends(void **state)
{
	assert_int_equal(walk((struct tree){ .gone_pid = 3, .gone = 1 }, 2, 7), XP_BELOW); /* walked once more */
	assert_int_equal(walk((struct tree){ .gone_pid = 3, .gone = 2 }, 2, 7), XP_ANCESTRY_LOST);
	assert_int_equal(walk((struct tree){ .gone_pid = 7, .gone = 9 }, 2, 7), XP_ANCESTRY_LOST);
}

static void a_number_means_another_process(void **state)
{
	struct tree tree = { 0 };
	struct xp_target_id root = { .pid = 2, .process_start_time = 20 }, other_root = { .pid = 2, .process_start_time = 21 };
	struct xp_target_id child = { .pid = 7, .process_start_time = 70 }, other_child = { .pid = 7, .process_start_time = 71 };

	assert_int_equal(walk((struct tree){ .reused_pid = 3 }, 2, 7), XP_ANCESTRY_LOST);
	assert_int_equal(xp_ancestry_walk(&root, &child, read_tree, &tree), XP_BELOW);
	assert_int_equal(xp_ancestry_walk(&other_root, &child, read_tree, &tree), XP_ANCESTRY_LOST);
	assert_int_equal(xp_ancestry_walk(&root, &other_child, read_tree, &tree), XP_ANCESTRY_LOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(quiet_trees), cmocka_unit_test(an_ancestor_ends),
					    cmocka_unit_test(a_number_means_another_process) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
