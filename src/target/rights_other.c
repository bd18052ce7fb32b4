/* SPDX-License-Identifier: Apache-2.0 */
/* Features that no probe tells about: GPU libraries, injection, other users' processes. In: struct xp_trying. No state. */
#include "target/rights_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/err.h"
#include "base/parse.h"
#include "target/gpu_parts.h"

enum { INJECTION_DEADLINE_MS = 500, MAX_PROCESSES = 4096 };

void xp_try_nvml(struct xp_trying *t)
{
	struct xp_driver_answer a = xp_ask_nvml();

	if (!a.rc) {
		xp_try_decide(t, XP_FEATURE_AVAILABLE, NULL, NULL);
		return;
	}
	xp_try_call(t, a.call, 0, "libnvidia-ml.so.1");
	t->feature->errno_name = a.rc > 0 ? xp_arena_fmt(t->arena, "%d", a.rc) : NULL;
	const char *why = xp_driver_reason(&a, "libnvidia-ml.so.1", t->arena);
	if (a.rc == XP_ASK_NO_LIBRARY)
		xp_try_decide(t, XP_FEATURE_UNAVAILABLE, "libnvidia-ml.so.1",
			      "install the NVIDIA driver; in a container, start it with the NVIDIA runtime");
	else
		xp_try_decide(t, a.rc == XP_ASK_HUNG ? XP_FEATURE_UNKNOWN : XP_FEATURE_UNAVAILABLE, "a working NVIDIA driver",
			      xp_arena_fmt(t->arena, "%s: `nvidia-smi` tells whether the driver works", why));
}

void xp_try_cupti_agent(struct xp_trying *t)
{
	const char *wanted, *agent = xp_agent_path(t->arena, &wanted);

	if (!agent) {
		xp_try_call(t, "access", ENOENT, wanted);
		xp_try_decide(t, XP_FEATURE_UNAVAILABLE, "libxprobe-agent.so",
			      "put libxprobe-agent.so beside xprobe or name it in XPROBE_CUPTI_AGENT_PATH");
	} else if (!xp_cupti_path(13, t->arena) && !xp_cupti_path(12, t->arena)) {
		xp_try_call(t, "access", ENOENT, "libcupti.so");
		xp_try_decide(t, XP_FEATURE_RESTRICTED, "libcupti.so.12 or libcupti.so.13",
			      "install CUPTI (CUDA toolkit or the nvidia-cuda-cupti wheel); targets that map their own copy need none");
	} else {
		xp_try_decide(t, XP_FEATURE_AVAILABLE, NULL, NULL);
	}
}

/* What injection needs of the kernel, on a child of our own: stop it, take one of its descriptors, let it go. */
struct inject_reply {
	int errnum;
	unsigned call;
};
static const char *const inject_calls[] = { "fork",    "ptrace(PTRACE_SEIZE)", "ptrace(PTRACE_INTERRUPT)",
					    "waitpid", "pidfd_getfd",	       "ptrace(PTRACE_DETACH)" };

static struct inject_reply inject_trial(pid_t child)
{
	int status;

	if (ptrace(PTRACE_SEIZE, child, NULL, NULL))
		return (struct inject_reply){ errno, 1 };
	if (ptrace(PTRACE_INTERRUPT, child, NULL, NULL))
		return (struct inject_reply){ errno, 2 };
	if (waitpid(child, &status, __WALL) != child || !WIFSTOPPED(status))
		return (struct inject_reply){ errno, 3 };
	xp_auto_fd pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	xp_auto_fd taken = (int)syscall(SYS_pidfd_getfd, pidfd, 0, 0);
	if (taken < 0)
		return (struct inject_reply){ errno, 4 };
	if (ptrace(PTRACE_DETACH, child, NULL, NULL))
		return (struct inject_reply){ errno, 5 };
	return (struct inject_reply){ 0 };
}

static ssize_t inject_child(void *arg, char *buf, size_t size)
{
	struct inject_reply reply;
	pid_t parent = getpid(), child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* It may have ended before that: a trial that takes too long is killed at any moment. */
		if (getppid() != parent)
			raise(SIGKILL);
		for (;;)
			pause();
	}
	reply = child < 0 ? (struct inject_reply){ errno, 0 } : inject_trial(child);
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, __WALL);
	}
	if (size < sizeof(reply))
		return -1;
	memcpy(buf, &reply, sizeof(reply));
	return sizeof(reply);
}

void xp_try_injection(struct xp_trying *t)
{
	struct inject_reply reply;
	ssize_t len = xp_child_call(inject_child, NULL, INJECTION_DEADLINE_MS, (char *)&reply, sizeof(reply));

	if (len != sizeof(reply)) {
		xp_try_call(t, "ptrace", len == -ETIME ? ETIME : 0, "a child of xprobe");
		xp_try_decide(t, XP_FEATURE_UNKNOWN, NULL, "the trial on a child of xprobe did not end in time");
	} else if (reply.errnum) {
		struct xp_refusal refusal = { .gate = XP_GATE_PTRACE,
					      .errnum = reply.errnum,
					      .call = inject_calls[reply.call],
					      .object = "a child of xprobe",
					      .caps = { XP_CAP_SYS_PTRACE },
					      .paranoid = -1 };

		xp_self_explain(&t->self, &refusal, t->arena, t->feature);
	} else if (!xp_self_has(&t->self, XP_CAP_SYS_PTRACE) && t->self.ptrace_scope > 0) {
		/* Yama lets a parent trace its child; other processes are another matter. */
		xp_try_call(t, "read", 0, "kernel.yama.ptrace_scope");
		xp_try_decide(t, XP_FEATURE_RESTRICTED, "CAP_SYS_PTRACE",
			      "kernel.yama.ptrace_scope allows children of xprobe only: grant xprobe CAP_SYS_PTRACE or set it to 0");
	} else {
		xp_try_decide(t, XP_FEATURE_AVAILABLE, NULL, NULL);
	}
}

static void close_dir(DIR *dir)
{
	if (dir)
		closedir(dir);
}
XP_DEFINE_AUTO(DIR *, close_dir);

/* Reads the maps of the first process of another user that has any. -1: there is none; 0 or errno. */
static int read_other(uint32_t own_uid, char *ret_path, size_t size)
{
	xp_auto(close_dir) DIR *proc = opendir("/proc");
	unsigned seen = 0;

	for (struct dirent *entry; proc && seen < MAX_PROCESSES && (entry = readdir(proc));) {
		struct stat st;
		uint64_t pid;
		char byte;

		if (!xp_parse_u64(entry->d_name, &pid) || fstatat(dirfd(proc), entry->d_name, &st, 0) || st.st_uid == own_uid)
			continue;
		seen++;
		snprintf(ret_path, size, "/proc/%s/maps", entry->d_name);
		xp_auto_fd fd = open(ret_path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 && (errno == EACCES || errno == EPERM))
			return errno;
		if (fd >= 0 && read(fd, &byte, 1) == 1) /* kernel threads and processes that end have none */
			return 0;
	}
	return -1;
}

/* Deleted and replaced files are opened through map_files; links there need a right even for one's own process. */
static int follow_map_file(char *ret_path, size_t size)
{
	xp_auto(close_dir) DIR *links = opendir("/proc/self/map_files");
	struct stat st;

	for (struct dirent *entry; links && (entry = readdir(links));) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(ret_path, size, "/proc/self/map_files/%s", entry->d_name);
		return stat(ret_path, &st) ? errno : 0;
	}
	return links ? ENOENT : errno;
}

void xp_try_other_users(struct xp_trying *t)
{
	char path[300] = "";
	int errnum = read_other(t->self.euid, path, sizeof(path));
	const char *call = "open";
	unsigned cap = XP_CAP_SYS_PTRACE;

	if (errnum == -1) {
		/* Nobody to try it on: the right alone decides. */
		t->feature->tried = false;
		errnum = xp_self_has(&t->self, XP_CAP_SYS_PTRACE) ? 0 : EACCES;
		snprintf(path, sizeof(path), "/proc/PID/maps of another user");
	}
	if (!errnum && (errnum = follow_map_file(path, sizeof(path)))) {
		call = "stat";
		cap = XP_CAP_CHECKPOINT_RESTORE;
	}
	if (!errnum) {
		xp_try_decide(t, XP_FEATURE_AVAILABLE, NULL, NULL);
		return;
	}
	struct xp_refusal refusal = {
		.gate = XP_GATE_PROC, .errnum = errnum, .call = call, .object = path, .caps = { cap }, .paranoid = -1
	};
	xp_self_explain(&t->self, &refusal, t->arena, t->feature);
}
