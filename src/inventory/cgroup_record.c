// SPDX-License-Identifier: Apache-2.0
/* Field tables of cgroup.json. No state. */
#include "inventory/cgroup.h"

static const struct xp_field level_fields[] = {
	XP_FIELD(xp_cgroup_level, level, U32, "0: the target's own group, 1: its parent, and so on"),
	XP_FIELD(xp_cgroup_level, path, STR, "group, as /proc/PID/cgroup counts paths"),
	XP_FIELD(xp_cgroup_level, quota_us, OPT_I64, "CPU time that the group may use each period; null: no limit"),
	XP_FIELD(xp_cgroup_level, period_us, OPT_U64, "length of a period"),
	XP_FIELD(xp_cgroup_level, cpus, OPT_F64, "quota / period"),
	XP_FIELD(xp_cgroup_level, throttled_ns, OPT_U64, "time the group was stopped in the window, summed over CPUs; null: not reported"),
	XP_FIELD(xp_cgroup_level, throttled_periods, OPT_U64, "periods of the window in which it was stopped; null: not reported"),
	XP_FIELD(xp_cgroup_level, periods, OPT_U64, "periods of the window in which it ran; null: not reported"),
};
static const struct xp_record level_record = XP_RECORD("CgroupLevel", xp_cgroup_level, level_fields, "CPU limit of one group");

static const struct xp_field fields[] = {
	XP_FIELD_CONST("schema_version", "3.0", "version of this record"),
	XP_FIELD(xp_cgroup, version, I32, "cgroup version that carries the cpu controller"),
	XP_FIELD(xp_cgroup, path, STR, "the target's own group"),
	XP_FIELD(xp_cgroup, directory, STR, "where its files were read"),
	XP_FIELD(xp_cgroup, note, STR, "what could not be seen", .flags = XP_NULLABLE),
	XP_FIELD(xp_cgroup, moved, BOOL, "the target was in another group at the end of the window"),
	XP_FIELD_LIST(xp_cgroup, levels, &level_record, "own group first, up to the root of the mount"),
	XP_FIELD(xp_cgroup, chosen, U32, "index of the level that throttled most, else of the tightest"),
};
const struct xp_record xp_cgroup_record =
	XP_RECORD("CgroupInventory", xp_cgroup, fields, "CPU limits of the target's group and its ancestors");
