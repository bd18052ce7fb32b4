/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a thread that may be used, stops it, has a close look, and loads or lets it go and tries another, until the time is up. Runs in a
 * process of its own: its end lets go of everything, even of a thread that did not stop when asked to.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "arch/injection.h"
#include "inject/inject_priv.h"

enum { STOP_NS = 100000000, PAUSE_NS = 1500000, BUSY_A_ROUND = 4, MAX_LATE = 32, CALL_SIZE = 2 };
static const uint64_t held_ns = 1000000000; /* a lock that one thread holds for so long is not given back soon */

struct search {
	struct xp_target *target;
	const struct xp_inject_request *request;
	const struct xp_inject_ground *ground;
	struct xp_inject_frames *frames;
	struct xp_tracee tracee;
	const char *last_reason;
	uint32_t attempts;
	uint32_t lock_owner;
	uint64_t owned_since;
	uint32_t late[MAX_LATE]; /* asked to stop, did not in time */
	size_t n_late;
};

enum verdict { USE_IT, NOT_THIS_ONE, NOT_AT_ALL };

/* The stopped thread in detail: the look from outside may be out of date. */
static const char *refuse(struct search *s, const struct xp_inject_thread *thread)
{
	const struct user_regs_struct *r = &s->tracee.regs;
	const uint64_t args[6] = { r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9 };
	const struct xp_unwind_regs regs = { .ip = r->rip, .sp = r->rsp, .bp = r->rbp };
	unsigned char bytes[CALL_SIZE];
	bool in_call;
	long nr;

	if (!xp_injection_in_call(r, &in_call, &nr))
		return "it runs 32-bit code";
	if (in_call && !xp_inject_call_rank(nr, args))
		return "it is inside a system call that may belong to malloc or the loader";
	if (in_call && xp_inject_part_of(xp_maps_find(xp_target_maps(s->target), r->rip)) != XP_PART_LIBC)
		return "its system call was not made by the C library";
	if (in_call && (xp_tracee_read(&s->tracee, r->rip - CALL_SIZE, bytes, sizeof(bytes)) || !xp_injection_is_call(bytes)))
		return "its system call is not an ordinary one";
	if (xp_inject_loader_lock(s->target, thread->tid) == thread->own_tid)
		return "it holds a lock of the dynamic loader";
	return xp_inject_frames_refuse(s->frames, thread->tid, &regs, !in_call);
}

static void remember_late(struct search *s)
{
	if (s->n_late < MAX_LATE)
		s->late[s->n_late++] = s->tracee.tid;
	s->tracee.attached = false;
}

/* Lets go of threads that have stopped after all. */
static void release_late(struct search *s)
{
	for (size_t i = 0; i < s->n_late;) {
		int status;
		pid_t got = waitpid((pid_t)s->late[i], &status, __WALL | WNOHANG);

		if (got > 0 && WIFSTOPPED(status)) {
			bool signal = status >> 16 == 0 && WSTOPSIG(status) != (SIGTRAP | 0x80);

			ptrace(PTRACE_DETACH, got, NULL, (void *)(uintptr_t)(signal ? WSTOPSIG(status) : 0));
		}
		if (got)
			s->late[i] = s->late[--s->n_late];
		else
			i++;
	}
}

static bool is_late(const struct search *s, uint32_t tid)
{
	for (size_t i = 0; i < s->n_late; i++)
		if (s->late[i] == tid)
			return true;
	return false;
}

static enum verdict stop_it(struct search *s, const struct xp_inject_thread *thread, struct xp_err *reterr)
{
	struct xp_stat stat;
	xp_auto_err err = { 0 };

	int rc = xp_tracee_stop(&s->tracee, thread->tid, STOP_NS);
	if (rc == -EPERM) {
		xp_fail_call(reterr, XP_E_PERMISSION_DENIED, EPERM, "ptrace(PTRACE_SEIZE)", "thread %u of process %u", thread->tid,
			     xp_target_pid(s->target));
		return NOT_AT_ALL;
	}
	/* A thread of that number that belongs to another process by now is not ours to stop. */
	if (!rc && xp_target_stat(s->target, thread->tid, &stat, &err))
		rc = -ESRCH;
	if (!rc)
		rc = xp_tracee_save(&s->tracee);
	if (!rc)
		return USE_IT;
	s->last_reason = rc == -ETIME ? "it did not stop" : rc == -EBUSY ? "it was stopped by a signal" : "it ended or could not be read";
	xp_tracee_let_go(&s->tracee, 0);
	if (s->tracee.attached)
		remember_late(s);
	return NOT_THIS_ONE;
}

/* 0 with USE_IT: loaded. */
static enum verdict try_thread(struct search *s, const struct xp_inject_thread *thread, struct xp_inject_result *ret_result,
			       struct xp_err *reterr)
{
	uint64_t start = xp_inject_now();
	bool allowed = true;

	s->attempts++;
	enum verdict verdict = stop_it(s, thread, reterr);
	if (verdict != USE_IT)
		return verdict;
	s->last_reason = refuse(s, thread);
	xp_tracee_pause(&s->tracee, 0);
	if (s->last_reason || s->tracee.cancelled) {
		xp_tracee_let_go(&s->tracee, 0);
		return NOT_THIS_ONE;
	}
	int rc = s->ground->filtered ? xp_inject_seccomp_ok(&s->tracee, &allowed) : 0;
	if (rc || !allowed) {
		xp_tracee_let_go(&s->tracee, 0);
		if (rc)
			xp_fail_call(reterr, XP_E_UNSUPPORTED_TARGET, -rc, "ptrace(PTRACE_SECCOMP_GET_FILTER)", "thread %u", thread->tid);
		else
			xp_fail(reterr, XP_E_UNSUPPORTED_TARGET, "a seccomp filter of process %u would kill it for loading a library",
				xp_target_pid(s->target));
		return NOT_AT_ALL;
	}
	struct xp_inject_result result = { .tid = thread->tid, .attempts = s->attempts, .control = -1, .control_fd = -1 };
	rc = xp_inject_load(s->target, &s->tracee, s->request, &s->ground->places, &result, reterr);
	result.stall_ns = xp_inject_now() - start;
	if (rc)
		return NOT_AT_ALL;
	*ret_result = result;
	return USE_IT;
}

/* A look before the stop: it warms the unwind rules, so that the stop is short, and spares most threads that would be refused. */
static bool looks_good(struct search *s, const struct xp_inject_thread *thread)
{
	const struct xp_unwind_regs regs = { .ip = thread->pc, .sp = thread->sp };

	if (is_late(s, thread->tid))
		return false;
	if (thread->rank == XP_RANK_BUSY)
		return true;
	s->last_reason = xp_inject_part_of(xp_maps_find(xp_target_maps(s->target), thread->pc)) != XP_PART_LIBC
				 ? "its system call was not made by the C library"
				 : xp_inject_frames_refuse(s->frames, thread->tid, &regs, false);
	return !s->last_reason;
}

/* True: a lock of the loader is with the thread that had it at the last look; *ret_stuck: for long. Others will give it back. */
static bool lock_is_held(struct search *s, bool *ret_stuck)
{
	uint32_t owner = xp_inject_loader_lock(s->target, s->ground->live_tid);
	uint64_t now = xp_inject_now();
	bool first = !s->owned_since, same = owner && (first || owner == s->lock_owner);

	if (!same || first)
		s->owned_since = now;
	s->lock_owner = owner;
	*ret_stuck = same && now - s->owned_since > held_ns;
	return same;
}

/* One pass over all threads. */
static enum verdict try_all(struct search *s, struct xp_arena *arena, struct xp_inject_result *ret_result, struct xp_err *reterr)
{
	struct xp_inject_thread *threads;
	unsigned busy = 0;
	bool stuck;
	size_t n;

	if (xp_target_check(s->target, reterr) || xp_target_maps_refresh(s->target, reterr) ||
	    xp_inject_threads(s->target, arena, &threads, &n, reterr))
		return NOT_AT_ALL;
	if (lock_is_held(s, &stuck)) {
		s->last_reason = "another thread holds a lock of the dynamic loader";
		if (!stuck)
			return NOT_THIS_ONE;
		xp_fail(reterr, XP_E_CUPTI_NOT_AVAILABLE,
			"thread %u of process %u holds a lock of the dynamic loader and does not give it back", s->lock_owner,
			xp_target_pid(s->target));
		return NOT_AT_ALL;
	}
	for (size_t i = 0; i < n && busy < BUSY_A_ROUND && !s->tracee.cancelled && xp_inject_now() < s->tracee.deadline_ns; i++) {
		/* Busy threads take turns: another one first in each round. */
		size_t at = threads[i].rank == XP_RANK_BUSY ? i + s->attempts % (n - i) : i;

		xp_tracee_pause(&s->tracee, 0);
		if (s->tracee.cancelled || !looks_good(s, &threads[at]))
			continue;
		busy += threads[at].rank == XP_RANK_BUSY;
		enum verdict verdict = try_thread(s, &threads[at], ret_result, reterr);
		if (verdict != NOT_THIS_ONE)
			return verdict;
	}
	return NOT_THIS_ONE;
}

int xp_inject_work(struct xp_target *target, const struct xp_inject_request *request, const struct xp_inject_ground *ground,
		   struct xp_inject_result *ret_result, struct xp_err *reterr)
{
	uint64_t bound = request->timeout_ms ? request->timeout_ms : XP_INJECT_TIMEOUT_MS;
	struct search s = { .target = target, .request = request, .ground = ground, .tracee.memory = -1 };
	xp_auto(xp_inject_frames_free) struct xp_inject_frames *frames = xp_inject_frames_new(target);
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();

	if (!frames)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "unwind rules");
	s.frames = frames;
	s.tracee.deadline_ns = xp_inject_now() + bound * 1000000;
	while (!s.tracee.cancelled && xp_inject_now() < s.tracee.deadline_ns) {
		enum verdict verdict = try_all(&s, arena, ret_result, reterr);

		release_late(&s);
		if (verdict != NOT_THIS_ONE)
			return verdict == USE_IT ? 0 : -(int)reterr->code;
		xp_arena_reset(arena);
		xp_tracee_pause(&s.tracee, PAUSE_NS);
	}
	if (s.tracee.cancelled)
		return xp_fail(reterr, XP_E_CANCELLED, "a signal ended the injection before anything was changed");
	return xp_fail(reterr, XP_E_CUPTI_NOT_AVAILABLE, "no thread of process %u came to a harmless place within %u ms%s%s",
		       xp_target_pid(target), (unsigned)bound, s.last_reason ? "; the last one: " : "", s.last_reason ? s.last_reason : "");
}
