// SPDX-License-Identifier: Apache-2.0
/* Runs rules, books each cause once, ranks. In: the values of one process. Out: findings. No state. */
#include "triage/rule.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define XP_RULE(name) extern const struct xp_rule xp_rule_##name;
#include "triage/rule_list.def"
#undef XP_RULE

/* In contract order; the list file is sorted by name. */
static const struct xp_rule *const rules[] = {
#define XP_RULE(name) &xp_rule_##name,
#include "triage/rule_list.def"
#undef XP_RULE
};

enum { N_RULES = XP_LEN(rules) };
#define ALONE_SHARE 0.20 /* contract 14.1, syscall_blocked */

const struct xp_rule *const *xp_rules(size_t *ret_n)
{
	*ret_n = N_RULES;
	return rules;
}

static int by_order(const void *a, const void *b)
{
	unsigned x = (*(const struct xp_rule *const *)a)->order, y = (*(const struct xp_rule *const *)b)->order;

	assert(x != y || a == b);
	return x < y ? -1 : x > y;
}

static bool may_run(const struct xp_triage_input *input, const struct xp_rule *rule)
{
	for (int id = 0; id < XP_SOURCE_COUNT; id++)
		if ((rule->needs & 1u << id) && !xp_input_has(input, id))
			return false;
	return true;
}

static bool explains_thread(const struct xp_finding *finding, uint32_t tid)
{
	for (size_t i = 0; i < finding->n_tids; i++)
		if (finding->tids[i] == tid)
			return true;
	return finding->tid == tid;
}

static bool covers(const struct xp_take *take, const struct xp_finding *taker, const struct xp_finding *other)
{
	if (strcmp(take->code, other->code))
		return false;
	switch (take->scope) {
	case XP_TAKE_ANY:
		return true;
	case XP_TAKE_SAME_THREAD:
		return other->tid && explains_thread(taker, other->tid);
	case XP_TAKE_SAME_SUBJECT:
		return !strcmp(taker->subject, other->subject);
	case XP_TAKE_SAME_CALL:
		return other->call && !strcmp(taker->subject, other->call);
	case XP_TAKE_IN_COPY:
		return other->in_copy;
	case XP_TAKE_IN_LAUNCH:
		return other->in_launch && taker->in_launch;
	case XP_TAKE_CONDITION:
		return other->condition && taker->condition;
	}
	return false;
}

static const struct xp_take *takes_of(const char *code)
{
	static const struct xp_take none[] = { { NULL } };

	for (size_t i = 0; i < N_RULES; i++)
		if (!strcmp(rules[i]->code, code) && rules[i]->takes)
			return rules[i]->takes;
	return none;
}

/* What a taken finding had taken itself stays told. */
static void pass_on(struct xp_finding *taker, const struct xp_finding *other)
{
	json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(other->evidence, "absorbed"), i, entry)
		json_array_append(json_object_get(taker->evidence, "absorbed"), entry);
}

static void absorb_by(struct xp_findings *list, struct xp_finding *taker, const struct xp_take *take)
{
	for (size_t i = 0; i < list->n; i++) {
		struct xp_finding *other = list->at[i];

		if (other == taker || other->taken || !covers(take, taker, other))
			continue;
		xp_finding_absorb(taker, other->code, other->subject, other->window_share);
		pass_on(taker, other);
		other->taken = true;
	}
}

static void absorb(struct xp_findings *list)
{
	for (size_t i = 0; i < list->n; i++)
		for (const struct xp_take *take = takes_of(list->at[i]->code); take->code && !list->at[i]->taken; take++)
			absorb_by(list, list->at[i], take);
}

/* Waiting of pool threads is worth a word only when nothing else explains the window. */
static void drop_fallbacks(struct xp_findings *list)
{
	bool better = false;

	for (size_t i = 0; i < list->n; i++) {
		const struct xp_finding *finding = list->at[i];

		better |= !finding->fallback && !finding->taken && finding->window_share.set && finding->window_share.v > ALONE_SHARE;
	}
	for (size_t i = 0; better && i < list->n; i++)
		list->at[i]->taken |= list->at[i]->fallback;
}

static void drop_taken(struct xp_findings *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++)
		if (!list->at[i]->taken)
			list->at[kept++] = list->at[i];
	list->n = kept;
}

static int by_rank(const void *a, const void *b)
{
	const struct xp_finding *x = *(struct xp_finding *const *)a, *y = *(struct xp_finding *const *)b;

	if (x->window_share.set != y->window_share.set)
		return x->window_share.set ? -1 : 1;
	if (x->window_share.set && x->window_share.v != y->window_share.v)
		return x->window_share.v > y->window_share.v ? -1 : 1;
	int codes = strcmp(x->code, y->code);
	if (codes)
		return codes;
	int subjects = strcmp(x->subject, y->subject);
	if (subjects)
		return subjects;
	return x->pid != y->pid ? (x->pid < y->pid ? -1 : 1) : x->tid < y->tid ? -1 : x->tid > y->tid;
}

void xp_findings_rank(struct xp_findings *list)
{
	if (list->n)
		qsort(list->at, list->n, sizeof(*list->at), by_rank);
	for (size_t i = 0; i < list->n; i++)
		list->at[i]->rank = (uint32_t)i + 1;
}

void xp_rules_run(const struct xp_triage_input *input, struct xp_findings *out)
{
	const struct xp_rule *ordered[N_RULES];

	memcpy(ordered, rules, sizeof(ordered));
	qsort(ordered, N_RULES, sizeof(*ordered), by_order);
	for (size_t i = 0; i < N_RULES; i++)
		if (may_run(input, ordered[i]))
			ordered[i]->run(input, out);
	absorb(out);
	drop_fallbacks(out);
	drop_taken(out);
	for (size_t i = 0; i < out->n; i++)
		out->at[i]->pid = input->target.pid;
	xp_findings_rank(out);
}
