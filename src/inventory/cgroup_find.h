/* SPDX-License-Identifier: Apache-2.0 */
/* From a pid to the directory of its cpu cgroup: versions, hybrid set-ups and namespaces (facts: docs of /proc/PID/cgroup, mountinfo). */
#ifndef XP_INVENTORY_CGROUP_FIND_H
#define XP_INVENTORY_CGROUP_FIND_H

#include "base/err.h"
#include "base/arena.h"

struct xp_cgroup_place {
	int version;	       /* enum xp_cgroup_version */
	const char *path;      /* from /proc/PID/cgroup */
	const char *directory; /* of the group, openable */
	size_t mount_len;      /* directory up to here is the mount's root */
	bool hidden_above;     /* the mount shows only a part of the hierarchy */
};

/*
 * `root` stands before every absolute path ("" live, a fixture's folder in tests). UNSUPPORTED_TARGET with ENOENT: no cpu controller is
 * mounted in view, the path lies outside of xprobe's cgroup namespace, or no directory in view lists the pid; object names the path.
 * PERMISSION_DENIED, TARGET_EXITED as told by the calls.
 */
int xp_cgroup_find(const char *root, uint32_t pid, struct xp_arena *arena, struct xp_cgroup_place *ret_place, struct xp_err *reterr);
/* The group directory still lists the pid. */
bool xp_cgroup_has(const char *directory, uint32_t pid);

/* Numbers of one group's files; unset: the kernel does not report it. */
struct xp_cgroup_reading {
	bool has_quota, has_stat;
	int64_t quota_us; /* -1: no limit */
	uint64_t period_us;
	uint64_t periods, throttled_periods, throttled_ns;
};
/* cpu.max of v2: "max 100000". False: not understood. */
bool xp_cgroup_parse_max(const char *text, struct xp_cgroup_reading *reading);
/* cpu.stat: v1 throttled_time in ns, v2 throttled_usec in us. has_stat only when all three counters are there. */
void xp_cgroup_parse_stat(const char *text, int version, struct xp_cgroup_reading *reading);
/* Reads the files of one group; members stay unset when a file is absent. */
struct xp_cgroup_reading xp_cgroup_read(const char *directory, int version);

#endif
