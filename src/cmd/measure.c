/* SPDX-License-Identifier: Apache-2.0 */
/* `measure`: which mode a command line asks for, and the checks that need no target. */
#include "cmd/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"

static const struct {
	const char *flag, *name;
	enum xp_measure_mode mode;
} switches[] = {
	{ "--spec", "--spec", XP_M_SPEC },
	{ "--aggregate", "--aggregate", XP_M_AGGREGATE },
	{ "--cpu-sample", "--cpu-sample", XP_M_CPU },
	{ "--syscall-aggregate", "--syscall-aggregate", XP_M_SYSCALLS },
	{ "--triage", "--triage", XP_M_TRIAGE },
};

static int choose_mode(const struct xp_session *session, enum xp_measure_mode *ret_mode, const char **ret_name, struct xp_err *reterr)
{
	*ret_mode = 0;
	for (size_t i = 0; i < XP_LEN(switches); i++) {
		if (!xp_flag_on(session, switches[i].flag))
			continue;
		if (*ret_mode)
			return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "%s and %s exclude each other", *ret_name, switches[i].name);
		*ret_mode = switches[i].mode;
		*ret_name = switches[i].name;
	}
	if (*ret_mode)
		return 0;
	*ret_mode = xp_flag_on(session, "--input") ? XP_M_INPUT : XP_M_EXACT;
	*ret_name = *ret_mode == XP_M_INPUT ? "--input" : "an exact measurement";
	return 0;
}

/* Misuse that the contract answers with a code of its own comes before the general rule of modes. */
static int check_special(const struct xp_session *session, enum xp_measure_mode mode, struct xp_err *reterr)
{
	bool input = xp_flag_on(session, "--input");

	if (input && xp_flag_on(session, "--pid"))
		return xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "--pid does not go with --input: the files say which process it was");
	if (input && xp_flag_on(session, "--agent"))
		return xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "--agent does not go with --input: no target is touched");
	if (input && mode != XP_M_INPUT)
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--input goes with --from, --to and --match only");
	if (mode == XP_M_SPEC && xp_flag_on(session, "--pid"))
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--pid does not go with --spec: the spec names its target");
	if (mode == XP_M_CPU && xp_flag_on(session, "--min-block-us") && !xp_flag_on(session, "--off-cpu"))
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--min-block-us goes with --off-cpu");
	if (mode == XP_M_AGGREGATE &&
	    (xp_flag_on(session, "--samples") || xp_flag_on(session, "--events-out") || xp_flag_on(session, "--format")))
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--aggregate takes no --samples, --events-out, --format");
	return 0;
}

static int check_format(const struct xp_session *session, enum xp_measure_mode mode, struct xp_err *reterr)
{
	static const struct {
		const char *name;
		unsigned modes;
	} formats[] = {
		{ "jsonl", XP_M_EXACT | XP_M_INPUT | XP_M_SPEC },
		{ "chrome", XP_M_EXACT | XP_M_INPUT | XP_M_SPEC },
		{ "folded", XP_M_CPU | XP_M_SPEC },
		{ "speedscope", XP_M_CPU | XP_M_SPEC },
		{ "html", XP_M_TRIAGE | XP_M_SPEC },
	};
	const char *format = xp_flag_text(session, "--format", NULL);
	bool known = !format;

	for (size_t i = 0; format && i < XP_LEN(formats); i++)
		known = known || (!strcmp(formats[i].name, format) && (formats[i].modes & mode));
	if (!known) {
		int rc = xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--format %.40s is not available for this mode", format);

		xp_err_object(reterr, "--format");
		return rc;
	}
	if (format && !xp_flag_on(session, "--events-out"))
		return xp_fail(reterr, XP_E_TRACE_EXPORT_FAILED, "--format needs --events-out");
	return 0;
}

static int check_texts(const struct xp_session *session, struct xp_err *reterr)
{
	const char *evidence = xp_flag_text(session, "--evidence", "summary"), *name = xp_flag_text(session, "--name", "");

	if (strcmp(evidence, "summary") != 0 && strcmp(evidence, "full") != 0)
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--evidence is summary or full");
	return xp_spec_bound("name", strlen(name), 0, 256, reterr);
}

/* Contract 6.2: required in inventories, and never longer than the timeout there. */
static int check_duration(const struct xp_session *session, enum xp_measure_mode mode, struct xp_err *reterr)
{
	uint64_t duration = xp_flag_u64(session, "--duration-ms", 0), timeout = xp_flag_u64(session, "--timeout-ms", 30000);

	if (!(mode & (XP_M_AGGREGATE | XP_M_CPU | XP_M_SYSCALLS | XP_M_TRIAGE)))
		return 0;
	if (!xp_flag_on(session, "--duration-ms"))
		return xp_fail(reterr, XP_E_SESSION_LIMIT_EXCEEDED, "--duration-ms is required here");
	if (mode == XP_M_TRIAGE) {
		int rc = xp_spec_bound("duration-ms", duration, 100, 600000, reterr);

		if (rc)
			return rc;
	}
	if (duration <= timeout)
		return 0;
	int rc = xp_fail(reterr, XP_E_SESSION_LIMIT_EXCEEDED, "--duration-ms %llu exceeds --timeout-ms %llu", (unsigned long long)duration,
			 (unsigned long long)timeout);
	xp_err_limit(reterr, "duration-ms", duration, 1, timeout);
	return rc;
}

int xp_policy_argument(const char *text, enum xp_policy_id *ret_policy, struct xp_err *reterr)
{
	int policy = xp_policy_from_name(text);

	if (policy < 0) {
		int rc = xp_fail(reterr, XP_E_INVALID_CORRELATION_POLICY,
				 "%.60s is not a policy: exact, first-after, nearest, stack-nested, stream-order", text);

		xp_err_object(reterr, "%.60s", text);
		return rc;
	}
	*ret_policy = (enum xp_policy_id)policy;
	return 0;
}

static int no_policy(struct xp_err *reterr)
{
	int rc = xp_fail(reterr, XP_E_INVALID_CORRELATION_POLICY, "--match is missing");

	xp_err_hint(reterr, "`xprobe validate` with any --match tells which policies the two events allow, and which one is best");
	return rc;
}

int xp_measure_pair_flags(const struct xp_session *session, struct xp_measure_request *request, struct xp_err *reterr)
{
	const char *match = xp_flag_text(session, "--match", NULL);

	request->from = xp_flag_text(session, "--from", NULL);
	request->to = xp_flag_text(session, "--to", NULL);
	if (!request->from || !request->to)
		return xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "%s is missing", request->from ? "--to" : "--from");
	if (!match)
		return no_policy(reterr);
	return xp_policy_argument(match, &request->policy, reterr);
}

int xp_measure_common_flags(const struct xp_session *session, struct xp_measure_request *request, struct xp_err *reterr)
{
	const struct xp_flag_use *samples = xp_flag_find(session, "--samples"), *duration = xp_flag_find(session, "--duration-ms");
	const struct xp_flag_use *cost = xp_flag_find(session, "--max-cost"), *unmatched = xp_flag_find(session, "--max-unmatched");
	const char *ring = getenv("XPROBE_TEST_RING_BYTES");
	uint64_t ring_bytes = 0;

	if (samples)
		request->bounds.samples = (struct xp_opt_u64)XP_SOME(samples->number);
	if (duration)
		request->bounds.duration_ms = (struct xp_opt_u64)XP_SOME(duration->number);
	request->bounds.timeout_ms = xp_flag_u64(session, "--timeout-ms", 30000);
	request->bounds.max_events = xp_flag_u64(session, "--max-events", 100000);
	request->bounds.max_cost = cost ? cost->share : 0.05;
	request->bounds.max_unmatched = unmatched ? unmatched->share : -1;
	request->name = xp_flag_text(session, "--name", NULL);
	request->allow_cxx_return = xp_flag_on(session, "--allow-cxx-return");
	request->records_only = xp_flag_on(session, "--records-only");
	request->events_out = xp_flag_text(session, "--events-out", NULL);
	request->format = xp_flag_text(session, "--format", "jsonl");
	request->evidence_mode = strcmp(xp_flag_text(session, "--evidence", "summary"), "full") ? XP_EVIDENCE_SUMMARY : XP_EVIDENCE_FULL;
	if (ring && xp_parse_u64(ring, &ring_bytes))
		request->test_ring_bytes = (uint32_t)ring_bytes;
	if (!samples && !duration)
		return xp_fail(reterr, XP_E_SESSION_LIMIT_EXCEEDED, "one of --samples and --duration-ms is required");
	return 0;
}

int xp_measure_pid(const struct xp_session *session, uint32_t *ret_pid, struct xp_err *reterr)
{
	unsigned n = 0;

	for (size_t i = 0; i < session->n_uses; i++)
		n += !strcmp(session->uses[i].flag->name, "--pid");
	if (n != 1)
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, n ? "more than one --pid goes with --triage only" : "--pid is missing");
	*ret_pid = (uint32_t)xp_flag_u64(session, "--pid", 0);
	return 0;
}

static void print_progress(void *arg, uint64_t elapsed_ms)
{
	fprintf(stderr, "\r\033[Kmeasuring: %.1f s", (double)elapsed_ms / 1000);
	(void)arg;
}

void xp_measure_progress(struct xp_window_bounds *bounds, bool quiet)
{
	if (!quiet && isatty(STDERR_FILENO) && (!bounds->duration_ms || bounds->duration_ms > 2000))
		bounds->on_progress = print_progress;
}

void xp_measure_progress_end(const struct xp_window_bounds *bounds)
{
	if (bounds->on_progress)
		fputs("\r\033[K", stderr);
}

static int run_exact(struct xp_session *session, bool offline, struct xp_err *reterr)
{
	struct xp_measure_request request = { 0 };
	int rc = offline ? 0 : xp_measure_pid(session, &request.target.pid, reterr);

	if (!rc)
		rc = xp_measure_pair_flags(session, &request, reterr);
	if (!rc)
		rc = xp_measure_common_flags(session, &request, reterr);
	if (rc)
		return rc;
	return offline ? xp_measure_input(session, &request, reterr) : xp_measure_exact(session, &request, reterr);
}

int xp_measure_run(struct xp_session *session, struct xp_err *reterr)
{
	enum xp_measure_mode mode;
	const char *mode_name;
	int rc = choose_mode(session, &mode, &mode_name, reterr);

	if (!rc)
		rc = check_special(session, mode, reterr);
	if (!rc)
		rc = xp_flags_check_mode(session, mode, mode_name, reterr);
	if (!rc)
		rc = check_format(session, mode, reterr);
	if (!rc)
		rc = check_texts(session, reterr);
	if (!rc)
		rc = check_duration(session, mode, reterr);
	if (rc)
		return rc;
	switch (mode) {
	case XP_M_EXACT:
		return run_exact(session, false, reterr);
	case XP_M_INPUT:
		return run_exact(session, true, reterr);
	case XP_M_SPEC:
		return xp_measure_spec(session, reterr);
	case XP_M_AGGREGATE:
		return xp_measure_aggregate(session, reterr);
	case XP_M_CPU:
	case XP_M_SYSCALLS:
		return xp_measure_inventory(session, mode_name, reterr);
	case XP_M_TRIAGE:
		return xp_measure_triage(session, reterr);
	}
	return xp_fail(reterr, XP_E_INTERNAL, "no such mode");
}
