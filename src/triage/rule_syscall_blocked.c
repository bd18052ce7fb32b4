// SPDX-License-Identifier: Apache-2.0
/* An active thread spent a noticeable part of the window blocked in one syscall. */
#include <string.h>

#include "base/arena.h"
#include "triage/blocked.h"
#include "triage/command.h"
#include "triage/lock_wait.h"
#include "triage/own_code.h"
#include "triage/rule.h"

enum { MAX_CALLS = 3, LEAF_FRAMES = 6 };
#define LEAST_SHARE 0.05
#define AS_LONG 0.75	    /* a call that another thread was blocked in for that part of a futex wait explains it */
#define POOL_CPU_SHARE 0.05 /* a thread below it that waits for work is a pool thread */

/* Calls in which a thread waits for something to do. */
static bool is_waiting(const char *name)
{
	static const char *const names[] = {
		"futex", "futex_wait", "futex_waitv", "poll", "ppoll", "select", "pselect6", "nanosleep", "clock_nanosleep",
	};

	if (!strncmp(name, "epoll", 5))
		return true;
	for (size_t i = 0; i < XP_LEN(names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/*
 * Blocked part of the time in the call: as booked at the switches, waits for Python's global lock and for a GPU aside, which are findings
 * of their own.
 * Without these books: CPU work inside a syscall is not blocking, and a thread can't block longer than it was blocked.
 */
static uint64_t blocked_in(const struct xp_triage_input *input, const struct xp_thread_row *thread, const struct xp_call_use *use)
{
	if (input->off_cpu) {
		struct xp_blocked blocked = xp_blocked_in(input->off_cpu, use->tid, use->name);

		return blocked.total_ns - blocked.lock_ns - blocked.gpu_ns;
	}
	return use->total_ns < thread->blocked_ns ? use->total_ns : thread->blocked_ns;
}

/* A thread of next to no CPU time in such a call has nothing to do, unless it stands before a lock. */
static bool is_idle(const struct xp_triage_input *input, const struct xp_thread_row *thread, const char *call)
{
	if (!is_waiting(call) || xp_input_share(input, thread->on_cpu_ns) >= POOL_CPU_SHARE)
		return false;
	return !xp_blocked_at_lock(xp_blocked_in(input->off_cpu, thread->tid, call).longest);
}

/* Active, or before a lock that it never got in a process that works: starved, or locked out for good. */
static bool wants_to_work(const struct xp_triage_input *input, const struct xp_thread_row *thread, const char *call)
{
	if (thread->active || !input->threads->active || strncmp(call, "futex", 5) != 0)
		return thread->active;
	return xp_blocked_at_lock(xp_blocked_in(input->off_cpu, thread->tid, call).longest);
}

struct candidate {
	const struct xp_call_use *use;
	const struct xp_thread_row *thread;
	uint64_t blocked_ns;
	uint32_t threads; /* active ones above the bound */
	bool waiting;
};

/* One row a syscall: the active thread that was blocked longest in it. Non-waiting uses win over waiting ones of pool threads. */
static unsigned collect(const struct xp_triage_input *input, struct candidate *rows, unsigned max)
{
	const struct xp_syscall_view *view = input->syscalls;
	unsigned n = 0;

	for (size_t i = 0; i < view->n_uses; i++) {
		const struct xp_call_use *use = &view->uses[i];
		const struct xp_thread_row *thread = use->name ? xp_thread_time_find(input->threads, use->tid) : NULL;
		unsigned at = 0;

		if (!thread || !wants_to_work(input, thread, use->name) ||
		    xp_input_share(input, blocked_in(input, thread, use)) < LEAST_SHARE)
			continue;
		struct candidate found = {
			.use = use,
			.thread = thread,
			.blocked_ns = blocked_in(input, thread, use),
			.threads = 1,
			.waiting = is_idle(input, thread, use->name),
		};
		while (at < n && strcmp(rows[at].use->name, use->name))
			at++;
		if (at == n && n == max)
			continue;
		if (at == n) {
			rows[n++] = found;
			continue;
		}
		found.threads = rows[at].threads + 1;
		bool better = found.waiting != rows[at].waiting ? !found.waiting : found.blocked_ns > rows[at].blocked_ns;
		if (better)
			rows[at] = found;
		rows[at].threads = found.threads;
	}
	return n;
}

/* Below a condition variable: a worker that has nothing to do, not one that fights for a lock. */
static bool waits_for_condition(const struct xp_off_cpu_group *group)
{
	for (size_t i = 0; group && i < group->n_frames && i < LEAF_FRAMES; i++) {
		const char *symbol = group->frames[i]->symbol;

		while (symbol && *symbol == '_')
			symbol++;
		if (symbol && !strncmp(symbol, "pthread_cond_", strlen("pthread_cond_")))
			return true;
	}
	return false;
}

/* Blocks that were too short for stacks leave the longer ones to tell, or the samples of what the call does beside waiting. */
static void say_caller(const struct xp_triage_input *input, const struct candidate *row, struct xp_findings *out,
		       struct xp_finding *finding)
{
	const char *pattern = row->thread->name_pattern, *call = row->use->name;
	const struct xp_frame *own = xp_own_blocked(input, pattern, call, row->blocked_ns);
	const char *words = ", called from ";

	if (!own) {
		own = xp_own_blocked_long(input, pattern, call, row->blocked_ns);
		words = ", its longer waits from ";
	}
	if (!own) {
		own = xp_own_in_call(input, row->use->tid, call);
		words = ", by CPU samples called from ";
	}
	xp_own_say(out, finding, words, own);
}

static struct xp_finding *tell(const struct xp_triage_input *input, const struct candidate *row, struct xp_findings *out)
{
	const struct xp_call_sum *sum = xp_call_sum_of(input->syscalls, row->use->name);
	struct xp_blocked blocked = xp_blocked_in(input->off_cpu, row->use->tid, row->use->name);
	json_t *evidence = json_object();

	json_object_set_new(evidence, "tid", xp_json_count(row->use->tid));
	json_object_set_new(evidence, "thread_name", xp_json_text(row->thread->name));
	json_object_set_new(evidence, "total_ns", xp_json_count(row->use->total_ns));
	json_object_set_new(evidence, "blocked_ns", xp_json_count(row->blocked_ns));
	json_object_set_new(evidence, "count", xp_json_count(row->use->calls));
	json_object_set_new(evidence, "threads", xp_json_count(row->threads));
	json_object_set_new(evidence, "waiting_call", json_boolean(row->waiting));
	json_object_set_new(evidence, "process_calls", sum ? xp_json_count(sum->calls) : json_null());
	json_object_set_new(evidence, "process_max_ns", sum ? xp_json_count(sum->max_ns) : json_null());
	if (blocked.longest) {
		json_object_set_new(evidence, "stack", xp_blocked_stack_json(blocked.longest, out->arena));
		json_object_set_new(evidence, "stack_ns", xp_json_count(blocked.longest->total_ns));
		json_object_set_new(evidence, "python_line", xp_blocked_python_line(blocked.longest, row->blocked_ns));
	}
	struct xp_finding *finding =
		xp_finding_add(out, "syscall_blocked", row->use->name, xp_input_share(input, row->blocked_ns), evidence);

	finding->tid = row->use->tid;
	finding->fallback = row->waiting;
	finding->condition = waits_for_condition(blocked.longest);
	finding->in_copy = blocked.copy_ns * 10 >= row->blocked_ns * 6;
	finding->confidence = !input->off_cpu && row->blocked_ns < row->use->total_ns ? XP_ESTIMATED : XP_MEASURED;
	xp_finding_say(out, finding, "thread %s spent %.0f ms of %.0f ms in %s", row->thread->name, (double)row->blocked_ns / 1e6,
		       (double)input->window_ns / 1e6, row->use->name);
	say_caller(input, row, out, finding);
	finding->holder_unknown = xp_blocked_at_lock(blocked.longest) && !xp_lock_say_work(input, out, finding, blocked.longest);
	if (sum && sum->calls)
		xp_next_call(input, out, finding, row->use->name, xp_input_per_second(input, sum->calls));
	else /* nobody left that call in the whole window: there is no pair to be measured */
		xp_next_off_cpu(input, out, finding, row->use->tid);
	return finding;
}

/*
 * A lock is held by another thread. Where nothing is known of the code under it, the wait that another one was in about as long may be what
 * it is held for; it would go unsaid beside the lock.
 */
static void tell_meanwhile(struct xp_finding *const *told, unsigned n, struct xp_findings *out)
{
	for (unsigned i = 0; i < n; i++) {
		struct xp_finding *lock = told[i];

		for (unsigned k = 0; k < n && lock->holder_unknown && !lock->taken; k++) {
			if (!told[k]->fallback || told[k]->taken || told[k]->tid == lock->tid || !strncmp(told[k]->subject, "futex", 5) ||
			    told[k]->window_share.v < AS_LONG * lock->window_share.v)
				continue;
			xp_finding_absorb(lock, told[k]->code, told[k]->subject, told[k]->window_share);
			json_object_set(lock->evidence, "meanwhile", told[k]->evidence);
			lock->message = xp_arena_fmt(out->arena, "%s; meanwhile %s", lock->message, told[k]->message);
			told[k]->taken = true;
			break;
		}
	}
}

/*
 * A futex that is no lock means: wait for another thread of this process. Where another one was blocked about as long in a call that
 * leads elsewhere, that says more.
 */
static void blame_the_other(struct xp_finding *const *told, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct xp_finding *wait = told[i];

		for (unsigned k = 0; k < n && wait->fallback && !wait->taken && !strncmp(wait->subject, "futex", 5); k++) {
			if (!strncmp(told[k]->subject, "futex", 5) || told[k]->tid == wait->tid ||
			    told[k]->window_share.v < AS_LONG * wait->window_share.v)
				continue;
			xp_finding_absorb(told[k], wait->code, wait->subject, wait->window_share);
			told[i]->taken = true;
		}
	}
}

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	struct candidate rows[64];
	struct xp_finding *told[MAX_CALLS];
	unsigned n = collect(input, rows, XP_LEN(rows)), n_told = 0;

	while (n_told < MAX_CALLS && n) {
		unsigned best = 0;

		for (unsigned i = 1; i < n; i++)
			if (rows[i].waiting != rows[best].waiting ? rows[best].waiting : rows[i].blocked_ns > rows[best].blocked_ns)
				best = i;
		told[n_told++] = tell(input, &rows[best], out);
		rows[best] = rows[--n];
	}
	blame_the_other(told, n_told);
	tell_meanwhile(told, n_told, out);
}

const struct xp_rule xp_rule_syscall_blocked = {
	.code = "syscall_blocked",
	.order = 70,
	.needs = 1u << XP_SOURCE_SYSCALLS | 1u << XP_SOURCE_THREADS,
	.run = run,
};
