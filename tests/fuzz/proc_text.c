/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a file of /proc: stat, schedstat, status, maps, CPU lists. Nothing to compare but memory and undefined behaviour. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#include "engine/proc_parse.h"
#include "target/status.h"
#include "target/target_priv.h"
#include "target/thread_pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_schedstat sched;
	struct xp_proc_stat stat;
	struct xp_proc_status status = { 0 };
	struct xp_stat target_stat;
	struct xp_process_status process_status;
	struct xp_cgroup_line *cgroups;
	size_t n_cgroups;
	struct xp_maps maps = { 0 };
	char *text = xp_arena_dup(arena, (const char *)data, size);

	xp_parse_schedstat(text, &sched);
	xp_parse_proc_stat(text, &stat);
	xp_parse_proc_status(text, &status);
	xp_cpu_list_count(text);
	if (xp_stat_parse(text, &target_stat) && !strchr(text, ')'))
		abort();
	if (xp_status_parse(text, &process_status) && process_status.n_ns_pid > XP_LEN(process_status.ns_pid))
		abort();
	xp_maps_parse(text, arena, &maps);
	xp_cgroup_lines(xp_arena_dup(arena, (const char *)data, size), arena, &cgroups, &n_cgroups);
	return 0;
}
