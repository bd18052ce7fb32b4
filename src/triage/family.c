// SPDX-License-Identifier: Apache-2.0
/* Waits between processes, and what one of them explains. In: findings of all processes. Out: fewer of them. No state. */
#include "triage/family.h"

#include <string.h>

#define ALONE_SHARE 0.20 /* as for a pool thread's waits, contract 14.1 */

const char *xp_wait_means(const char *call)
{
	static const struct {
		const char *call, *means;
	} rows[] = {
		{ "wait4", "wait4" },
		{ "waitid", "wait4" },
		{ "rt_sigsuspend", "wait4" },
		{ "pause", "wait4" },
		{ "rt_sigtimedwait", "wait4" },
		{ "futex", "futex" },
		{ "futex_wait", "futex" },
		{ "futex_waitv", "futex" },
		{ "semop", "semaphore" },
		{ "semtimedop", "semaphore" },
		{ "read", "pipe" },
		{ "readv", "pipe" },
		{ "write", "pipe" },
		{ "writev", "pipe" },
		{ "recvfrom", "socket" },
		{ "recvmsg", "socket" },
		{ "recvmmsg", "socket" },
		{ "sendto", "socket" },
		{ "sendmsg", "socket" },
		{ "poll", "poll" },
		{ "ppoll", "poll" },
		{ "select", "poll" },
		{ "pselect6", "poll" },
		{ "epoll_wait", "poll" },
		{ "epoll_pwait", "poll" },
		{ "epoll_pwait2", "poll" },
		{ "mq_timedreceive", "queue" },
		{ "msgrcv", "queue" },
	};

	for (size_t i = 0; call && i < XP_LEN(rows); i++)
		if (!strcmp(rows[i].call, call))
			return rows[i].means;
	return NULL;
}

static const struct xp_triage_input *input_of(const struct xp_triage_input *const *inputs, size_t n, uint32_t pid)
{
	for (size_t i = 0; i < n; i++)
		if (inputs[i]->target.pid == pid)
			return inputs[i];
	return NULL;
}

static bool is_below(const struct xp_triage_input *input, uint32_t pid)
{
	for (size_t i = 0; i < input->n_descendants; i++)
		if (input->descendants[i].input->target.pid == pid)
			return true;
	return false;
}

/* The call that a finding says a process is blocked in; NULL: it is about something else. */
static const char *blocked_call(const struct xp_finding *finding)
{
	if (!strcmp(finding->code, "syscall_blocked"))
		return finding->subject;
	if (strcmp(finding->code, "fully_blocked") != 0)
		return NULL;
	json_t *first = json_array_get(json_object_get(finding->evidence, "sitting_threads"), 0);

	return json_string_value(json_object_get(first, "syscall_name"));
}

/* Waiting for a child's end is no waiting for work. */
static bool waits_for_work(const struct xp_finding *finding)
{
	const char *means = xp_wait_means(blocked_call(finding));

	return means && strcmp(means, "wait4") != 0;
}

static void take(struct xp_finding *taker, struct xp_finding *taken)
{
	xp_finding_absorb(taker, taken->code, taken->subject, taken->window_share);
	json_t *absorbed = json_object_get(taker->evidence, "absorbed");

	json_object_set_new(json_array_get(absorbed, json_array_size(absorbed) - 1), "pid", xp_json_count(taken->pid));
	taken->taken = true;
}

static void absorb_by(struct xp_findings *all, struct xp_finding *taker, const struct xp_triage_input *parent)
{
	json_int_t child = json_integer_value(json_object_get(taker->evidence, "child_pid"));

	for (size_t i = 0; i < all->n; i++) {
		struct xp_finding *other = all->at[i];

		if (!other->taken && (json_int_t)other->pid != child && is_below(parent, other->pid) && waits_for_work(other))
			take(taker, other);
	}
}

static void drop_taken(struct xp_findings *all)
{
	size_t kept = 0;

	for (size_t i = 0; i < all->n; i++)
		if (!all->at[i]->taken)
			all->at[kept++] = all->at[i];
	all->n = kept;
}

void xp_family_absorb(struct xp_findings *all, const struct xp_triage_input *const *inputs, size_t n_inputs)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct xp_triage_input *parent = input_of(inputs, n_inputs, all->at[i]->pid);

		if (parent && !strcmp(all->at[i]->code, "waits_for_child"))
			absorb_by(all, all->at[i], parent);
	}
	drop_taken(all);
}

static bool is_idle(const struct xp_finding *finding)
{
	return !strcmp(finding->code, "fully_blocked");
}

void xp_family_drop_idle(struct xp_findings *all, uint32_t root)
{
	bool better = false;

	for (size_t i = 0; i < all->n; i++)
		better |= !is_idle(all->at[i]) && all->at[i]->window_share.set && all->at[i]->window_share.v > ALONE_SHARE;
	for (size_t i = 0; better && i < all->n; i++)
		all->at[i]->taken = is_idle(all->at[i]) && all->at[i]->pid != root;
	drop_taken(all);
}

void xp_family_drop_repeated(struct xp_findings *all)
{
	for (size_t i = 0; i < all->n; i++)
		for (size_t k = 0; k < i && !strcmp(all->at[i]->code, "grant_right"); k++)
			all->at[i]->taken |= !strcmp(all->at[k]->code, "grant_right") && !strcmp(all->at[k]->subject, all->at[i]->subject);
	drop_taken(all);
}
