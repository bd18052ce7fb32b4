/* SPDX-License-Identifier: Apache-2.0 */
/* Who is looked at: identity that cannot be reused (pidfd + start time + namespace), and what /proc says of it. */
#ifndef XP_TARGET_TARGET_H
#define XP_TARGET_TARGET_H

#include <sys/types.h>

#include "base/field.h"

/* Contract 1.2. pid is in xprobe's own PID namespace; start_time in clock ticks since boot. */
struct xp_target_id {
	uint32_t pid;
	uint64_t process_start_time;
	struct xp_opt_u64 pid_namespace; /* inode; optional */
};
extern const struct xp_record xp_target_id_record; /* "TargetIdentity" */

struct stat;
struct xp_arena;
struct xp_target;

/*
 * Opens a pidfd first, then reads the identity and checks it against `expected` (NULL: none; an unset pid_namespace is not compared).
 * TARGET_NOT_FOUND: no such process at this first look. TARGET_EXITED: a zombie or gone since. TARGET_REUSED: another start time or
 * namespace. PERMISSION_DENIED: /proc/PID refused. Returns owned.
 */
int xp_target_open(uint32_t pid, const struct xp_target_id *expected, struct xp_target **ret_target, struct xp_err *reterr);
void xp_target_close(struct xp_target *target);
XP_DEFINE_AUTO(struct xp_target *, xp_target_close);

const struct xp_target_id *xp_target_identity(const struct xp_target *target);
uint32_t xp_target_pid(const struct xp_target *target);
int xp_target_pidfd(const struct xp_target *target); /* borrowed */
/* Still the same live process? 0, or TARGET_EXITED / TARGET_REUSED. Cheap: poll of the pidfd, then the start time. */
int xp_target_check(const struct xp_target *target, struct xp_err *reterr);
/* True when /proc/PID/exe is another file (device, inode) than at open: an execve happened (contract 1.2). */
bool xp_target_exec_changed(const struct xp_target *target);

/* One line of /proc/PID/maps. path "" for anonymous; as the kernel prints it, octal escapes decoded, without " (deleted)". */
struct xp_mapping {
	uint64_t start, end, offset;
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	bool read, write, exec, shared, deleted;
	const char *path;
};
struct xp_maps {
	size_t n;
	const struct xp_mapping *at; /* by address */
};
/* The snapshot made at open; refresh reads again (old pointers stay valid until close). */
const struct xp_maps *xp_target_maps(const struct xp_target *target);
int xp_target_maps_refresh(struct xp_target *target, struct xp_err *reterr);
const struct xp_mapping *xp_maps_find(const struct xp_maps *maps, uint64_t address);
/*
 * Opens the mapped file itself, also when it was deleted or replaced: /proc/PID/map_files, else /proc/PID/exe, else the path in the
 * target's root when device and inode agree. Read-only, close-on-exec. BINARY_NOT_MAPPED when no way leads to that inode.
 */
int xp_target_open_mapping(const struct xp_target *target, const struct xp_mapping *mapping, int *ret_fd, struct xp_err *reterr);
/* Text path that the kernel can open later for that file (for uprobe attach): /proc/PID/map_files/LO-HI or the like. */
int xp_target_mapping_path(const struct xp_target *target, const struct xp_mapping *mapping, char *ret_path, size_t size,
			   struct xp_err *reterr);
/* The file at the mapping's path now (target's view) has another device or inode, or is gone. */
bool xp_target_mapping_replaced(const struct xp_target *target, const struct xp_mapping *mapping);

/* O_PATH descriptor of `path` (as maps print it) in the target's own view, or -errno. */
int xp_target_path_open(const struct xp_target *target, const char *path);
/* True when `st`, the file at some path, is the file of the mapping. Devices of stat and maps differ on btrfs and overlayfs. */
bool xp_target_same_file(const struct xp_target *target, const struct xp_mapping *mapping, const struct stat *st);

/* Fields of /proc/PID/stat or /proc/PID/task/TID/stat, read after the last ')'. ticks are clock ticks. */
struct xp_stat {
	char comm[64];
	char state;
	uint32_t ppid, num_threads;
	uint64_t start_time, utime_ticks, stime_ticks, major_faults;
};
/* tid 0: the process. 0, TARGET_EXITED when it is gone, PERMISSION_DENIED. */
int xp_target_stat(const struct xp_target *target, uint32_t tid, struct xp_stat *ret_stat, struct xp_err *reterr);
/* Thread ids now, in the arena, ascending. */
int xp_target_threads(const struct xp_target *target, struct xp_arena *arena, uint32_t **ret_tids, size_t *ret_n, struct xp_err *reterr);
/* openat(/proc/PID, relative, O_RDONLY | O_CLOEXEC) through the kept directory descriptor; -errno on failure. */
int xp_target_openat(const struct xp_target *target, const char *relative);
/* Whole small file below /proc/PID into buf (NUL-terminated); length or -errno. */
ssize_t xp_target_read(const struct xp_target *target, const char *relative, char *buf, size_t size);
/* CPU time of all threads of the process so far, dead ones included, ns: the process CPU clock (clock_getcpuclockid), else utime+stime. */
int xp_target_cpu_ns(const struct xp_target *target, uint64_t *ret_ns, struct xp_err *reterr);

#endif
