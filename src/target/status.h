/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc/PID/status, cgroup and the links tell of a process: credentials, ids by namespace, tracer, seccomp. */
#ifndef XP_TARGET_STATUS_H
#define XP_TARGET_STATUS_H

#include "target/target.h"

struct xp_process_status {
	char state;
	uint32_t uid[4], gid[4]; /* real, effective, saved, file system */
	uint32_t tracer_pid, seccomp, threads;
	uint32_t ns_pid[33]; /* from xprobe's own namespace inwards; the kernel nests 32 deep (MAX_PID_NS_LEVEL) */
	size_t n_ns_pid;
};
/* `text` is the content of a status file. False when a line is missing. */
bool xp_status_parse(const char *text, struct xp_process_status *ret_status);
int xp_target_status(const struct xp_target *target, struct xp_process_status *ret_status, struct xp_err *reterr);

/* One line of /proc/PID/cgroup. */
struct xp_cgroup_line {
	uint32_t hierarchy_id;
	const char *const *controllers;
	size_t n_controllers;
	const char *path;
};
/* Cuts `text` into lines in place; lines that are none are left out. */
void xp_cgroup_lines(char *text, struct xp_arena *arena, struct xp_cgroup_line **ret_lines, size_t *ret_n);

/* Arguments of the command line; empty for a kernel thread. Cut behind 1 MiB. */
int xp_target_arguments(const struct xp_target *target, struct xp_arena *arena, const char ***ret_words, size_t *ret_n,
			struct xp_err *reterr);
/* Text of a link below /proc/PID, "" when it cannot be read. */
const char *xp_target_link(const struct xp_target *target, const char *relative, struct xp_arena *arena);

#endif
