/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and checking a target: pidfd first, then what /proc says, so that the number can never come to mean another process. */
#include "target/target_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/parse.h"
#include "target/self.h"

static const struct xp_field id_fields[] = {
	XP_FIELD(xp_target_id, pid, U32, "process id in xprobe's own PID namespace"),
	XP_FIELD(xp_target_id, process_start_time, U64, "start time in clock ticks since boot"),
	XP_FIELD(xp_target_id, pid_namespace, OPT_U64, "inode of the target's PID namespace; absent in specs means \"do not check\"",
		 .flags = XP_OPTIONAL),
};
const struct xp_record xp_target_id_record =
	XP_RECORD("TargetIdentity", xp_target_id, id_fields, "which process, safe against reused numbers", .closed = true);

bool xp_target_gone(const struct xp_target *target)
{
	struct pollfd fd = { .fd = target->pidfd, .events = POLLIN };

	/* Readable when every thread has ended, also before the parent has waited; the main thread alone does not count. */
	return poll(&fd, 1, 0) == 1;
}

int xp_target_view(const struct xp_target *target)
{
	return target->view_fd >= 0 ? target->view_fd : target->proc_fd;
}

/* What would let us look: never the user that we already are. */
static void hint_right(const struct xp_target *target, int errnum, const char *call, struct xp_err *reterr)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_refusal refusal = { XP_GATE_PROC, errnum, call, reterr->object, { XP_CAP_SYS_PTRACE }, -1 };
	struct xp_feature feature;
	struct xp_self self;

	xp_self_read(&self);
	xp_self_explain(&self, &refusal, arena, &feature);
	if (self.euid)
		xp_err_hint(reterr, "run xprobe as the user of process %u", target->id.pid);
	xp_err_hint(reterr, "%s", feature.unblock);
}

int xp_target_fail(const struct xp_target *target, int errnum, const char *call, const char *relative, struct xp_err *reterr)
{
	enum xp_err_code code = errnum == ESRCH || xp_target_gone(target) ? XP_E_TARGET_EXITED : XP_E_NONE;

	if (code) {
		xp_fail_call(reterr, code, errnum, call, "/proc/%u/%s", target->id.pid, relative);
		xp_err_say(reterr, "process %u has ended", target->id.pid);
		return -(int)code;
	}
	int rc = xp_fail_sys(reterr, errnum, call, "/proc/%u/%s", target->id.pid, relative);
	if (rc == -XP_E_PERMISSION_DENIED)
		hint_right(target, errnum, call, reterr);
	return rc;
}

static int open_pidfd(uint32_t pid, int *ret_fd, struct xp_err *reterr)
{
	long fd = pid && pid <= INT_MAX ? syscall(SYS_pidfd_open, (pid_t)pid, 0) : (errno = ESRCH, -1);

	if (fd >= 0) {
		*ret_fd = (int)fd;
		return 0;
	}
	int errnum = errno;
	if (errnum == ESRCH)
		xp_fail_call(reterr, XP_E_TARGET_NOT_FOUND, errnum, "pidfd_open", "pid %u", pid);
	else if (errnum == EINVAL || errnum == ENOENT) /* before and since Linux 6.9: the number of a thread that leads no process */
		xp_fail_call(reterr, XP_E_TARGET_NOT_FOUND, errnum, "pidfd_open", "pid %u", pid);
	else if (errnum == ENOSYS) /* every supported kernel has it, so a filter hides it */
		return xp_fail_call(reterr, XP_E_PERMISSION_DENIED, errnum, "pidfd_open", "pid %u, system call hidden by a seccomp filter",
				    pid);
	else
		return xp_fail_sys(reterr, errnum, "pidfd_open", "pid %u", pid);
	xp_err_say(reterr, errnum == ESRCH ? "there is no process %u" : "%u is a thread, not a process", pid);
	return -XP_E_TARGET_NOT_FOUND;
}

/* A /proc of another PID namespace would show a stranger under the same number. */
static int check_procfs(struct xp_err *reterr)
{
	char text[32] = "";
	uint64_t self;
	ssize_t len = readlink("/proc/self", text, sizeof(text) - 1);

	if (len < 0)
		return xp_fail_call(reterr, XP_E_PERMISSION_DENIED, errno, "readlink",
				    "/proc/self: no procfs of this PID namespace is mounted");
	if (!xp_parse_u64(text, &self) || self != (uint64_t)getpid())
		return xp_fail_call(reterr, XP_E_PERMISSION_DENIED, 0, "readlink", "/proc/self: /proc shows another PID namespace");
	return 0;
}

static int open_proc(struct xp_target *target, struct xp_err *reterr)
{
	char path[32];
	int rc = check_procfs(reterr);

	if (rc)
		return rc;
	snprintf(path, sizeof(path), "/proc/%u", target->id.pid);
	target->proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (target->proc_fd >= 0)
		return 0;
	if (errno == ENOENT && !xp_target_gone(target)) /* alive but invisible: mounted with hidepid */
		return xp_fail_call(reterr, XP_E_PERMISSION_DENIED, errno, "open", "%s: hidden by the hidepid option of /proc", path);
	return xp_target_fail(target, errno == ENOENT ? ESRCH : errno, "open", "", reterr);
}

/* The main thread may have called pthread_exit: the process lives on in its other threads, and only they lead to its memory. */
static int open_view(struct xp_target *target, struct xp_err *reterr)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	uint32_t *tids;
	size_t n;
	int rc = xp_target_threads(target, arena, &tids, &n, reterr);

	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++) {
		struct xp_stat stat;
		char path[32];
		xp_auto_err ignored = { 0 }; /* a thread that ended meanwhile is no failure */

		if (xp_target_stat(target, tids[i], &stat, &ignored) || stat.state == 'Z' || stat.state == 'X')
			continue;
		snprintf(path, sizeof(path), "/proc/%u", tids[i]);
		target->view_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		/* Bound to that thread only if it was still ours after the open. */
		if (target->view_fd >= 0 && !xp_target_stat(target, tids[i], &stat, &ignored)) {
			target->view_id = tids[i];
			return 0;
		}
		xp_close_p(&target->view_fd);
	}
	xp_fail(reterr, XP_E_TARGET_EXITED, "process %u has ended and waits for its parent", target->id.pid);
	return -XP_E_TARGET_EXITED;
}

int xp_target_renew_view(struct xp_target *target, struct xp_err *reterr)
{
	struct xp_stat stat;
	int rc = xp_target_stat(target, 0, &stat, reterr);

	if (rc)
		return rc;
	/* Threads end, and an execve by any of them makes it the main one: whatever thread was chosen before may be gone. */
	xp_close_p(&target->view_fd);
	target->view_id = target->id.pid;
	return stat.state == 'Z' || stat.state == 'X' ? open_view(target, reterr) : 0;
}

static int compare_start(const struct xp_target_id *found, const struct xp_target_id *expected, struct xp_err *reterr)
{
	if (found->process_start_time == expected->process_start_time)
		return 0;
	return xp_fail(reterr, XP_E_TARGET_REUSED, "process %u is another one now: it started at tick %" PRIu64 ", not %" PRIu64,
		       found->pid, found->process_start_time, expected->process_start_time);
}

static int compare_namespace(const struct xp_target_id *found, const struct xp_target_id *expected, struct xp_err *reterr)
{
	if (!expected->pid_namespace.set || found->pid_namespace.v == expected->pid_namespace.v)
		return 0;
	return xp_fail(reterr, XP_E_TARGET_REUSED, "process %u is another one now: its PID namespace is %" PRIu64 ", not %" PRIu64,
		       found->pid, found->pid_namespace.v, expected->pid_namespace.v);
}

/* Each part is compared as soon as it is known, so that another process is never told as one that refuses. */
static int read_identity(struct xp_target *target, const struct xp_target_id *expected, struct xp_err *reterr)
{
	struct xp_stat stat;
	struct stat ns;
	int rc = xp_target_stat(target, 0, &stat, reterr);

	if (rc)
		return rc;
	target->id.process_start_time = stat.start_time;
	rc = expected ? compare_start(&target->id, expected, reterr) : 0;
	if (rc)
		return rc;
	if (xp_target_gone(target))
		return xp_target_fail(target, ESRCH, "poll", "", reterr);
	rc = xp_target_renew_view(target, reterr);
	if (rc)
		return rc;
	if (fstatat(xp_target_view(target), "ns/pid", &ns, 0))
		return xp_target_fail(target, errno, "stat", "ns/pid", reterr);
	target->id.pid_namespace = (struct xp_opt_u64)XP_SOME(ns.st_ino);
	return expected ? compare_namespace(&target->id, expected, reterr) : 0;
}

static bool stat_exe(const struct xp_target *target, struct stat *st)
{
	return !fstatat(xp_target_view(target), "exe", st, 0) || !fstatat(target->proc_fd, "exe", st, 0);
}

static int look(struct xp_target *target, const struct xp_target_id *expected, struct xp_err *reterr)
{
	struct stat exe;
	int rc = open_pidfd(target->id.pid, &target->pidfd, reterr);

	if (!rc)
		rc = open_proc(target, reterr);
	if (!rc)
		rc = read_identity(target, expected, reterr);
	if (rc)
		return rc;
	/* The directory was opened by number; it is the pidfd's process only if that one has not ended since. */
	if (xp_target_gone(target))
		return xp_target_fail(target, ESRCH, "poll", "", reterr);
	if (stat_exe(target, &exe)) {
		target->exe_known = true;
		target->exe_dev = exe.st_dev;
		target->exe_ino = exe.st_ino;
	}
	return xp_target_maps_refresh(target, reterr);
}

int xp_target_open(uint32_t pid, const struct xp_target_id *expected, struct xp_target **ret_target, struct xp_err *reterr)
{
	xp_auto(xp_target_close) struct xp_target *target = calloc(1, sizeof(*target));

	if (!target)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "target state");
	*target = (struct xp_target){ .id.pid = pid, .pidfd = -1, .proc_fd = -1, .view_fd = -1, .view_id = pid, .arena = xp_arena_new() };

	int rc = look(target, expected, reterr);
	if (rc)
		return rc;
	*ret_target = xp_steal(&target);
	return 0;
}

void xp_target_close(struct xp_target *target)
{
	if (!target)
		return;
	xp_close_p(&target->view_fd);
	xp_close_p(&target->proc_fd);
	xp_close_p(&target->pidfd);
	xp_arena_free(target->arena);
	free(target);
}

const struct xp_target_id *xp_target_identity(const struct xp_target *target)
{
	return &target->id;
}

uint32_t xp_target_pid(const struct xp_target *target)
{
	return target->id.pid;
}

int xp_target_pidfd(const struct xp_target *target)
{
	return target->pidfd;
}

int xp_target_check(const struct xp_target *target, struct xp_err *reterr)
{
	struct xp_stat stat;

	if (xp_target_gone(target))
		return xp_target_fail(target, ESRCH, "poll", "stat", reterr);
	int rc = xp_target_stat(target, 0, &stat, reterr);
	if (rc)
		return rc;
	return compare_start(&(struct xp_target_id){ .pid = target->id.pid, .process_start_time = stat.start_time }, &target->id, reterr);
}

bool xp_target_exec_changed(const struct xp_target *target)
{
	struct stat exe;

	return target->exe_known && stat_exe(target, &exe) && (exe.st_dev != target->exe_dev || exe.st_ino != target->exe_ino);
}

int xp_target_openat(const struct xp_target *target, const char *relative)
{
	/* What the kernel keeps for the whole process comes from its own directory, the rest from a thread that has memory. */
	bool whole = !strncmp(relative, "task", 4) || !strncmp(relative, "stat", 4);
	int fd = openat(whole ? target->proc_fd : xp_target_view(target), relative, O_RDONLY | O_CLOEXEC);

	return fd >= 0 ? fd : -errno;
}

ssize_t xp_target_read(const struct xp_target *target, const char *relative, char *buf, size_t size)
{
	xp_auto_fd fd = xp_target_openat(target, relative);
	size_t len = 0;

	if (fd < 0)
		return fd;
	while (len + 1 < size) {
		ssize_t n = read(fd, buf + len, size - 1 - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		len += (size_t)n;
	}
	buf[len] = '\0';
	return (ssize_t)len;
}
