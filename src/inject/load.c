/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves a stopped thread through the steps of loading and back. At each moment the thread, left alone, finds back by itself: first its
 * registers are set, then its signals blocked; in the end signals first, then registers, then the bytes of the code.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "arch/injection.h"
#include "inject/load_priv.h"

enum { STOP_NS = 500000000, GRACE_NS = 300000000, SOON_NS = 200000, LATER_NS = 1000000, SOON_LOOKS = 20, CODE_MAX = 1024 };

/* Signals that the kernel forces on a thread for its own fault; blocked ones would kill without a handler's word. */
static const uint64_t faults = UINT64_C(1) << (SIGSEGV - 1) | UINT64_C(1) << (SIGBUS - 1) | UINT64_C(1) << (SIGILL - 1) |
			       UINT64_C(1) << (SIGFPE - 1) | UINT64_C(1) << (SIGTRAP - 1) | UINT64_C(1) << (SIGSYS - 1);

struct loading {
	struct xp_target *target;
	struct xp_tracee *t;
	const struct xp_inject_places *places;
	unsigned char code[CODE_MAX]; /* bytes of the file that ours replace */
	bool written;		      /* ours are there */
	bool running;		      /* the thread is on its steps */
	struct xp_inject_layout layout;
	struct xp_injection_step steps[XP_INJECTION_STEPS];
};

static int fail(struct loading *l, int rc, const char *call, struct xp_err *reterr)
{
	if (rc == -ESRCH)
		return xp_fail_call(reterr, XP_E_TARGET_EXITED, ESRCH, call, "thread %u", l->t->tid);
	if (rc == -EBUSY)
		return xp_fail(reterr, XP_E_TARGET_BUSY, "process %u was stopped by a signal meanwhile", xp_target_pid(l->target));
	if (rc == -ETIME || rc == -EINTR)
		return xp_fail_call(reterr, XP_E_CUPTI_NOT_AVAILABLE, -rc, call, "thread %u of process %u", l->t->tid,
				    xp_target_pid(l->target));
	return xp_fail_sys(reterr, -rc, call, "thread %u of process %u", l->t->tid, xp_target_pid(l->target));
}

/* The thread stands at a stop: back to where it was found, as far as its own registers go, and off. */
static void put_back(struct loading *l)
{
	struct user_regs_struct regs = l->t->regs;

	/* The kernel restarts an interrupted call, or lets a waiting signal interrupt it; only EINTR for the stop alone is ours to mend. */
	if (xp_injection_cut_short(&regs) && !xp_tracee_signal_waits(l->t))
		xp_injection_call_again(&regs);
	xp_tracee_set_mask(l->t, l->t->signal_mask);
	if (!xp_tracee_set_regs(l->t, &regs) && l->written)
		xp_tracee_write(l->t, l->places->code, l->code, xp_injection_size());
	xp_tracee_let_go(l->t, 0);
}

static int wait_for_call(struct loading *l)
{
	int rc = xp_tracee_resume(l->t, true, 0);

	while (!rc) {
		int stop = xp_tracee_wait(l->t, STOP_NS);

		if (stop == XP_STOP_CALL)
			return 0;
		if (stop == XP_STOP_NONE)
			return -ETIME;
		if (stop == XP_STOP_GONE)
			return -ESRCH;
		if (stop == XP_STOP_GROUP)
			return -EBUSY;
		rc = xp_tracee_resume(l->t, true, stop);
	}
	return rc;
}

/* One system call in the thread, which is stopped before and after. *ret_result: what the kernel gave. */
static int call(struct loading *l, uint64_t nr, const uint64_t args[6], int64_t *ret_result)
{
	struct user_regs_struct regs = l->t->regs;

	xp_injection_call(&regs, l->places->code, nr, args);
	int rc = xp_tracee_set_regs(l->t, &regs);
	if (!rc)
		rc = xp_tracee_set_mask(l->t, ~faults | l->t->signal_mask);
	if (!rc)
		rc = wait_for_call(l);
	if (!rc)
		rc = wait_for_call(l);
	if (!rc)
		rc = xp_tracee_get_regs(l->t, &regs);
	if (!rc)
		*ret_result = (int64_t)regs.rax;
	return rc;
}

static int write_code(struct loading *l)
{
	struct xp_injection_table table;
	unsigned char bytes[CODE_MAX];

	xp_injection_table_of(&l->t->regs, l->t->signal_mask, &table);
	xp_injection_write(&table, bytes);
	if (!l->written) {
		int rc = xp_tracee_read(l->t, l->places->code, l->code, xp_injection_size());
		if (rc)
			return rc;
	}
	l->written = true;
	return xp_tracee_write(l->t, l->places->code, bytes, xp_injection_size());
}

static int map_memory(struct loading *l, struct xp_err *reterr)
{
	const uint64_t args[6] = { 0, l->layout.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0 };
	int64_t base = 0;

	int rc = write_code(l);
	if (rc)
		return fail(l, rc, "write", reterr);
	rc = call(l, SYS_mmap, args, &base);
	if (rc)
		return fail(l, rc, "ptrace", reterr);
	if (base < 0)
		return xp_fail_sys(reterr, (int)-base, "mmap", "%" PRIu64 " bytes in process %u", l->layout.size, xp_target_pid(l->target));
	xp_inject_layout_at(&l->layout, (uint64_t)base);
	return 0;
}

static void unmap_memory(struct loading *l)
{
	const uint64_t args[6] = { l->layout.base, l->layout.size };
	int64_t result;

	if (l->layout.base && !call(l, SYS_munmap, args, &result))
		l->layout.base = 0;
}

/* Once loading has begun it cannot be broken off; what can be said is that it shall be undone. */
static void ask_to_undo(struct loading *l)
{
	uint64_t undo = xp_inject_step_at(&l->layout, XP_STEP_UNLOAD);

	for (int step = XP_STEP_LOAD; step <= XP_STEP_FIND; step++)
		xp_tracee_write(l->t, xp_inject_step_at(&l->layout, step) + offsetof(struct xp_injection_step, next), &undo, sizeof(undo));
}

/* The thread runs. 0: it has done its steps; -ETIME: not within the deadline; -EFAULT: it faulted and stands at that stop. */
static int wait_for_steps(struct loading *l)
{
	uint64_t done = 0, end = l->t->deadline_ns - GRACE_NS;
	bool undo = false;

	for (unsigned looks = 0;; looks++) {
		int stop = xp_tracee_wait(l->t, looks < SOON_LOOKS ? SOON_NS : LATER_NS);

		if (stop == XP_STOP_GONE)
			return -ESRCH;
		if (stop == XP_STOP_GROUP)
			return -EBUSY;
		if (stop > 0 && stop < 64 && faults >> (stop - 1) & 1)
			return -EFAULT;
		if (stop >= 0)
			xp_tracee_resume(l->t, false, stop == XP_STOP_TRAP || stop == XP_STOP_CALL ? 0 : stop);
		if (!xp_tracee_read(l->t, l->layout.block, &done, sizeof(done)) && done)
			return 0;
		uint64_t now = xp_inject_now();
		if (!undo && (l->t->cancelled || now >= end)) {
			ask_to_undo(l);
			undo = true;
			end = now + GRACE_NS;
		}
		if (undo && now >= end)
			return -ETIME;
	}
}

/* Takes the thread off its waiting place at the end of the steps; it may have gone back by itself already. */
static int catch_up(struct loading *l)
{
	struct user_regs_struct regs;

	l->t->deadline_ns = xp_inject_now() + STOP_NS;
	int rc = xp_tracee_interrupt(l->t, STOP_NS);
	if (rc || (rc = xp_tracee_get_regs(l->t, &regs)))
		return rc;
	if (regs.rip - l->places->code < xp_injection_size())
		return xp_tracee_set_vector(l->t);
	rc = xp_tracee_save(l->t);
	return rc ? rc : write_code(l);
}

static int run_steps(struct loading *l, const struct xp_inject_request *request, struct xp_err *reterr)
{
	struct user_regs_struct regs = l->t->regs;
	xp_auto(xp_free) void *bytes = xp_inject_block(&l->layout, l->places, request, l->t);

	if (!bytes)
		return xp_fail_sys(reterr, ENOMEM, "malloc", "memory for the target");
	int rc = xp_tracee_write(l->t, l->layout.block, bytes, l->layout.used);
	if (rc)
		return fail(l, rc, "write", reterr);
	xp_injection_run(&regs, l->places->code, l->layout.block, l->layout.block);
	rc = xp_tracee_set_regs(l->t, &regs);
	if (!rc)
		rc = xp_tracee_resume(l->t, false, 0);
	if (rc)
		return fail(l, rc, "ptrace", reterr);
	l->running = true;
	rc = wait_for_steps(l);
	if (rc == -EFAULT) {
		xp_tracee_set_vector(l->t);
		put_back(l);
		return xp_fail(reterr, XP_E_CLEANUP_FAILED,
			       "loading the library into process %u faulted; the thread was put back, parts of it may "
			       "be left",
			       xp_target_pid(l->target));
	}
	if (!rc)
		rc = catch_up(l);
	if (!rc)
		rc = xp_tracee_read(l->t, l->layout.block + offsetof(struct xp_injection_block, steps), l->steps, sizeof(l->steps));
	if (rc != -ETIME)
		return rc ? fail(l, rc, "ptrace", reterr) : 0;
	return xp_fail(reterr, XP_E_CUPTI_NOT_AVAILABLE,
		       "loading the library did not end in time; process %u was let go and undoes it by itself", xp_target_pid(l->target));
}

/* Not within the time: the thread goes on with its steps, which undo themselves, and finds back. */
static void leave(struct loading *l)
{
	if (!l->t->attached)
		return;
	ask_to_undo(l);
	l->t->deadline_ns = xp_inject_now() + STOP_NS;
	if (!l->t->stopped)
		xp_tracee_interrupt(l->t, STOP_NS);
	xp_tracee_let_go(l->t, 0);
}

int xp_inject_load(struct xp_target *target, struct xp_tracee *tracee, const struct xp_inject_request *request,
		   const struct xp_inject_places *places, struct xp_inject_result *ret_result, struct xp_err *reterr)
{
	struct loading l = { .target = target, .t = tracee, .places = places };

	xp_inject_layout_of(&l.layout, request, tracee->vector_size);
	int rc = map_memory(&l, reterr);
	if (rc) {
		put_back(&l);
		return rc;
	}
	rc = run_steps(&l, request, reterr);
	if (rc && l.running) {
		leave(&l);
		return rc;
	}
	if (!rc)
		rc = xp_inject_outcome(&l.layout, l.steps, request, tracee, ret_result, reterr);
	unmap_memory(&l);
	put_back(&l);
	return rc;
}
