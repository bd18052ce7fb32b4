/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's exact capture as a collector. In: a plan with CUDA endpoints. Out: events in the common store, accounts, facts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/agent_exact_priv.h"
#include "collect/window_priv.h"
#include "engine/agent_sites.h"

/* Contract 15.2: cost of a callback of the agent unless measured, and of an NVTX call that it sees. */
enum { CALLBACK_NS = 700, NVTX_CALL_NS = 60, RING_FLOOR = 1 << 12 };

static int prepare(void *state, struct xp_err *reterr)
{
	return 0;
}

static int arm(void *state, struct xp_err *reterr)
{
	return xp_agent_capture_arm(&((struct xp_agent_exact *)state)->capture, reterr);
}

static int open_window(void *state, uint64_t start_ns, struct xp_err *reterr)
{
	xp_agent_capture_open(&((struct xp_agent_exact *)state)->capture, start_ns);
	return 0;
}

static int drain(void *state, struct xp_err *reterr)
{
	struct xp_agent_exact *exact = state;
	int r = xp_agent_records_read(exact, reterr);

	xp_agent_nvtx_follow(exact);
	return r ? r : xp_agent_capture_tick(&exact->capture, reterr);
}

static void close_window(void *state, uint64_t end_ns)
{
	xp_agent_capture_close(&((struct xp_agent_exact *)state)->capture, end_ns);
}

static int read_idle(void *arg, struct xp_err *reterr)
{
	struct xp_agent_exact *exact = arg;
	int r = xp_agent_records_read(exact, reterr);

	/* Behind the stop nothing is completed any more: what is still reserved belongs to threads that ended half way. */
	while (!r && exact->capture.stopped && xp_agent_link_skip(exact->capture.link)) {
		exact->lost++;
		r = xp_agent_records_read(exact, reterr);
	}
	return r;
}

static void set_errors(struct xp_agent_exact *exact)
{
	const struct xp_agent_facts facts = xp_agent_capture_facts(&exact->capture);
	struct xp_event *events = xp_store_events(exact->store);

	for (uint64_t i = 0; i < xp_store_count(exact->store); i++)
		if (events[i].source == XP_SRC_CUPTI_ACTIVITY)
			events[i].error_ns = xp_agent_clock_error(&facts, events[i].t_ns);
		else if (events[i].source == XP_SRC_CUPTI_CALLBACK)
			events[i].error_ns = exact->capture.clock_error_ns;
}

static int disarm(void *state, struct xp_err *reterr)
{
	struct xp_agent_exact *exact = state;
	int r = xp_agent_capture_stop(&exact->capture, read_idle, exact, reterr);

	set_errors(exact);
	xp_agent_capture_done(&exact->capture);
	return r;
}

static int want_end(void *state)
{
	struct xp_agent_exact *exact = state;

	if (xp_agent_has_samples(exact, xp_window_now()))
		return XP_END_SAMPLES;
	return exact->full ? XP_END_CAPACITY : -1;
}

static void cost(void *state, uint64_t *ret_ns, uint64_t *ret_events)
{
	const struct xp_agent_exact *exact = state;
	const struct xp_agent_capture *capture = &exact->capture;
	struct xp_agent_counters now = capture->link ? xp_agent_link_counters(capture->link) : capture->counters;
	struct xp_agent_nvtx nvtx = capture->link ? xp_agent_link_nvtx(capture->link) : capture->nvtx;

	*ret_events = now.callbacks + nvtx.calls;
	*ret_ns = now.callbacks * CALLBACK_NS + nvtx.calls * NVTX_CALL_NS;
}

static const struct xp_collector_ops agent_exact_ops = {
	.name = "cuda",
	.prepare = prepare,
	.arm = arm,
	.open = open_window,
	.drain = drain,
	.close_window = close_window,
	.disarm = disarm,
	.want_end = want_end,
	.cost = cost,
};

struct xp_collector xp_agent_exact_collector(struct xp_agent_exact *exact)
{
	return (struct xp_collector){ .ops = &agent_exact_ops, .state = exact };
}

struct xp_store *xp_agent_exact_store(struct xp_agent_exact *exact)
{
	return exact->store;
}

uint64_t xp_agent_exact_observed(const struct xp_agent_exact *exact)
{
	return exact->observed;
}

struct xp_agent_facts xp_agent_exact_facts(const struct xp_agent_exact *exact)
{
	return xp_agent_capture_facts(&exact->capture);
}

/* The ring holds at most what may be retained, and is read a hundred times a second. */
static uint32_t ring_capacity(uint64_t max_events)
{
	uint32_t capacity = RING_FLOOR;

	while (capacity < XP_AGENT_RING_MAX && capacity < max_events)
		capacity *= 2;
	return capacity;
}

static bool is_nested(const struct xp_target *target)
{
	char status[4096];
	const char *line = xp_target_read(target, "status", status, sizeof(status)) > 0 ? strstr(status, "\nNSpid:\t") : NULL;
	const char *end = line ? strchr(line + 1, '\n') : NULL;

	return end && memchr(line + strlen("\nNSpid:\t"), '\t', (size_t)(end - line) - strlen("\nNSpid:\t"));
}

void xp_agent_exact_free(struct xp_agent_exact *exact)
{
	if (!exact)
		return;
	xp_agent_capture_done(&exact->capture);
	xp_store_free(exact->own);
	xp_map_done(&exact->tids);
	free(exact->names);
	free(exact);
}

int xp_agent_exact_new(const struct xp_plan *plan, const struct xp_agent_options *options, struct xp_exact *host,
		       struct xp_agent_exact **ret_exact, struct xp_err *reterr)
{
	xp_auto(xp_agent_exact_free) struct xp_agent_exact *exact = calloc(1, sizeof(*exact));
	const struct xp_target_id *id = xp_target_identity(plan->target);
	int r;

	if (!exact)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "capture of CUDA endpoints");
	exact->plan = plan;
	exact->host = host;
	exact->own = host ? NULL : xp_store_new(plan->bounds.max_events);
	exact->store = host ? xp_exact_store(host) : exact->own;
	exact->process = xp_store_process(exact->store, id->pid, (struct xp_opt_u64)XP_SOME(id->process_start_time));
	exact->nested = is_nested(plan->target);
	exact->capture = (struct xp_agent_capture){
		.target = plan->target,
		.options = *options,
		.request = { .mode = XP_AGENT_EXACT, .capacity = ring_capacity(plan->bounds.max_events) },
	};
	r = xp_agent_filters(plan, &exact->capture.request, reterr);
	if (r)
		return r;
	for (unsigned i = 0; i < plan->n_endpoints; i++)
		exact->filter_of[i] = (int8_t)xp_agent_filter_of(&exact->capture.request, &plan->endpoints[i]);
	if (!exact->capture.request.n_filters)
		return xp_fail(reterr, XP_E_INTERNAL, "no endpoint of the plan is the agent's");
	*ret_exact = xp_steal(&exact);
	return 0;
}
