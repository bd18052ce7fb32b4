// SPDX-License-Identifier: Apache-2.0
/* Case E6: throttled_usec was ignored and units were mixed up. Fixture trees for v1, v2, hybrid and namespaces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inventory/cgroup_build.h"

enum { PID = 71 };

struct tree {
	char root[64];
	struct xp_arena *arena;
};

/* Writes text below the tree's root, with its folders. */
static void put(const struct tree *tree, const char *path, const char *text)
{
	char full[512];

	snprintf(full, sizeof(full), "%s%s", tree->root, path);
	for (char *p = full + strlen(tree->root) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		assert_true(!mkdir(full, 0700) || errno == EEXIST);
	}
	FILE *file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int set_up(void **state)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	strcpy(tree->root, "/tmp/xp-cgroup-XXXXXX");
	tree->arena = xp_arena_new();
	*state = tree;
	return mkdtemp(tree->root) ? 0 : -1;
}

static int tear_down(void **state)
{
	struct tree *tree = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", tree->root);
	xp_arena_free(tree->arena);
	int rc = system(command);
	free(tree);
	return rc;
}

#define V1_MOUNT "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
#define CPUACCT_MOUNT "33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n"
#define V2_MOUNT "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"

static struct xp_cgroup_place found(const struct tree *tree)
{
	struct xp_cgroup_place place = { 0 };
	xp_auto_err error = { 0 };
	int rc = xp_cgroup_find(tree->root, PID, tree->arena, &place, &error);

	if (rc)
		fail_msg("%s", error.message);
	return place;
}

static void refused(const struct tree *tree, const char *object)
{
	struct xp_cgroup_place place;
	xp_auto_err error = { 0 };

	assert_int_equal(xp_cgroup_find(tree->root, PID, tree->arena, &place, &error), -XP_E_UNSUPPORTED_TARGET);
	assert_int_equal(error.sys_errno, ENOENT);
	assert_string_equal(error.object, object);
}

/* Reads all levels as base, lets `change` alter the files, reads them again. */
static struct xp_cgroup *window(const struct tree *tree, void (*change)(const struct tree *tree))
{
	struct xp_cgroup_place place = found(tree);
	struct xp_cgroup_readings readings = { 0 };
	char *directory;

	for (; (directory = xp_cgroup_level_directory(&place, readings.n, tree->arena)); readings.n++)
		readings.base[readings.n] = xp_cgroup_read(directory, place.version);
	change(tree);
	for (size_t i = 0; i < readings.n; i++)
		readings.end[i] = xp_cgroup_read(xp_cgroup_level_directory(&place, i, tree->arena), place.version);
	return xp_cgroup_build(&place, &readings, tree->arena);
}

static void throttle_v1(const struct tree *tree)
{
	put(tree, "/sys/fs/cgroup/cpu,cpuacct/job/cpu.stat", "nr_periods 43\nnr_throttled 17\nthrottled_time 1600000123\n");
}

static void v1_counts_ns(void **state)
{
	struct tree *tree = *state;

	put(tree, "/proc/71/cgroup", "9:name=systemd:/x\n4:cpuset:/\n2:cpuacct,cpu:/job/a b\n0::/x\n");
	put(tree, "/proc/self/mountinfo", CPUACCT_MOUNT V2_MOUNT V1_MOUNT);
	put(tree, "/sys/fs/cgroup/cpu,cpuacct/job/a b/tasks", "7\n71\n");
	put(tree, "/sys/fs/cgroup/cpu,cpuacct/job/a b/cpu.cfs_quota_us", "-1\n");
	put(tree, "/sys/fs/cgroup/cpu,cpuacct/job/a b/cpu.cfs_period_us", "100000\n");
	put(tree, "/sys/fs/cgroup/cpu,cpuacct/job/a b/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
	put(tree, "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "20000\n");
	put(tree, "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
	put(tree, "/sys/fs/cgroup/cpu,cpuacct/job/cpu.stat", "nr_periods 3\nnr_throttled 0\nthrottled_time 123\n");
	struct xp_cgroup *value = window(tree, throttle_v1);

	assert_int_equal(value->version, 1);
	assert_string_equal(value->path, "/job/a b");
	assert_int_equal(value->n_levels, 3);
	assert_false(value->levels[0].quota_us.set);
	assert_int_equal(value->chosen, 1); /* the ancestor throttled */
	assert_string_equal(value->levels[1].path, "/job");
	assert_int_equal(value->levels[1].throttled_ns.v, 1600000000);
	assert_int_equal(value->levels[1].throttled_periods.v, 17);
	assert_int_equal(value->levels[1].periods.v, 40);
	assert_true(value->levels[1].cpus.v == 0.2);
	assert_string_equal(value->levels[2].path, "/");
	assert_false(value->levels[2].throttled_ns.set); /* no cpu.stat: not reported, not zero */
}

static void throttle_v2(const struct tree *tree)
{
	put(tree, "/sys/fs/cgroup/unified/job/cpu.stat",
	    "usage_usec 9\nuser_usec 5\nsystem_usec 4\nnr_periods 20\nnr_throttled 11\nthrottled_usec 812000\nnr_bursts 0\nburst_usec 0\n");
}

static void v2_counts_us(void **state)
{
	struct tree *tree = *state;

	put(tree, "/proc/71/cgroup", "0::/job/deep\n");
	put(tree, "/proc/self/mountinfo", V2_MOUNT);
	put(tree, "/sys/fs/cgroup/unified/job/deep/cgroup.procs", "71\n");
	put(tree, "/sys/fs/cgroup/unified/job/deep/cpu.stat", "usage_usec 9\nuser_usec 5\nsystem_usec 4\n"); /* controller off here */
	put(tree, "/sys/fs/cgroup/unified/job/cpu.max", "200000 100000\n");
	put(tree, "/sys/fs/cgroup/unified/job/cpu.stat", "usage_usec 9\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
	struct xp_cgroup *value = window(tree, throttle_v2);

	assert_int_equal(value->version, 2);
	assert_int_equal(value->chosen, 1);
	assert_string_equal(value->levels[1].path, "/job");
	assert_int_equal(value->levels[1].throttled_ns.v, 812000000);
	assert_int_equal(value->levels[1].throttled_periods.v, 11);
	assert_true(value->levels[1].cpus.v == 2.0);
	assert_false(value->levels[0].throttled_ns.set);
	assert_null(value->note);
}

static void nothing(const struct tree *tree)
{
	(void)tree;
}

static void hybrid_uses_the_v1_cpu_line(void **state)
{
	struct tree *tree = *state;

	put(tree, "/proc/71/cgroup", "1:cpu:/\n0::/\n");
	put(tree, "/proc/self/mountinfo", V2_MOUNT V1_MOUNT);
	put(tree, "/sys/fs/cgroup/unified/cgroup.procs", "71\n");
	put(tree, "/sys/fs/cgroup/cpu,cpuacct/cgroup.procs", "71\n");
	put(tree, "/sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
	struct xp_cgroup *value = window(tree, nothing);

	assert_int_equal(value->version, 1);
	assert_int_equal(value->n_levels, 1);
	assert_true(value->levels[0].throttled_ns.set);
	assert_int_equal(value->levels[0].throttled_ns.v, 0);
}

static void mounts_of_a_subtree_and_escapes(void **state)
{
	struct tree *tree = *state;

	put(tree, "/proc/71/cgroup", "0::/docker/abc/inner\n");
	put(tree, "/proc/self/mountinfo", "41 31 0:38 /docker/abc /cg\\040fs rw - cgroup2 cgroup2 rw,nsdelegate\n");
	put(tree, "/cg fs/inner/cgroup.procs", "71\n");
	struct xp_cgroup *value = window(tree, nothing);

	assert_int_equal(value->n_levels, 2);
	assert_string_equal(value->levels[1].path, "/docker/abc");
	assert_non_null(value->note); /* /docker and / are out of view */
}

static void namespace_with_a_foreign_root(void **state)
{
	struct tree *tree = *state;

	/* A cgroup namespace, mounted before it was made: own path "/", the mount's root "/..". */
	put(tree, "/proc/71/cgroup", "0::/\n");
	put(tree, "/proc/self/mountinfo", "41 31 0:38 /.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	put(tree, "/sys/fs/cgroup/cgroup.procs", "1\n71\n");
	put(tree, "/sys/fs/cgroup/cpu.max", "50000 100000\n");
	struct xp_cgroup *value = window(tree, nothing);

	assert_true(value->levels[0].cpus.v == 0.5);
	assert_non_null(value->note);
}

static void outside_of_the_namespace_is_said(void **state)
{
	struct tree *tree = *state;

	put(tree, "/proc/71/cgroup", "0::/../other\n");
	put(tree, "/proc/self/mountinfo", V2_MOUNT);
	refused(tree, "/../other");
}

static void a_directory_without_the_pid_is_not_used(void **state)
{
	struct tree *tree = *state;

	put(tree, "/proc/71/cgroup", "0::/job\n");
	put(tree, "/proc/self/mountinfo", V2_MOUNT);
	put(tree, "/sys/fs/cgroup/unified/job/cgroup.procs", "7\n710\n");
	put(tree, "/sys/fs/cgroup/unified/job/cpu.max", "1000 100000\n");
	refused(tree, "/job");
}

static void the_targets_own_mounts_are_the_last_resort(void **state)
{
	struct tree *tree = *state;

	put(tree, "/proc/71/cgroup", "0::/job\n");
	put(tree, "/proc/self/mountinfo", "1 1 0:1 / / rw - ext4 /dev/x rw\n");
	put(tree, "/proc/71/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	put(tree, "/proc/71/root/sys/fs/cgroup/job/cgroup.threads", "71\n");
	struct xp_cgroup_place place = found(tree);
	char expected[128];

	snprintf(expected, sizeof(expected), "%s/proc/71/root/sys/fs/cgroup/job", tree->root);
	assert_string_equal(place.directory, expected);
}

static void nothing_mounted_is_said(void **state)
{
	struct tree *tree = *state;

	put(tree, "/proc/71/cgroup", "0::/job\n");
	put(tree, "/proc/self/mountinfo", "");
	refused(tree, "/job");
	put(tree, "/proc/71/cgroup", "4:memory:/job\n");
	refused(tree, "/proc/71/cgroup");
}

static void the_tightest_limit_wins(void **state)
{
	struct tree *tree = *state;

	put(tree, "/proc/71/cgroup", "0::/a/b\n");
	put(tree, "/proc/self/mountinfo", V2_MOUNT);
	put(tree, "/sys/fs/cgroup/unified/a/b/cgroup.procs", "71\n");
	put(tree, "/sys/fs/cgroup/unified/a/b/cpu.max", "400000 100000\n");
	put(tree, "/sys/fs/cgroup/unified/a/cpu.max", "150000 100000\n");
	struct xp_cgroup *value = window(tree, nothing);

	assert_int_equal(value->chosen, 1);
	put(tree, "/sys/fs/cgroup/unified/a/cpu.max", "max 100000\n");
	value = window(tree, nothing);
	assert_int_equal(value->chosen, 0);
	assert_false(value->levels[1].quota_us.set);
	assert_int_equal(value->levels[1].period_us.v, 100000);
}

#define TREE_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(v1_counts_ns),
		TREE_TEST(v2_counts_us),
		TREE_TEST(hybrid_uses_the_v1_cpu_line),
		TREE_TEST(mounts_of_a_subtree_and_escapes),
		TREE_TEST(namespace_with_a_foreign_root),
		TREE_TEST(outside_of_the_namespace_is_said),
		TREE_TEST(a_directory_without_the_pid_is_not_used),
		TREE_TEST(the_targets_own_mounts_are_the_last_resort),
		TREE_TEST(nothing_mounted_is_said),
		TREE_TEST(the_tightest_limit_wins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
