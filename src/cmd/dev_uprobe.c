/* SPDX-License-Identifier: Apache-2.0 */
/* `dev uprobe`: the first N events of one host probe, as HostCaptureResult or as Event lines. Leaves no file. */
#include "cmd/dev.h"
#include "collect/exact.h"
#include "plan/build.h"
#include "result/host_capture.h"

struct request {
	uint32_t pid, probe_id;
	uint64_t samples, timeout_ms;
	const char *selector;
	bool jsonl;
};

static int read_flags(struct xp_session *session, struct request *request, struct xp_err *reterr)
{
	const char *binary = xp_flag_text(session, "--binary", NULL), *symbol = xp_flag_text(session, "--symbol", NULL);

	if (!xp_flag_on(session, "--pid") || !binary || !symbol)
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--pid, --binary and --symbol are required");
	request->jsonl = xp_flag_on(session, "--jsonl");
	if (request->jsonl && xp_flag_on(session, "--json"))
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--jsonl conflicts with --json");
	request->pid = (uint32_t)xp_flag_u64(session, "--pid", 0);
	request->probe_id = (uint32_t)xp_flag_u64(session, "--probe-id", 1);
	request->samples = xp_flag_u64(session, "--samples", 1);
	request->timeout_ms = xp_flag_u64(session, "--timeout-ms", 5000);
	request->selector =
		xp_arena_fmt(session->arena, "uprobe:%s:%s:%s", binary, symbol, xp_flag_on(session, "--return") ? "return" : "entry");
	return 0;
}

static int make_plan(const struct request *request, struct xp_target *target, struct xp_plan *plan, struct xp_arena *arena,
		     struct xp_err *reterr)
{
	const struct xp_plan_options options = { .allow_cxx_return = false };
	unsigned index;

	xp_plan_init(plan, target, arena);
	plan->bounds = (struct xp_bounds){ .timeout_ms = request->timeout_ms, .max_events = request->samples, .max_unmatched = -1 };
	int rc = xp_plan_endpoint(plan, request->selector, "start", &index, reterr);
	if (!rc)
		rc = xp_plan_resolve(plan, index, "start", &options, reterr);
	return rc ? rc : xp_plan_first_issue(plan, reterr);
}

static bool is_full(const struct xp_store *store)
{
	return xp_store_count(store) >= xp_store_capacity(store);
}

/* A capture of pairs is full when one event more than its capacity comes; here the last wanted event ends the window. */
static int want_end(void *exact)
{
	return is_full(xp_exact_store(exact)) ? XP_END_CAPACITY : -1;
}

static int run_window(const struct request *request, struct xp_target *target, struct xp_exact *exact, struct xp_window *window,
		      struct xp_err *reterr)
{
	struct xp_collector collector = xp_exact_collector(exact);
	struct xp_collector_ops ops = *collector.ops;
	const struct xp_window_bounds bounds = { .timeout_ms = request->timeout_ms };

	ops.want_end = want_end;
	collector.ops = &ops;
	int rc = xp_window_run(&collector, 1, target, &bounds, window, reterr);
	if (rc)
		return rc;
	if (window->end == XP_END_TARGET_GONE && !is_full(xp_exact_store(exact)))
		return xp_fail(reterr, XP_E_TARGET_EXITED, "the target ended during the capture");
	if (window->end == XP_END_SIGNAL && !xp_store_count(xp_exact_store(exact)))
		return xp_fail(reterr, XP_E_CANCELLED, "a signal ended the capture before the first event");
	xp_store_sort(xp_exact_store(exact));
	return 0;
}

static uint64_t dropped(const struct xp_exact *exact, struct xp_arena *arena)
{
	uint64_t sum = 0;
	size_t n;
	const struct xp_account *accounts = xp_exact_accounts(exact, arena, &n);

	for (size_t i = 0; i < n; i++)
		sum += accounts[i].dropped;
	return sum;
}

static struct xp_host_capture *make_result(const struct xp_session *session, const struct request *request, struct xp_exact *exact)
{
	struct xp_host_capture *result = xp_arena_new_of(session->arena, struct xp_host_capture);
	struct xp_store *store = xp_exact_store(exact);
	uint64_t n = xp_store_count(store);
	struct xp_event_doc *docs = xp_arena_array(session->arena, struct xp_event_doc, n);

	for (uint64_t i = 0; i < n; i++)
		xp_event_doc_make(store, xp_store_events(store) + i, session->session_id, session->arena, &docs[i]);
	result->session_id = session->session_id;
	result->probe_id = request->probe_id;
	result->captured = n;
	result->dropped = dropped(exact, session->arena);
	result->record_limit_reached = (struct xp_opt_bool)XP_SOME(false);
	result->events = docs;
	result->n_events = n;
	return result;
}

static void free_exact(void *exact)
{
	xp_exact_free(exact);
}

static void close_target(void *target)
{
	xp_target_close(target);
}

static int capture(struct xp_session *session, const struct request *request, struct xp_target *target, struct xp_err *reterr)
{
	struct xp_plan *plan = xp_arena_new_of(session->arena, struct xp_plan);
	struct xp_window window;
	struct xp_exact *exact;
	int rc = make_plan(request, target, plan, session->arena, reterr);

	if (!rc)
		rc = xp_exact_new(plan, &exact, reterr);
	if (rc)
		return rc;
	xp_arena_defer(session->arena, free_exact, exact);
	rc = run_window(request, target, exact, &window, reterr);
	if (rc)
		return rc;
	if (request->jsonl) {
		const struct xp_output_input input = { .store = xp_exact_store(exact), .session_id = session->session_id };

		session->printed = true;
		return xp_dev_print_events(&input, reterr);
	}
	struct xp_host_capture *result = make_result(session, request, exact);
	result->target = *xp_target_identity(target);
	result->timed_out = window.end == XP_END_TIMEOUT && !is_full(xp_exact_store(exact));
	session->record = &xp_host_capture_record;
	session->value = result;
	return 0;
}

static int run(struct xp_session *session, struct xp_err *reterr)
{
	struct request request = { 0 };
	struct xp_target *target;
	int rc = read_flags(session, &request, reterr);

	if (!rc)
		rc = xp_target_open(request.pid, NULL, &target, reterr);
	if (rc)
		return rc;
	xp_arena_defer(session->arena, close_target, target);
	return capture(session, &request, target, reterr);
}

const struct xp_dev_part xp_dev_uprobe = { .word = "uprobe", .mode = XP_DEV_UPROBE, .run = run };
