// SPDX-License-Identifier: Apache-2.0
/* Results of single processes -> one: ranks, gaps and issues each once, rows and their bound, who is odd, the size budget. */
#include "triage_scene.h"

#include "result/triage_several.h"

enum { MOST = 20, FIRST = 200 };

struct crowd {
	struct scene *scene;
	struct xp_thread_row rows[MOST];
	struct xp_thread_time times[MOST];
	struct xp_triage_input inputs[MOST];
	struct xp_triage_member members[MOST];
	struct xp_warnings warnings;
	struct xp_triage_several all;
};

/* Process FIRST + i has one thread that spends that much on a CPU and in the run queue. */
static void join_in(struct crowd *c, size_t i, uint64_t cpu_ms, uint64_t wait_ms)
{
	struct xp_triage_parts parts = { .session_id = "xp_measure_1_00000000", .requested_ms = 1000, .warnings = &c->warnings };
	uint32_t pid = FIRST + (uint32_t)i;

	c->rows[i] = thread(pid, "work", cpu_ms, wait_ms);
	c->times[i] = (struct xp_thread_time){
		.count = 1, .active = c->rows[i].active, .threads = &c->rows[i], .n_threads = 1, .cpus_allowed = "0"
	};
	c->inputs[i] = c->scene->input;
	c->inputs[i].target.pid = pid;
	c->inputs[i].several = true;
	c->inputs[i].threads = &c->times[i];
	parts.input = c->inputs[i];
	parts.window = (struct xp_window){ .opened = true, .start_ns = 1000 * MS, .end_ns = 2000 * MS };
	c->members[i] = (struct xp_triage_member){
		.triage = xp_triage_assemble(&parts, c->scene->arena),
		.input = &c->inputs[i],
		.parent_pid = FIRST,
		.executable = "/bin/work",
	};
	c->all.n = i < c->all.n ? c->all.n : i + 1;
	c->all.total = (uint32_t)c->all.n;
}

static struct crowd *crowd_of(void **state)
{
	struct scene *s = *state;
	struct crowd *c = xp_arena_new_of(s->arena, struct crowd);

	c->scene = s;
	c->warnings.arena = s->arena;
	c->all = (struct xp_triage_several){
		.session_id = "xp_measure_1_00000000",
		.window = { .opened = true, .start_ns = 1000 * MS, .end_ns = 2000 * MS },
		.requested_ms = 1000,
		.warnings = &c->warnings,
		.at = c->members,
	};
	return c;
}

static const struct xp_issue *issue(const struct xp_triage *triage, const char *code)
{
	for (size_t i = 0; i < triage->quality.n_issues; i++)
		if (!strcmp(triage->quality.issues[i].code, code))
			return &triage->quality.issues[i];
	return NULL;
}

static size_t gaps(const struct xp_triage *triage, const char *code)
{
	size_t n = 0;

	for (size_t i = 0; i < triage->n_not_covered; i++)
		n += !strcmp(triage->not_covered[i].code, code);
	return n;
}

static void findings_are_ranked_among_all(void **state)
{
	struct crowd *c = crowd_of(state);

	join_in(c, 0, 400, 100);
	join_in(c, 1, 400, 550);
	join_in(c, 2, 400, 100);
	struct xp_triage *triage = xp_triage_join(&c->all, c->scene->arena);

	assert_null(triage->target);
	assert_null(triage->sources);
	assert_null(triage->summary);
	assert_null(triage->cost);
	assert_int_equal(triage->n_processes, 3);
	assert_int_equal(triage->findings_total, 3);
	assert_int_equal(triage->findings[0]->pid, FIRST + 1);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(triage->findings[i]->rank, i + 1);
		assert_int_equal(triage->processes[i].target->pid, FIRST + i);
		assert_int_equal(triage->processes[i].findings[0]->rank, 1);
		assert_int_equal(triage->processes[i].findings[0]->pid, FIRST + i);
	}
	assert_int_equal(triage->n_odd_one_out, 1);
	assert_int_equal(triage->odd_one_out[0].pid.v, FIRST + 1);
	assert_int_equal(triage->odd_one_out[0].metric, XP_METRIC_RUNQUEUE_SHARE);
}

static void doubts_are_told_once(void **state)
{
	struct crowd *c = crowd_of(state);

	for (size_t i = 0; i < 3; i++)
		join_in(c, i, 400, 0);
	struct xp_triage *triage = xp_triage_join(&c->all, c->scene->arena);

	assert_int_equal(gaps(triage, "causality"), 1);
	assert_int_equal(gaps(triage, "source_gpu"), 1);
	assert_int_equal(gaps(triage, "children"), 0);
	assert_int_equal(json_array_size(json_object_get(issue(triage, "sources_missing")->details, "pids")), 3);
	assert_int_equal(triage->quality.n_issues, 1);
	assert_int_equal(c->warnings.n, 0);
	/* Nobody differs: an empty list, not none. */
	assert_non_null(triage->odd_one_out);
	assert_int_equal(triage->n_odd_one_out, 0);
}

static void one_that_ended_is_told_and_not_compared(void **state)
{
	struct crowd *c = crowd_of(state);

	for (size_t i = 0; i < 4; i++)
		join_in(c, i, i == 3 ? 10 : 900, 0);
	c->members[3].status = XP_FAILED;
	struct xp_triage *triage = xp_triage_join(&c->all, c->scene->arena);

	assert_int_equal(triage->processes[3].status, XP_FAILED);
	assert_int_equal(triage->n_odd_one_out, 0);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(issue(triage, "process_ended")->details, "pids"), 0)),
			 FIRST + 3);
	assert_int_equal(triage->quality.verdict, XP_CAUTIOUS);
}

static void born_in_the_window(void **state)
{
	struct crowd *c = crowd_of(state);
	struct xp_child_row children[] = { { .pid = FIRST + 1 }, { .pid = 907, .started = true }, { .pid = 911 } };

	join_in(c, 0, 400, 0);
	join_in(c, 1, 400, 0);
	c->all.tree = true;
	c->times[0].children = children;
	c->times[0].n_children = 2;
	struct xp_triage *triage = xp_triage_join(&c->all, c->scene->arena);

	assert_int_equal(triage->processes_total.v, 2);
	assert_int_equal(gaps(triage, "children"), 1);
	assert_true(xp_warnings_have(&c->warnings, "TARGET_FORKED"));
	assert_int_equal(json_integer_value(json_object_get(issue(triage, "target_forked")->details, "children")), 1);
	/* One that was there before, and is none of those that were asked for. */
	c->warnings.n = 0;
	children[1].started = false;
	c->times[0].n_children = 3;
	triage = xp_triage_join(&c->all, c->scene->arena);
	assert_int_equal(gaps(triage, "children"), 1);
	assert_false(xp_warnings_have(&c->warnings, "TARGET_FORKED"));
}

static void a_tree_compares_siblings(void **state)
{
	struct crowd *c = crowd_of(state);

	join_in(c, 0, 10, 0);
	for (size_t i = 1; i < 4; i++)
		join_in(c, i, i == 2 ? 100 : 900, 0);
	c->members[0].parent_pid = 1;
	struct xp_triage *triage = xp_triage_join(&c->all, c->scene->arena);

	assert_int_equal(triage->n_odd_one_out, 0); /* 10 100 900 900: no two are alike enough */
	c->all.tree = true;
	triage = xp_triage_join(&c->all, c->scene->arena);
	assert_int_equal(triage->n_odd_one_out, 1);
	assert_int_equal(triage->odd_one_out[0].pid.v, FIRST + 2);
}

/* Workers that wait for work while the trainer waits for the slow one: one cause, one finding. */
static void idle_siblings_are_explained(void **state)
{
	struct crowd *c = crowd_of(state);
	struct xp_triage_relative below[3];
	struct xp_findings parent = { .arena = c->scene->arena }, idle = { .arena = c->scene->arena }, busy = { .arena = c->scene->arena };
	struct xp_triage changed[4];

	for (size_t i = 0; i < 4; i++)
		join_in(c, i, 5, 0);
	for (size_t i = 0; i < 3; i++)
		below[i] = (struct xp_triage_relative){ .input = &c->inputs[i + 1] };
	c->inputs[0].descendants = below;
	c->inputs[0].n_descendants = 3;
	struct xp_finding *waits = xp_finding_add(&parent, "waits_for_child", "main", 0.9, json_pack("{s:i}", "child_pid", FIRST + 1));
	struct xp_finding *slow = xp_finding_add(&busy, "syscall_blocked", "read", 0.8, NULL);
	struct xp_finding *reads = xp_finding_add(&idle, "syscall_blocked", "read", 0.95, NULL);
	struct xp_finding *writes = xp_finding_add(&idle, "syscall_blocked", "fsync", 0.1, NULL);
	const struct xp_finding *of_parent[] = { waits }, *of_slow[] = { slow }, *of_idle[] = { reads, writes };
	const struct {
		const struct xp_finding *const *at;
		size_t n;
	} lists[4] = { { of_parent, 1 }, { of_slow, 1 }, { of_idle, 2 }, { NULL, 0 } };

	waits->pid = FIRST;
	slow->pid = FIRST + 1;
	reads->pid = writes->pid = FIRST + 2;
	for (size_t i = 0; i < 4; i++) {
		changed[i] = *c->members[i].triage;
		changed[i].findings = lists[i].at;
		changed[i].n_findings = lists[i].n;
		changed[i].findings_total = (uint32_t)lists[i].n;
		c->members[i].triage = &changed[i];
	}
	struct xp_triage *triage = xp_triage_join(&c->all, c->scene->arena);
	const json_t *absorbed = json_array_get(json_object_get(triage->findings[0]->evidence, "absorbed"), 0);

	assert_int_equal(triage->n_findings, 3);
	assert_int_equal(triage->findings_total, 3);
	assert_string_equal(triage->findings[0]->code, "waits_for_child");
	assert_string_equal(triage->findings[1]->subject, "read");  /* of the one that is waited for */
	assert_string_equal(triage->findings[2]->subject, "fsync"); /* no wait for work */
	assert_int_equal(json_integer_value(json_object_get(absorbed, "pid")), FIRST + 2);
	assert_string_equal(json_string_value(json_object_get(absorbed, "subject")), "read");
	/* It stays among the process's own. */
	assert_int_equal(triage->processes[2].n_findings, 2);
}

static void a_missing_right_is_told_once(void **state)
{
	struct crowd *c = crowd_of(state);

	c->scene->input.sources[XP_SOURCE_OFF_CPU] = xp_source_unavailable(XP_SOURCE_OFF_CPU, XP_REASON_NOT_PERMITTED, NULL);
	for (size_t i = 0; i < 3; i++)
		join_in(c, i, 400, 0);
	struct xp_triage *triage = xp_triage_join(&c->all, c->scene->arena);

	assert_int_equal(triage->findings_total, 1);
	assert_string_equal(triage->findings[0]->code, "grant_right");
	assert_int_equal(triage->processes[2].n_findings, 1);
}

/* In a tree a helper that sleeps says nothing, as long as there is anything else to say. */
static void idle_helpers_are_no_news(void **state)
{
	struct crowd *c = crowd_of(state);

	for (size_t i = 0; i < 3; i++)
		join_in(c, i, i == 1 ? 500 : 0, i == 1 ? 250 : 0);
	c->all.root = FIRST;
	struct xp_triage *triage = xp_triage_join(&c->all, c->scene->arena);

	assert_int_equal(triage->n_findings, 3); /* each was asked for */
	c->all.tree = true;
	triage = xp_triage_join(&c->all, c->scene->arena);
	assert_int_equal(triage->n_findings, 2);
	assert_int_equal(triage->findings[0]->pid, FIRST); /* the root was */
	assert_string_equal(triage->findings[1]->code, "runqueue_wait");
	assert_int_equal(triage->processes[2].n_findings, 1);
	join_in(c, 1, 500, 150);
	triage = xp_triage_join(&c->all, c->scene->arena);
	assert_int_equal(triage->findings_total, 3); /* 0.15 is no answer */
}

static size_t length(const struct xp_triage *triage)
{
	xp_auto_builder text = { 0 };
	struct xp_json json = { .out = &text };

	xp_record_write(&json, &xp_triage_record, triage, false);
	return text.len + 1;
}

static void sixteen_rows_with_the_largest_findings(void **state)
{
	struct crowd *c = crowd_of(state);

	for (size_t i = 0; i < MOST; i++)
		join_in(c, i, 300, i < 4 ? 50 : 100 + 10 * i);
	c->all.tree = true;
	c->all.total = 67;
	struct xp_triage *triage = xp_triage_join(&c->all, c->scene->arena);

	assert_int_equal(triage->n_processes, XP_TRIAGE_MAX_ROWS);
	for (size_t i = 0; i < XP_TRIAGE_MAX_ROWS; i++)
		assert_int_equal(triage->processes[i].target->pid, FIRST + 4 + i); /* in their order */
	c->all.root = FIRST + 1;
	triage = xp_triage_join(&c->all, c->scene->arena);
	assert_int_equal(triage->processes[0].target->pid, FIRST + 1); /* and the root */
	assert_int_equal(triage->processes[1].target->pid, FIRST + 5);
	assert_int_equal(triage->processes_total.v, 67);
	assert_int_equal(triage->findings_total, MOST);
	assert_int_equal(triage->n_findings, XP_MAX_FINDINGS);
	assert_int_equal(gaps(triage, "children"), 1);

	assert_int_equal(xp_triage_budget(triage), 24576 + 8192 * (XP_TRIAGE_MAX_ROWS - 1));
	size_t steps = 0, last = length(triage);

	while (xp_triage_shrink(triage)) {
		size_t now = length(triage);

		assert_true(now < last);
		assert_true(++steps < 100);
		last = now;
	}
	assert_int_equal(triage->n_findings, 1);
	assert_int_equal(triage->n_processes, XP_TRIAGE_MAX_ROWS);
	assert_true(last < xp_triage_budget(triage));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(findings_are_ranked_among_all),
		SCENE_TEST(doubts_are_told_once),
		SCENE_TEST(one_that_ended_is_told_and_not_compared),
		SCENE_TEST(born_in_the_window),
		SCENE_TEST(idle_siblings_are_explained),
		SCENE_TEST(idle_helpers_are_no_news),
		SCENE_TEST(a_missing_right_is_told_once),
		SCENE_TEST(a_tree_compares_siblings),
		SCENE_TEST(sixteen_rows_with_the_largest_findings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
