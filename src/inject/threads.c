/* SPDX-License-Identifier: Apache-2.0 */
/* Which threads may be stopped, best first, by the system call they wait in; who holds a lock of the loader. In: /proc. No state. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/futex.h>

#include "inject/inject_priv.h"
#include "target/status.h"

enum { WHOLE = 1, TIMED = 3, LAST = 4, LOADER_BYTES = 65536, CONTENDED = 2 };

/* Calls in which nobody holds a lock of malloc or of the loader. Whole: the kernel restarts them without a trace. */
static const struct {
	int nr, rank;
} innocent[] = {
	{ SYS_poll, WHOLE },	   { SYS_ppoll, WHOLE },  { SYS_select, WHOLE },	  { SYS_pselect6, WHOLE },
	{ SYS_nanosleep, WHOLE },  { SYS_pause, WHOLE },  { SYS_clock_nanosleep, WHOLE }, { SYS_restart_syscall, WHOLE },
	{ SYS_wait4, WHOLE },	   { SYS_waitid, WHOLE }, { SYS_rt_sigsuspend, WHOLE },	  { SYS_futex, WHOLE + 1 },
	{ SYS_epoll_wait, TIMED }, { SYS_accept, TIMED }, { SYS_accept4, TIMED },	  { SYS_recvfrom, TIMED },
	{ SYS_recvmsg, TIMED },	   { SYS_read, TIMED },	  { SYS_epoll_pwait, TIMED },
};

/* Waits of the C library's own locks pass 2, "somebody waits": malloc and the loader are among them. */
static bool is_lock_wait(const uint64_t args[6])
{
	int operation = (int)args[1] & FUTEX_CMD_MASK;

	return operation == FUTEX_WAIT ? (uint32_t)args[2] == CONTENDED : operation != FUTEX_WAIT_BITSET;
}

int xp_inject_call_rank(long nr, const uint64_t args[6])
{
	bool epoll = nr == SYS_epoll_wait || nr == SYS_epoll_pwait;

	for (size_t i = 0; i < XP_LEN(innocent); i++) {
		if (innocent[i].nr != nr)
			continue;
		if (nr == SYS_futex && is_lock_wait(args))
			return 0;
		/* Made again after the stop, a wait with an end would end later. */
		return epoll && (int)args[3] >= 0 ? LAST : innocent[i].rank;
	}
	return 0;
}

/* "7 0x.. six arguments 0xSP 0xPC", "running", or "-1 0xSP 0xPC". */
static int rank_of(struct xp_target *target, uint32_t tid, uint64_t *ret_sp, uint64_t *ret_pc)
{
	unsigned long long a[8];
	char path[48], text[256];
	long nr;

	snprintf(path, sizeof(path), "task/%u/syscall", tid);
	if (xp_target_read(target, path, text, sizeof(text)) <= 0)
		return 0;
	if (!strncmp(text, "running", 7))
		return XP_RANK_BUSY;
	if (sscanf(text, "%ld 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx", &nr, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5],
		   &a[6], &a[7]) != 9)
		return XP_RANK_BUSY;
	*ret_sp = a[6];
	*ret_pc = a[7];
	uint64_t args[6] = { a[0], a[1], a[2], a[3], a[4], a[5] };
	int rank = xp_inject_call_rank(nr, args);
	/* In another call now, perhaps a short one. */
	return rank ? rank : XP_RANK_BUSY;
}

static int by_rank(const void *a, const void *b)
{
	const struct xp_inject_thread *x = a, *y = b;

	return x->rank != y->rank ? x->rank - y->rank : (x->tid < y->tid) - (x->tid > y->tid);
}

/* Uninterruptible and dead threads cannot be stopped. */
static bool fill(struct xp_target *target, uint32_t tid, struct xp_inject_thread *ret_thread)
{
	struct xp_process_status status;
	char path[48], text[16384];

	snprintf(path, sizeof(path), "task/%u/status", tid);
	if (xp_target_read(target, path, text, sizeof(text)) <= 0 || !xp_status_parse(text, &status))
		return false;
	if (!strchr("RS", status.state))
		return false;
	struct xp_inject_thread thread = { .tid = tid, .own_tid = tid };
	thread.rank = rank_of(target, tid, &thread.sp, &thread.pc);
	if (!thread.rank)
		return false;
	if (status.n_ns_pid)
		thread.own_tid = status.ns_pid[status.n_ns_pid - 1];
	*ret_thread = thread;
	return true;
}

int xp_inject_threads(struct xp_target *target, struct xp_arena *arena, struct xp_inject_thread **ret_threads, size_t *ret_n,
		      struct xp_err *reterr)
{
	uint32_t *tids;
	size_t n, used = 0;

	int rc = xp_target_threads(target, arena, &tids, &n, reterr);
	if (rc)
		return rc;
	if (n > XP_INJECT_MAX_THREADS)
		n = XP_INJECT_MAX_THREADS;
	struct xp_inject_thread *threads = xp_arena_array(arena, struct xp_inject_thread, n ? n : 1);
	for (size_t i = 0; i < n; i++)
		used += fill(target, tids[i], &threads[used]);
	qsort(threads, used, sizeof(*threads), by_rank);
	*ret_threads = threads;
	*ret_n = used;
	return 0;
}

/* What a recursive mutex of the C library looks like in memory while somebody holds it. */
static bool is_held(const struct __pthread_mutex_s *m)
{
	return (m->__kind & 0x7f) == PTHREAD_MUTEX_RECURSIVE_NP && (m->__lock == 1 || m->__lock == CONTENDED) && m->__owner > 0 &&
	       m->__nusers == 1 && m->__count > 0 && m->__count < 65536;
}

/* The locks have no exported names; they lie among the loader's writable data, as recursive mutexes. */
uint32_t xp_inject_loader_lock(struct xp_target *target, uint32_t tid)
{
	static const size_t step = sizeof(uint64_t);
	const struct xp_maps *maps = xp_target_maps(target);
	xp_auto(xp_free) void *memory = malloc(LOADER_BYTES);
	const unsigned char *bytes = memory;

	for (size_t i = 0; bytes && i < maps->n; i++) {
		const struct xp_mapping *m = &maps->at[i];
		struct __pthread_mutex_s mutex;

		if (!m->write || xp_inject_part_of(m) != XP_PART_LOADER)
			continue;
		struct iovec here = { memory, LOADER_BYTES }, there = { (void *)(uintptr_t)m->start, m->end - m->start };
		ssize_t got = process_vm_readv((pid_t)tid, &here, 1, &there, 1, 0);
		for (size_t at = 0; got > 0 && at + sizeof(mutex) <= (size_t)got; at += step) {
			memcpy(&mutex, bytes + at, sizeof(mutex));
			if (is_held(&mutex))
				return (uint32_t)mutex.__owner;
		}
	}
	return 0;
}
