/* SPDX-License-Identifier: Apache-2.0 */
/* Reads xprobe's own situation: capabilities, user namespace, seccomp, lockdown and the sysctls that grant rights. No state. */
#include "target/self.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "base/arena.h"

/* Inode of the initial user namespace: include/linux/proc_ns.h (PROC_USER_INIT_INO). */
#define INITIAL_USER_NAMESPACE 0xEFFFFFFDu

static ssize_t read_small(const char *path, char *buf, size_t size)
{
	xp_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, buf, size - 1) : -1;

	buf[n > 0 ? n : 0] = '\0';
	return n;
}

int64_t xp_self_number(const char *path)
{
	char text[64], *end;

	if (read_small(path, text, sizeof(text)) <= 0)
		return XP_NOT_READABLE;
	errno = 0;
	int64_t value = strtoll(text, &end, 10);
	return errno || end == text ? XP_NOT_READABLE : value;
}

/* "name:<tab>VALUE" of a status file. */
static int64_t status_value(const char *status, const char *name, int base)
{
	const char *at = strstr(status, name);

	return at ? (int64_t)strtoull(at + strlen(name), NULL, base) : XP_NOT_READABLE;
}

/* "none [integrity] confidentiality": the bracketed word. */
static void read_lockdown(char *ret_word, size_t size)
{
	char text[128];

	ret_word[0] = '\0';
	if (read_small("/sys/kernel/security/lockdown", text, sizeof(text)) <= 0)
		return;
	char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
	if (!close)
		return;
	*close = '\0';
	strncat(ret_word, open + 1, size - 1);
}

void xp_self_read(struct xp_self *ret_self)
{
	struct xp_self self = { .euid = geteuid() };
	char status[8192];
	struct stat ns;

	if (read_small("/proc/self/status", status, sizeof(status)) <= 0)
		status[0] = '\0';
	int64_t caps = status_value(status, "\nCapEff:\t", 16);
	self.caps = caps == XP_NOT_READABLE ? 0 : (uint64_t)caps;
	self.seccomp = status_value(status, "\nSeccomp:\t", 10);
	self.initial_userns = stat("/proc/self/ns/user", &ns) || ns.st_ino == INITIAL_USER_NAMESPACE;
	self.paranoid = xp_self_number("/proc/sys/kernel/perf_event_paranoid");
	self.ptrace_scope = xp_self_number("/proc/sys/kernel/yama/ptrace_scope");
	self.unprivileged_bpf = xp_self_number("/proc/sys/kernel/unprivileged_bpf_disabled");
	read_lockdown(self.lockdown, sizeof(self.lockdown));
	*ret_self = self;
}

bool xp_self_has(const struct xp_self *self, unsigned cap)
{
	/* CAP_SYS_PTRACE is the one that CAP_SYS_ADMIN does not stand for. */
	bool implied = cap != XP_CAP_SYS_PTRACE && (self->caps >> XP_CAP_SYS_ADMIN & 1);

	return implied || (self->caps >> cap & 1);
}

bool xp_self_filtered(const struct xp_self *self, enum xp_gate gate)
{
	if (self->seccomp != 2)
		return false;
	switch (gate) {
	case XP_GATE_BPF:
		/* Without an attribute the kernel says EFAULT. Before Linux 6.5 it says EPERM first to those who may not use BPF at all. */
		syscall(SYS_bpf, BPF_PROG_LOAD, NULL, 48);
		return errno != EFAULT && (errno != EPERM || xp_self_has(self, XP_CAP_BPF) || !self->unprivileged_bpf);
	case XP_GATE_PERF:
		/* Unknown flags are refused before anything else is looked at. */
		syscall(SYS_perf_event_open, NULL, 0, -1, -1, ~0ul);
		return errno != EINVAL;
	case XP_GATE_PTRACE:
		ptrace(PTRACE_PEEKDATA, -1, NULL, NULL);
		return errno != ESRCH;
	case XP_GATE_PROC:
	case XP_GATE_COUNT:
		break;
	}
	return false;
}
