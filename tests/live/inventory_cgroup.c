// SPDX-License-Identifier: Apache-2.0
/* Case E6 live: a spinner under a 20 % quota, on whichever cgroup version carries the cpu controller here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inventory/cgroup.h"
#include "inventory/cgroup_find.h"
#include "inventory/inventory.h"

extern const struct xp_inventory_kind xp_inventory_cgroup;

enum { SKIP = 77, QUOTA_US = 20000, PERIOD_US = 100000 };

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool put(const char *directory, const char *name, const char *text)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return written;
}

/* A child group of our own with the quota; false when this machine does not let us. */
static bool make_group(struct xp_arena *arena, char *group, size_t size)
{
	struct xp_cgroup_place place;
	xp_auto_err error = { 0 };

	if (xp_cgroup_find("", (uint32_t)getpid(), arena, &place, &error))
		return false;
	snprintf(group, size, "%.*s/xprobe-test-%d", (int)place.mount_len, place.directory, getpid());
	if (place.version == XP_CGROUP_V2) {
		char mount[4096];

		snprintf(mount, sizeof(mount), "%.*s", (int)place.mount_len, place.directory);
		put(mount, "cgroup.subtree_control", "+cpu");
	}
	if (mkdir(group, 0700))
		return false;
	/* The largest weight: what the group may use it gets at once, however busy the machine is. */
	put(group, place.version == XP_CGROUP_V2 ? "cpu.weight" : "cpu.shares", place.version == XP_CGROUP_V2 ? "10000" : "262144");
	bool limited = place.version == XP_CGROUP_V2 ? put(group, "cpu.max", "20000 100000") : put(group, "cpu.cfs_quota_us", "20000");
	if (!limited)
		rmdir(group);
	return limited;
}

static void measure(pid_t spinner, struct xp_arena *arena, struct xp_cgroup **ret_value, uint64_t *ret_wall)
{
	struct xp_target *target = NULL;
	struct xp_inventory_request request = { 0 };
	struct xp_window window = { 0 };
	xp_auto_err error = { 0 };
	void *state, *value = NULL;

	assert_int_equal(xp_target_open((uint32_t)spinner, NULL, &target, &error), 0);
	assert_int_equal(xp_inventory_cgroup.open(&request, target, arena, &state, &error), 0);
	assert_int_equal(xp_inventory_cgroup.ops->prepare(state, &error), 0);
	uint64_t start = now_ns();
	assert_int_equal(xp_inventory_cgroup.ops->open(state, start, &error), 0);
	usleep(4000000);
	xp_inventory_cgroup.ops->close_window(state, now_ns());
	*ret_wall = now_ns() - start;
	assert_int_equal(xp_inventory_cgroup.finish(state, &window, arena, &value, &error), 0);
	xp_inventory_cgroup.free(state);
	xp_target_close(target);
	*ret_value = value;
}

static void throttled_time_fits_the_quota(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	char group[4096], pid[32];
	struct xp_cgroup *value = NULL;
	uint64_t wall = 0;

	if (geteuid() || !make_group(arena, group, sizeof(group))) {
		printf("SKIP: no cgroup with a cpu controller can be made here\n");
		xp_arena_free(xp_steal(&arena));
		exit(SKIP);
	}
	pid_t spinner = fork();
	if (!spinner)
		for (;;)
			;
	snprintf(pid, sizeof(pid), "%d", spinner);
	bool moved = put(group, "cgroup.procs", pid);
	usleep(300000);
	if (moved)
		measure(spinner, arena, &value, &wall);
	kill(spinner, SIGKILL);
	waitpid(spinner, NULL, 0);
	for (int tries = 0; rmdir(group) && tries < 50; tries++)
		usleep(20000);
	assert_int_equal(access(group, F_OK), -1);
	assert_true(moved && value);

	const struct xp_cgroup_level *level = &value->levels[value->chosen];
	double expected = (double)wall * (PERIOD_US - QUOTA_US) / PERIOD_US;
	double ratio = (double)level->throttled_ns.v / expected;

	printf("throttled %.3f of the quota's arithmetic, %llu of %llu periods\n", ratio, (unsigned long long)level->throttled_periods.v,
	       (unsigned long long)level->periods.v);
	assert_int_equal(value->chosen, 0);
	assert_int_equal(level->quota_us.v, QUOTA_US);
	assert_true(level->cpus.v == 0.2);
	assert_false(value->moved);
	assert_true(ratio > 0.95 && ratio < 1.05);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(throttled_time_fits_the_quota) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
