/* SPDX-License-Identifier: Apache-2.0 */
/* One traced thread: stop, registers, memory, let go. Every wait is bounded. State: struct xp_tracee. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/elf.h>

#include "base/cleanup.h"
#include "inject/tracee.h"

enum { SLICE_NS = 2000000 };

/* The signals that end a wait early are blocked in this process, and SIGCHLD too: see inject.c. */
void xp_tracee_pause(struct xp_tracee *tracee, uint64_t ns)
{
	struct timespec slice = { .tv_nsec = (long)(ns < SLICE_NS ? ns : SLICE_NS) };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	int signum = sigtimedwait(&set, NULL, &slice);
	if (signum > 0 && signum != SIGCHLD)
		tracee->cancelled = true;
}

static int stop_of(int status)
{
	int signum = WSTOPSIG(status), event = status >> 16;

	if (event == PTRACE_EVENT_STOP)
		return signum == SIGTRAP ? XP_STOP_TRAP : XP_STOP_GROUP;
	return signum == (SIGTRAP | 0x80) ? XP_STOP_CALL : signum;
}

int xp_tracee_wait(struct xp_tracee *tracee, uint64_t within_ns)
{
	uint64_t now = xp_inject_now(), end = now + within_ns;

	if (end > tracee->deadline_ns)
		end = tracee->deadline_ns;
	for (;; now = xp_inject_now()) {
		int status;
		pid_t got = waitpid((pid_t)tracee->tid, &status, __WALL | WNOHANG);

		if (got < 0 || (got > 0 && !WIFSTOPPED(status))) {
			tracee->attached = false;
			return XP_STOP_GONE;
		}
		if (got > 0) {
			tracee->stopped = true;
			return stop_of(status);
		}
		if (now >= end)
			return XP_STOP_NONE;
		xp_tracee_pause(tracee, end - now);
	}
}

/* After an order to stop: signals on their way are delivered first, as they would have been. */
static int wait_for_trap(struct xp_tracee *tracee, uint64_t within_ns)
{
	uint64_t end = xp_inject_now() + within_ns;

	for (;;) {
		uint64_t now = xp_inject_now();
		int stop = xp_tracee_wait(tracee, now < end ? end - now : 0);

		if (stop == XP_STOP_TRAP)
			return 0;
		if (stop == XP_STOP_NONE)
			return -ETIME;
		if (stop == XP_STOP_GONE)
			return -ESRCH;
		if (stop == XP_STOP_GROUP)
			return -EBUSY;
		int rc = xp_tracee_resume(tracee, false, stop == XP_STOP_CALL ? 0 : stop);
		if (rc)
			return rc;
	}
}

int xp_tracee_stop(struct xp_tracee *tracee, uint32_t tid, uint64_t within_ns)
{
	/* Never PTRACE_O_EXITKILL: the target outlives us. */
	if (ptrace(PTRACE_SEIZE, (pid_t)tid, NULL, (void *)(uintptr_t)PTRACE_O_TRACESYSGOOD))
		return -errno;
	tracee->tid = tid;
	tracee->attached = true;
	tracee->stopped = false;
	return xp_tracee_interrupt(tracee, within_ns);
}

int xp_tracee_interrupt(struct xp_tracee *tracee, uint64_t within_ns)
{
	if (ptrace(PTRACE_INTERRUPT, (pid_t)tracee->tid, NULL, NULL))
		return -errno;
	return wait_for_trap(tracee, within_ns);
}

int xp_tracee_get_regs(struct xp_tracee *tracee, struct user_regs_struct *ret_regs)
{
	struct iovec io = { ret_regs, sizeof(*ret_regs) };

	return ptrace(PTRACE_GETREGSET, (pid_t)tracee->tid, (void *)(uintptr_t)NT_PRSTATUS, &io) ? -errno : 0;
}

int xp_tracee_set_regs(struct xp_tracee *tracee, const struct user_regs_struct *regs)
{
	struct iovec io = { (void *)(uintptr_t)regs, sizeof(*regs) };

	return ptrace(PTRACE_SETREGSET, (pid_t)tracee->tid, (void *)(uintptr_t)NT_PRSTATUS, &io) ? -errno : 0;
}

int xp_tracee_set_mask(struct xp_tracee *tracee, uint64_t mask)
{
	return ptrace(PTRACE_SETSIGMASK, (pid_t)tracee->tid, (void *)sizeof(mask), &mask) ? -errno : 0;
}

int xp_tracee_set_vector(struct xp_tracee *tracee)
{
	struct iovec io = { tracee->vector, tracee->vector_size };

	return ptrace(PTRACE_SETREGSET, (pid_t)tracee->tid, (void *)(uintptr_t)NT_X86_XSTATE, &io) ? -errno : 0;
}

int xp_tracee_save(struct xp_tracee *tracee)
{
	struct iovec io = { tracee->vector, sizeof(tracee->vector) };
	char path[32];

	int rc = xp_tracee_get_regs(tracee, &tracee->regs);
	if (rc)
		return rc;
	if (ptrace(PTRACE_GETREGSET, (pid_t)tracee->tid, (void *)(uintptr_t)NT_X86_XSTATE, &io))
		return -errno;
	tracee->vector_size = io.iov_len;
	if (ptrace(PTRACE_GETSIGMASK, (pid_t)tracee->tid, (void *)sizeof(tracee->signal_mask), &tracee->signal_mask))
		return -errno;
	if (tracee->memory >= 0)
		close(tracee->memory);
	snprintf(path, sizeof(path), "/proc/%u/mem", tracee->tid);
	tracee->memory = open(path, O_RDWR | O_CLOEXEC);
	return tracee->memory < 0 ? -errno : 0;
}

int xp_tracee_resume(struct xp_tracee *tracee, bool to_call, int signal)
{
	if (ptrace(to_call ? PTRACE_SYSCALL : PTRACE_CONT, (pid_t)tracee->tid, NULL, (void *)(uintptr_t)signal))
		return -errno;
	tracee->stopped = false;
	return 0;
}

void xp_tracee_let_go(struct xp_tracee *tracee, int signal)
{
	if (tracee->memory >= 0)
		close(tracee->memory);
	tracee->memory = -1;
	if (tracee->attached && tracee->stopped && !ptrace(PTRACE_DETACH, (pid_t)tracee->tid, NULL, (void *)(uintptr_t)signal))
		tracee->attached = false;
}

int xp_tracee_read(const struct xp_tracee *tracee, uint64_t address, void *bytes, size_t size)
{
	ssize_t got = pread(tracee->memory, bytes, size, (off_t)address);

	return got == (ssize_t)size ? 0 : got < 0 ? -errno : -EFAULT;
}

/* Word by word, where the kernel keeps /proc/PID/mem from writing to code (6.12, proc_mem.force_override=never). */
static int poke(const struct xp_tracee *tracee, uint64_t address, const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i += sizeof(long)) {
		size_t n = size - i < sizeof(long) ? size - i : sizeof(long);
		long word = 0;

		errno = 0;
		if (n < sizeof(long))
			word = ptrace(PTRACE_PEEKDATA, (pid_t)tracee->tid, (void *)(uintptr_t)(address + i), NULL);
		if (errno)
			return -errno;
		memcpy(&word, bytes + i, n);
		if (ptrace(PTRACE_POKEDATA, (pid_t)tracee->tid, (void *)(uintptr_t)(address + i), (void *)(uintptr_t)word))
			return -errno;
	}
	return 0;
}

int xp_tracee_write(const struct xp_tracee *tracee, uint64_t address, const void *bytes, size_t size)
{
	return pwrite(tracee->memory, bytes, size, (off_t)address) == (ssize_t)size ? 0 : poke(tracee, address, bytes, size);
}

static uint64_t signal_set(const char *status, const char *name)
{
	const char *at = strstr(status, name);

	return at ? strtoull(at + strlen(name), NULL, 16) : 0;
}

bool xp_tracee_signal_waits(const struct xp_tracee *tracee)
{
	char path[32], text[8192];

	snprintf(path, sizeof(path), "/proc/%u/status", tracee->tid);
	xp_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return false;
	text[len] = '\0';
	uint64_t pending = signal_set(text, "\nSigPnd:\t") | signal_set(text, "\nShdPnd:\t");
	return pending & signal_set(text, "\nSigCgt:\t") & ~tracee->signal_mask;
}
