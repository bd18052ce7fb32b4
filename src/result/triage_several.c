// SPDX-License-Identifier: Apache-2.0
/* Results of single processes -> one result. In: members. Out: rows, findings, gaps and doubts of all. No state; all in the arena. */
#include "result/triage_several.h"

#include <stdlib.h>
#include <string.h>

#include "triage/family.h"

static json_t *pids_json(const uint32_t *pids, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_integer(pids[i]));
	return json_pack("{s:o}", "pids", list);
}

/* Shallow copies: a finding has one rank among its process's own and another one among all. */
static void merge_findings(const struct xp_triage_several *in, struct xp_arena *arena, struct xp_triage *triage)
{
	const struct xp_triage_input **inputs = xp_arena_array(arena, const struct xp_triage_input *, in->n);
	struct xp_findings all = { .arena = arena };

	for (size_t i = 0; i < in->n; i++)
		all.cap += in->at[i].triage->n_findings;
	all.at = xp_arena_array(arena, struct xp_finding *, all.cap + 1);
	for (size_t i = 0; i < in->n; i++) {
		const struct xp_triage *one = in->at[i].triage;

		triage->findings_total += one->findings_total;
		for (size_t k = 0; k < one->n_findings; k++) {
			all.at[all.n] = xp_arena_new_of(arena, struct xp_finding);
			*all.at[all.n++] = *one->findings[k];
		}
	}
	size_t before = all.n;

	for (size_t i = 0; i < in->n; i++)
		inputs[i] = in->at[i].input;
	xp_family_absorb(&all, inputs, in->n);
	xp_family_drop_repeated(&all);
	if (in->tree)
		xp_family_drop_idle(&all, in->root);
	triage->findings_total -= (uint32_t)(before - all.n);
	xp_findings_rank(&all);
	triage->findings = (const struct xp_finding *const *)all.at;
	triage->n_findings = all.n < XP_MAX_FINDINGS ? all.n : XP_MAX_FINDINGS;
}

static bool is_member(const struct xp_triage_several *in, uint32_t pid)
{
	for (size_t i = 0; i < in->n; i++)
		if (in->at[i].input->target.pid == pid)
			return true;
	return false;
}

/* Descendants of members that are no members; a process has one line in the list of each of its ancestors. */
static size_t strangers(const struct xp_triage_several *in, bool started_only, struct xp_arena *arena)
{
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < in->n; i++)
		cap += in->at[i].input->threads ? in->at[i].input->threads->n_children : 0;
	uint32_t *seen = xp_arena_array(arena, uint32_t, cap + 1);

	for (size_t i = 0; i < in->n; i++) {
		const struct xp_thread_time *threads = in->at[i].input->threads;

		for (size_t k = 0; threads && k < threads->n_children; k++) {
			const struct xp_child_row *child = &threads->children[k];
			size_t at = 0;

			while (at < n && seen[at] != child->pid)
				at++;
			if (at == n && !is_member(in, child->pid) && (child->started || !started_only))
				seen[n++] = child->pid;
		}
	}
	return n;
}

/* Processes that members made, as far as seen: by the readings of /proc, or counted as they were made. */
static uint32_t forked(const struct xp_triage_several *in, struct xp_arena *arena)
{
	size_t seen = strangers(in, true, arena);
	uint64_t counted = 0;

	for (size_t i = 0; i < in->n; i++)
		counted += in->at[i].made;
	return counted > seen ? (uint32_t)counted : (uint32_t)seen;
}

/* Each code once; the first process that has it words it. */
static void merge_gaps(const struct xp_triage_several *in, uint32_t made, struct xp_arena *arena, struct xp_triage *triage)
{
	size_t n = 0, cap = 1, outside = strangers(in, false, arena);

	outside = in->total > in->n + outside ? in->total - in->n : outside;
	outside = made > outside ? made : outside;

	for (size_t i = 0; i < in->n; i++)
		cap += in->at[i].triage->n_not_covered;
	struct xp_not_covered *gaps = xp_arena_array(arena, struct xp_not_covered, cap);

	for (size_t i = 0; i < in->n; i++)
		for (size_t k = 0; k < in->at[i].triage->n_not_covered; k++) {
			const struct xp_not_covered *gap = &in->at[i].triage->not_covered[k];
			size_t at = 0;

			while (at < n && strcmp(gaps[at].code, gap->code) != 0)
				at++;
			if (at == n)
				gaps[n++] = *gap;
		}
	if (outside || made)
		gaps[n++] = (struct xp_not_covered){
			.code = "children",
			.message = xp_arena_fmt(arena, "%zu descendants are not part of this result, %u of them born in the window",
						outside, made),
		};
	triage->not_covered = gaps;
	triage->n_not_covered = n;
}

/* Each code once, at its highest severity, with the pids that have it. */
static void merge_issues(const struct xp_triage_several *in, struct xp_issues *out)
{
	for (size_t i = 0; i < in->n; i++) {
		const struct xp_quality *quality = &in->at[i].triage->quality;

		for (size_t k = 0; k < quality->n_issues; k++) {
			const struct xp_issue *issue = &quality->issues[k];
			json_t *pid = json_integer(in->at[i].input->target.pid);
			size_t at = 0;

			while (at < out->n && strcmp(out->at[at].code, issue->code) != 0)
				at++;
			if (at == out->n) {
				json_t *details = issue->details ? json_copy(issue->details) : json_object();

				json_object_set_new(details, "pids", json_array());
				xp_issue_add(out, issue->code, issue->severity, details, "%s", issue->message);
			}
			out->at[at].severity = issue->severity > out->at[at].severity ? issue->severity : out->at[at].severity;
			json_array_append_new(json_object_get(out->at[at].details, "pids"), pid);
		}
	}
}

static void add_ended(const struct xp_triage_several *in, struct xp_arena *arena, struct xp_issues *issues)
{
	uint32_t *pids = xp_arena_array(arena, uint32_t, in->n);
	size_t n = 0;

	for (size_t i = 0; i < in->n; i++)
		if (in->at[i].status == XP_FAILED)
			pids[n++] = in->at[i].input->target.pid;
	if (n)
		xp_issue_add(issues, "process_ended", XP_CAUTION, pids_json(pids, n), "%zu of %zu processes ended in the window", n, in->n);
}

/* Place in the table of contract 13. */
static size_t place_of(const char *code)
{
	static const char *const order[] = { "timed_out",     "cancelled",     "cost_limit_reached", "high_cost",      "target_exec",
					     "process_ended", "target_forked", "threads_filtered",   "sources_missing" };
	size_t at = 0;

	while (at < XP_LEN(order) && strcmp(order[at], code) != 0)
		at++;
	return at;
}

static int by_place(const void *a, const void *b)
{
	const struct xp_issue *x = a, *y = b;
	size_t px = place_of(x->code), py = place_of(y->code);

	return px != py ? (px < py ? -1 : 1) : strcmp(x->code, y->code);
}

static struct xp_quality judge(const struct xp_triage_several *in, uint32_t made, struct xp_arena *arena)
{
	struct xp_issues issues = { .arena = arena };

	merge_issues(in, &issues);
	add_ended(in, arena, &issues);
	if (made)
		xp_issue_add(&issues, "target_forked", XP_INFO, json_pack("{s:I}", "children", (json_int_t)made),
			     "the processes made children that are not covered");
	if (issues.n)
		qsort(issues.at, issues.n, sizeof(*issues.at), by_place);
	return xp_quality_of(&issues);
}

static void warn(const struct xp_triage_several *in, uint32_t made, struct xp_arena *arena)
{
	uint32_t *pids = xp_arena_array(arena, uint32_t, in->n);
	size_t n = 0;

	for (size_t i = 0; i < in->n; i++)
		if (in->at[i].exec_seen)
			pids[n++] = in->at[i].input->target.pid;
	if (n)
		xp_warn(in->warnings, "TARGET_EXEC", pids_json(pids, n), "%zu of the processes replaced themselves by another program", n);
	if (made)
		xp_warn(in->warnings, "TARGET_FORKED", json_pack("{s:I}", "children", (json_int_t)made),
			"the processes made children that are not covered");
}

/* Alike are all that were asked for; of a tree the largest group of siblings, for a parent differs from its workers by trade. */
static uint32_t common_parent(const struct xp_triage_several *in)
{
	uint32_t parent = 0;
	size_t most = 0;

	for (size_t i = 0; i < in->n; i++) {
		size_t alike = 0;

		for (size_t k = 0; k < in->n; k++)
			alike += in->at[k].parent_pid == in->at[i].parent_pid;
		if (alike > most || (alike == most && in->at[i].parent_pid < parent)) {
			most = alike;
			parent = in->at[i].parent_pid;
		}
	}
	return parent;
}

static void find_odd(const struct xp_triage_several *in, struct xp_arena *arena, struct xp_triage *triage)
{
	struct xp_metrics *each = xp_arena_array(arena, struct xp_metrics, in->n);
	uint32_t parent = common_parent(in);
	size_t n = 0;

	for (size_t i = 0; i < in->n; i++)
		if (in->at[i].status != XP_FAILED && (!in->tree || in->at[i].parent_pid == parent))
			each[n++] = xp_metrics_of(in->at[i].input);
	triage->odd_one_out = xp_odd_find(each, n, arena, &triage->n_odd_one_out);
}

/* The root of a tree was asked for: it comes before all. */
static double largest_share(const struct xp_triage_several *in, const struct xp_triage_member *member)
{
	const struct xp_triage *one = member->triage;

	if (in->tree && member->input->target.pid == in->root)
		return 2;
	return one->n_findings && one->findings[0]->window_share.set ? one->findings[0]->window_share.v : -1;
}

/* True when fewer than XP_TRIAGE_MAX_ROWS others have a larger finding, or the same one and an earlier place. */
static bool is_shown(const struct xp_triage_several *in, size_t at)
{
	double mine = largest_share(in, &in->at[at]);
	size_t before = 0;

	for (size_t i = 0; i < in->n; i++) {
		double share = largest_share(in, &in->at[i]);

		before += share > mine || (share == mine && i < at);
	}
	return before < XP_TRIAGE_MAX_ROWS;
}

static void make_rows(const struct xp_triage_several *in, struct xp_arena *arena, struct xp_triage *triage)
{
	triage->processes = xp_arena_array(arena, struct xp_triage_row, in->n);
	for (size_t i = 0; i < in->n; i++) {
		const struct xp_triage_member *member = &in->at[i];

		if (!is_shown(in, i))
			continue;
		triage->processes[triage->n_processes++] = (struct xp_triage_row){
			.target = member->triage->target,
			.parent_pid = member->parent_pid,
			.executable = member->executable,
			.status = member->status,
			.sources = member->triage->sources,
			.n_sources = member->triage->n_sources,
			.summary = member->triage->summary,
			.findings = member->triage->findings,
			.n_findings = member->triage->n_findings,
			.findings_total = member->triage->findings_total,
			.cost = member->triage->cost,
		};
	}
}

struct xp_triage *xp_triage_join(const struct xp_triage_several *in, struct xp_arena *arena)
{
	struct xp_triage *triage = xp_arena_new_of(arena, struct xp_triage);
	uint32_t made = forked(in, arena);

	*triage = (struct xp_triage){
		.session_id = in->session_id,
		.status = in->status,
		.name = in->name,
		.window = { .start_ns = in->window.start_ns,
			    .duration_ns = in->window.end_ns - in->window.start_ns,
			    .requested_ms = in->requested_ms },
		.evidence = { .mode = in->evidence_mode },
	};
	if (in->tree)
		triage->processes_total = (struct xp_opt_u32)XP_SOME(in->total);
	merge_findings(in, arena, triage);
	merge_gaps(in, made, arena, triage);
	make_rows(in, arena, triage);
	find_odd(in, arena, triage);
	warn(in, made, arena);
	triage->quality = judge(in, made, arena);
	triage->warnings = in->warnings->at;
	triage->n_warnings = in->warnings->n;
	return triage;
}
