/* SPDX-License-Identifier: Apache-2.0 */
/* Every refusal that can be told from outside, without a ptrace call. In: target, request. Out: places, or the reason. No state. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "inject/inject_priv.h"
#include "target/program.h"
#include "target/self.h"
#include "target/status.h"

enum { SECCOMP_STRICT = 1, SECCOMP_FILTERED = 2, YAMA_NOBODY = 3 };

static int busy(const struct xp_target *target, uint32_t tracer, struct xp_err *reterr)
{
	if (!tracer)
		return xp_fail(reterr, XP_E_TARGET_BUSY, "process %u is stopped", xp_target_pid(target));
	xp_fail(reterr, XP_E_TARGET_BUSY, "process %u is traced by process %u", xp_target_pid(target), tracer);
	xp_err_detail(reterr, "holder", json_sprintf("%u", tracer));
	return -XP_E_TARGET_BUSY;
}

static int check_thread(const struct xp_target *target, uint32_t tid, struct xp_inject_ground *ground, struct xp_err *reterr)
{
	struct xp_process_status status;
	char path[48], text[16384];

	snprintf(path, sizeof(path), "task/%u/status", tid);
	if (xp_target_read(target, path, text, sizeof(text)) <= 0 || !xp_status_parse(text, &status) || strchr("ZX", status.state))
		return 0; /* it has ended meanwhile */
	if (status.tracer_pid || status.state == 't' || status.state == 'T')
		return busy(target, status.tracer_pid, reterr);
	if (status.seccomp == SECCOMP_STRICT)
		return xp_fail(reterr, XP_E_UNSUPPORTED_TARGET, "process %u is in strict seccomp mode, which would kill it",
			       xp_target_pid(target));
	ground->filtered |= status.seccomp >= SECCOMP_FILTERED;
	if (!ground->live_tid)
		ground->live_tid = tid;
	return 0;
}

static int check_threads(struct xp_target *target, struct xp_arena *arena, struct xp_inject_ground *ground, struct xp_err *reterr)
{
	uint32_t *tids;
	size_t n;

	int rc = xp_target_threads(target, arena, &tids, &n, reterr);
	for (size_t i = 0; !rc && i < n && i < XP_INJECT_MAX_THREADS; i++)
		rc = check_thread(target, tids[i], ground, reterr);
	if (!rc && !ground->live_tid)
		return xp_fail(reterr, XP_E_TARGET_EXITED, "no thread of process %u is alive", xp_target_pid(target));
	return rc;
}

static const char *what_refuses(const struct xp_self *self)
{
	if (self->ptrace_scope == YAMA_NOBODY)
		return "kernel.yama.ptrace_scope is 3: nobody may trace until the next boot";
	if (!self->initial_userns)
		return "xprobe runs in a user namespace that does not own the target: run it outside";
	if (!xp_self_has(self, XP_CAP_SYS_PTRACE) && self->ptrace_scope > 0)
		return "kernel.yama.ptrace_scope lets only parents trace: grant xprobe CAP_SYS_PTRACE";
	return "another user's or a protected process: grant xprobe CAP_SYS_PTRACE";
}

/* Reading memory asks the kernel for exactly the right that tracing asks for. */
static int check_rights(const struct xp_target *target, uint32_t tid, struct xp_err *reterr)
{
	const struct xp_maps *maps = xp_target_maps(target);
	struct xp_self self;
	unsigned char byte;

	for (size_t i = 0; i < maps->n; i++) {
		struct iovec here = { &byte, 1 }, there = { (void *)(uintptr_t)maps->at[i].start, 1 };

		if (!maps->at[i].read || !maps->at[i].inode || process_vm_readv((pid_t)tid, &here, 1, &there, 1, 0) == 1) {
			if (maps->at[i].read && maps->at[i].inode)
				return 0;
			continue;
		}
		if (errno != EPERM && errno != EACCES && errno != ENOSYS)
			continue; /* a page behind the file's end */
		xp_self_read(&self);
		xp_fail_call(reterr, XP_E_PERMISSION_DENIED, errno, "process_vm_readv", "process %u", xp_target_pid(target));
		xp_err_hint(reterr, "%s", what_refuses(&self));
		return -XP_E_PERMISSION_DENIED;
	}
	return xp_fail(reterr, XP_E_UNSUPPORTED_TARGET, "process %u has no memory that can be read", xp_target_pid(target));
}

static bool maps_musl(const struct xp_maps *maps)
{
	for (size_t i = 0; i < maps->n; i++)
		if (maps->at[i].inode && (strstr(maps->at[i].path, "/ld-musl-") || strstr(maps->at[i].path, "/libc.musl-")))
			return true;
	return false;
}

static int check_program(struct xp_target *target, struct xp_arena *arena, struct xp_err *reterr)
{
	struct xp_program program;
	uint32_t pid = xp_target_pid(target);

	xp_program_read(target, arena, &program);
	if (strcmp(program.machine, "x86_64") != 0)
		return xp_fail(reterr, XP_E_UNSUPPORTED_TARGET, "process %u runs %s code, the agent is built for x86_64", pid,
			       program.machine);
	if (program.libc == XP_LIBC_MUSL)
		return xp_fail(reterr, XP_E_UNSUPPORTED_TARGET, "process %u uses musl, which cannot host CUPTI or the agent", pid);
	if (program.libc == XP_LIBC_STATIC)
		return xp_fail(reterr, XP_E_UNSUPPORTED_TARGET, "process %u is linked statically and cannot load libraries", pid);
	if (program.libc != XP_LIBC_GLIBC)
		return xp_fail(reterr, XP_E_UNSUPPORTED_TARGET, "process %u uses a C library that is not known", pid);
	if (maps_musl(xp_target_maps(target)))
		return xp_fail(reterr, XP_E_UNSUPPORTED_TARGET, "process %u maps two C libraries, glibc and musl", pid);
	return 0;
}

/* The image is opened in the target as /proc/thread-self/fd/N: its mount view must have a /proc that knows it, under whichever number. */
static int check_view(const struct xp_target *target, struct xp_err *reterr)
{
	struct xp_process_status status;
	struct statfs fs;

	int rc = xp_target_status(target, &status, reterr);
	if (rc)
		return rc;
	xp_auto_fd proc = xp_target_path_open(target, "/proc");
	if (proc >= 0 && !fstatfs(proc, &fs) && fs.f_type == PROC_SUPER_MAGIC)
		for (size_t i = 0; i < status.n_ns_pid; i++) {
			char path[32];
			struct stat st;

			snprintf(path, sizeof(path), "%u/fd", status.ns_pid[i]);
			if (!fstatat(proc, path, &st, 0))
				return 0;
		}
	return xp_fail(reterr, XP_E_UNSUPPORTED_TARGET, "the mount view of process %u has no /proc to load a library through",
		       xp_target_pid(target));
}

/* What a filter answers is read at the stop; where the kernel would not show it, nothing tells what it does. */
static int check_filter(const struct xp_target *target, const struct xp_inject_ground *ground, struct xp_err *reterr)
{
	struct xp_self self;

	if (!ground->filtered)
		return 0;
	xp_self_read(&self);
	if (self.initial_userns && xp_self_has(&self, XP_CAP_SYS_ADMIN) && self.seccomp <= 0)
		return 0;
	return xp_fail(reterr, XP_E_UNSUPPORTED_TARGET,
		       "process %u has a seccomp filter that might kill it, and reading the filter takes CAP_SYS_ADMIN",
		       xp_target_pid(target));
}

int xp_inject_survey(struct xp_target *target, const struct xp_inject_request *request, struct xp_arena *arena,
		     struct xp_inject_ground *ret_ground, struct xp_err *reterr)
{
	struct xp_inject_ground ground = { 0 };

	int rc = xp_target_check(target, reterr);
	if (!rc)
		rc = xp_target_maps_refresh(target, reterr);
	if (!rc)
		rc = check_threads(target, arena, &ground, reterr);
	if (!rc)
		rc = check_rights(target, ground.live_tid, reterr);
	if (!rc)
		rc = check_program(target, arena, reterr);
	if (!rc)
		rc = check_view(target, reterr);
	if (!rc)
		rc = check_filter(target, &ground, reterr);
	if (!rc)
		rc = xp_inject_check_image(target, request, reterr);
	if (!rc)
		rc = xp_inject_find_places(target, ground.live_tid, arena, &ground.places, reterr);
	if (!rc)
		*ret_ground = ground;
	return rc;
}
