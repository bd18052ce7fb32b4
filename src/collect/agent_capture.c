/* SPDX-License-Identifier: Apache-2.0 */
/* Arming, keeping and stopping a capture of the agent within bounds. In: a request. Out: an armed agent, then its counters. */
#include "collect/agent_capture.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collect/window_priv.h"
#include "engine/agent_sites.h"

enum { ARM_LIMIT_MS = 2000, STOP_LIMIT_MS = 4500, SETTLE_MS = 2000, STEP_US = 200, HOUR_MS = 3600000 };
#define MS(n) ((uint64_t)(n)*XP_NS_PER_MS)

static void rest(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = STEP_US * 1000l }, NULL);
}

static bool target_is_gone(const struct xp_agent_capture *capture)
{
	xp_auto_err gone = {};

	return xp_target_check(capture->target, &gone) != 0;
}

/* 1 answered, 0 the limit passed (arming: or a signal came), negative: of idle. */
static int wait_answer(struct xp_agent_capture *capture, uint64_t limit_ms, xp_agent_idle_fn *idle, void *arg, struct xp_err *reterr)
{
	uint64_t begin_ns = xp_window_now();
	bool arming = !capture->close_ns;

	while (!xp_agent_link_answered(capture->link)) {
		int r = idle ? idle(arg, reterr) : 0;

		if (r)
			return r;
		if (xp_window_now() - begin_ns > MS(limit_ms) || target_is_gone(capture) || (arming && xp_interrupts() > 0))
			return xp_agent_link_answered(capture->link);
		xp_agent_link_renew(capture->link);
		rest();
	}
	return 1;
}

static int starved(struct xp_agent_capture *capture, struct xp_err *reterr)
{
	xp_agent_link_cancel(capture->link);
	int r = xp_target_check(capture->target, reterr);

	if (r)
		return r;
	if (xp_interrupts() > 0)
		return xp_fail(reterr, XP_E_CANCELLED, "a signal ended the command while the agent was being armed");
	xp_fail_call(reterr, XP_E_SESSION_LIMIT_EXCEEDED, 0, "cuptiSubscribe", "process %u", xp_target_pid(capture->target));
	xp_err_say(reterr, "the agent could not arm CUPTI within %d ms", ARM_LIMIT_MS);
	xp_err_limit(reterr, "arm_ms", ARM_LIMIT_MS, 1, ARM_LIMIT_MS);
	xp_err_hint(reterr, "threads that launch without any pause, or GPU work queued for long, keep CUPTI out; try in a quieter moment");
	return -XP_E_SESSION_LIMIT_EXCEEDED;
}

/* Times of the agent are used as they are; in a time namespace of its own the target's clock may be shifted. */
static int check_clock(const struct xp_agent_capture *capture, uint64_t sent_ns, struct xp_err *reterr)
{
	uint64_t armed_ns = xp_agent_link_counters(capture->link).armed_ns;

	if (armed_ns >= sent_ns && armed_ns <= xp_window_now())
		return 0;
	return xp_fail(reterr, XP_E_UNSUPPORTED_TARGET, "process %u has a monotonic clock of its own (time namespace)",
		       xp_target_pid(capture->target));
}

/* Before ARM, so that the agent finds the list complete. */
static int find_nvtx(struct xp_agent_capture *capture, struct xp_err *reterr)
{
	int r;

	for (uint32_t i = 0; i < capture->request.n_filters; i++)
		capture->wants_nvtx = capture->wants_nvtx || capture->request.filters[i].kind >= XP_CAPTURE_NVTX_START;
	if (!capture->wants_nvtx)
		return 0;
	r = xp_target_maps_refresh(capture->target, reterr);
	if (r)
		return r;
	xp_agent_sites_prune(capture->link, capture->target);
	xp_agent_sites_update(capture->link, capture->target);
	return 0;
}

int xp_agent_capture_arm(struct xp_agent_capture *capture, struct xp_err *reterr)
{
	const struct xp_agent_options *options = &capture->options;
	uint64_t sent_ns;
	int r = xp_agent_link_open(capture->target, &capture->link, reterr);

	if (!r)
		r = xp_agent_link_acquire(capture->link, options->session, reterr);
	if (!r)
		r = find_nvtx(capture, reterr);
	if (r)
		return r;
	capture->request.flags = options->records_only ? XP_AGENT_RECORDS_ONLY : 0;
	capture->request.cuda_major = options->cuda_major;
	capture->request.deadline_ns = MS(options->deadline_ms ? options->deadline_ms : HOUR_MS);
	capture->request.wait_ms = SETTLE_MS;
	if (options->cupti_path)
		snprintf(capture->request.cupti_path, sizeof(capture->request.cupti_path), "%s", options->cupti_path);
	sent_ns = xp_window_now();
	xp_agent_link_send(capture->link, XP_AGENT_ARM, &capture->request);
	r = wait_answer(capture, ARM_LIMIT_MS, NULL, NULL, reterr);
	if (!r)
		return starved(capture, reterr);
	r = xp_agent_link_result(capture->link, reterr);
	if (r)
		return r;
	capture->armed = true;
	snprintf(capture->cupti_path, sizeof(capture->cupti_path), "%s", xp_agent_link_cupti_path(capture->link));
	return check_clock(capture, sent_ns, reterr);
}

void xp_agent_capture_open(struct xp_agent_capture *capture, uint64_t start_ns)
{
	capture->open_ns = start_ns;
	xp_agent_link_renew(capture->link);
	xp_agent_link_window(capture->link, start_ns, 0);
}

static int fell_behind(struct xp_agent_capture *capture, struct xp_err *reterr)
{
	const struct xp_agent_counters counters = xp_agent_link_counters(capture->link);

	xp_fail(reterr, XP_E_EVENTS_DROPPED, "CUPTI in the target cannot keep up; the agent ended the capture to spare its memory");
	xp_err_detail(reterr, "dropped_activities", xp_json_count(counters.cupti_dropped));
	xp_err_detail(reterr, "capture_state", json_string("failed"));
	xp_err_hint(reterr, "CUPTI before 13.4 U1 gets slower the longer it has recorded in a process, which a restart of the program "
			    "cures; a machine without a free CPU "
			    "slows it, too");
	xp_err_hint(reterr, "measure CUDA calls alone, which need no activities");
	return -XP_E_EVENTS_DROPPED;
}

int xp_agent_capture_tick(struct xp_agent_capture *capture, struct xp_err *reterr)
{
	static const char *const why[] = { "for a reason of its own", "since xprobe did not run for a second", "at its deadline" };
	uint32_t ended = xp_agent_link_ended(capture->link);

	xp_agent_link_renew(capture->link);
	/* A program that is exiting is the window's business. */
	if (xp_agent_link_state(capture->link) == XP_AGENT_ARMED || !ended || target_is_gone(capture))
		return 0;
	if (ended == XP_AGENT_ENDED_BEHIND)
		return fell_behind(capture, reterr);
	if (ended >= XP_LEN(why))
		return 0;
	xp_fail(reterr, XP_E_CUPTI_NOT_AVAILABLE, "the agent ended the capture %s", why[ended]);
	xp_err_detail(reterr, "capture_state", json_string("failed"));
	return -XP_E_CUPTI_NOT_AVAILABLE;
}

void xp_agent_capture_close(struct xp_agent_capture *capture, uint64_t end_ns)
{
	if (!capture->link || capture->close_ns)
		return;
	capture->close_ns = end_ns;
	xp_agent_link_window(capture->link, capture->open_ns ? capture->open_ns : end_ns, end_ns);
}

static void take_counters(struct xp_agent_capture *capture)
{
	capture->counters = xp_agent_link_counters(capture->link);
	capture->identity = xp_agent_link_identity(capture->link);
	capture->nvtx = xp_agent_link_nvtx(capture->link);
	capture->clock_error_ns = xp_agent_link_clock_error(capture->link);
}

int xp_agent_capture_stop(struct xp_agent_capture *capture, xp_agent_idle_fn *idle, void *arg, struct xp_err *reterr)
{
	int r;

	if (!capture->armed)
		return 0;
	capture->armed = false;
	xp_agent_capture_close(capture, xp_window_now());
	xp_agent_link_send(capture->link, XP_AGENT_STOP, NULL);
	r = wait_answer(capture, STOP_LIMIT_MS, idle, arg, reterr);
	if (r < 0)
		return r;
	if (!r && !target_is_gone(capture)) {
		xp_fail(reterr, XP_E_CLEANUP_FAILED, "the agent in process %u did not stop within %d ms; it disarms by itself",
			xp_target_pid(capture->target), STOP_LIMIT_MS);
		xp_err_detail(reterr, "capture_state", json_string("active"));
		xp_err_detail(reterr, "cleanup_phase", json_string("agent_stop"));
		return -XP_E_CLEANUP_FAILED;
	}
	capture->stopped = true;
	r = idle ? idle(arg, reterr) : 0;
	take_counters(capture);
	return r;
}

void xp_agent_capture_done(struct xp_agent_capture *capture)
{
	xp_agent_link_close(capture->link);
	capture->link = NULL;
}
