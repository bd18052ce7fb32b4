/* SPDX-License-Identifier: Apache-2.0 */
/* ARM: the request is checked and copied, memory made, then one table of steps is walked; the stop walks it backwards. */
#include "agent/work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/gate.h"
#include "agent/nvtx.h"
#include "agent/steps.h"

enum { OLDEST = 18, FIRST_UNKNOWN = 140000, MOST_HOURS = 2, MOST_FALLS = 3, HOLDER_BYTES = 64, PARAMS_13_0 = 32 };

static int bad(const char *what)
{
	return xp_agent_say(XP_AGENT_BAD_REQUEST, NULL, 0, what);
}

static int check_filters(const struct xp_agent_request *request)
{
	if (!request->n_filters || request->n_filters > XP_AGENT_FILTERS)
		return bad("number of filters");
	for (unsigned i = 0; i < request->n_filters; i++) {
		const struct xp_agent_filter *filter = &request->filters[i];

		if (!filter->kind || filter->kind >= XP_CAPTURE_KIND_COUNT || filter->match > XP_AGENT_MATCH_LAUNCH || filter->domain > 2)
			return bad("filter");
		if (strnlen(filter->name, sizeof(filter->name)) == sizeof(filter->name))
			return bad("name of a filter");
	}
	return XP_AGENT_OK;
}

static int check_request(const struct xp_agent_request *request)
{
	bool exact = request->mode == XP_AGENT_EXACT;

	if (!exact && request->mode != XP_AGENT_AGGREGATE)
		return bad("mode");
	if (exact && (!request->capacity || request->capacity > XP_AGENT_RING_MAX || request->capacity & (request->capacity - 1)))
		return bad("ring capacity");
	if (!exact && (!request->capacity || request->capacity > XP_AGENT_DATA_MAX / sizeof(struct xp_capture_aggregate_5)))
		return bad("group capacity");
	for (uint32_t i = 0; !exact && i < request->n_filters && i < XP_AGENT_FILTERS; i++)
		if (request->filters[i].kind >= XP_CAPTURE_NVTX_START)
			return bad("ranges in aggregate mode");
	if (!request->deadline_ns || request->deadline_ns > MOST_HOURS * 3600 * AGENT_NS_PER_S)
		return bad("deadline");
	return check_filters(request);
}

/* What the filters ask of CUPTI. Copies and sets go on with kernels: before 13.3 graphs with such nodes leak otherwise. */
static void choose_kinds(const struct xp_agent_request *request)
{
	static const uint32_t all[] = { CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_KIND_MEMCPY, CUPTI_KIND_MEMSET };
	bool wanted[3] = { false };

	xp_agent.any_api = false;
	xp_agent.any_nvtx = false;
	xp_agent.n_kinds = 0;
	for (unsigned i = 0; i < request->n_filters; i++) {
		uint32_t kind = request->filters[i].kind;

		if (kind <= XP_CAPTURE_API_EXIT)
			xp_agent.any_api = true;
		else if (kind >= XP_CAPTURE_NVTX_START)
			xp_agent.any_nvtx = true;
		else
			wanted[(kind - XP_CAPTURE_KERNEL_START) / 2] = true;
	}
	for (unsigned i = 0; i < 3; i++)
		if (wanted[i] || wanted[0])
			xp_agent.kinds[xp_agent.n_kinds++] = all[i];
	xp_agent.view.graphs = wanted[0] && !(request->flags & XP_AGENT_RECORDS_ONLY);
	xp_agent.exact = request->mode == XP_AGENT_EXACT;
}

static int check_version(void)
{
	if (xp_agent.version < OLDEST || xp_agent.version >= FIRST_UNKNOWN)
		return xp_agent_say(XP_AGENT_UNSUPPORTED, "cuptiGetVersion", (int)xp_agent.version, "CUPTI 12 and 13 are known");
	if (xp_agent.n_kinds && xp_agent.flush.falls >= MOST_FALLS)
		return xp_agent_say(XP_AGENT_WORN, NULL, 0, NULL);
	return xp_agent_gate_check();
}

/* What an earlier capture left in the data region goes: its pages, and commit words that could pass for new ones. */
static int make_data(const struct xp_agent_request *request)
{
	size_t item = xp_agent.exact ? sizeof(struct xp_agent_slot) : sizeof(struct xp_capture_aggregate_5);
	off_t size = XP_AGENT_DATA_OFFSET + (off_t)(request->capacity * item), now = lseek(xp_agent.fd, 0, SEEK_END);

	if (now < size && ftruncate(xp_agent.fd, size))
		return xp_agent_say(XP_AGENT_NO_MEMORY, "ftruncate", errno, "record ring");
	if (fallocate(xp_agent.fd, 3 /* FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE */, XP_AGENT_DATA_OFFSET, XP_AGENT_DATA_MAX))
		return xp_agent_say(XP_AGENT_NO_MEMORY, "fallocate", errno, "record ring");
	xp_agent.control->tail = 0;
	xp_agent.control->head = 0;
	xp_agent.tail_seen.position = 0;
	xp_agent.ring_mask = xp_agent.exact ? request->capacity - 1 : 0;
	xp_agent.warm_bytes = 0;
	xp_agent_ring_warm();
	return xp_agent.exact ? XP_AGENT_OK : xp_agent_groups_new(request->capacity);
}

static int make_memory(const struct xp_agent_request *request)
{
	int status;

	if (!xp_agent.launches)
		xp_agent.launches = xp_agent_map(AGENT_LAUNCHES * sizeof(*xp_agent.launches));
	if (!xp_agent.execs)
		xp_agent.execs = xp_agent_map(AGENT_EXECS * sizeof(*xp_agent.execs));
	if (!xp_agent.launches || !xp_agent.execs)
		return xp_agent_say(XP_AGENT_NO_MEMORY, "mmap", 0, "launch table");
	memset(xp_agent.execs, 0, AGENT_EXECS * sizeof(*xp_agent.execs));
	status = make_data(request);
	if (!status)
		status = xp_agent_names_new();
	if (!status)
		status = xp_agent_gate_new();
	return status || !xp_agent.n_kinds ? status : xp_agent_buffers_new();
}

/* Pages are taken as they are used; this is all of them. What earlier captures made stays, and is among it. */
static uint64_t most_memory(void)
{
	const uint64_t item = xp_agent.exact ? sizeof(struct xp_agent_slot) : sizeof(struct xp_capture_aggregate_5);

	return XP_AGENT_DATA_OFFSET + xp_agent.request.capacity * item + (xp_agent.exact ? 0 : xp_agent.group_index_bytes) +
	       AGENT_LAUNCHES * sizeof(struct launch) + AGENT_EXECS * sizeof(void *) +
	       AGENT_NAMES * (sizeof(struct name) + sizeof(uint32_t)) + AGENT_NAME_CACHE * sizeof(struct name_cache) + sizeof(xp_agent) +
	       (xp_agent.buffers.memory ? (uint64_t)AGENT_BUFFERS * AGENT_BUFFER_BYTES : 0) + AGENT_STACK_BYTES;
}

static void reset_counts(void)
{
	memset(&xp_agent.control->counters, 0, sizeof(xp_agent.control->counters));
	xp_agent_shards_begin();
	memset(&xp_agent.clock, 0, sizeof(xp_agent.clock));
	xp_agent_tsc_begin(&xp_agent.tsc, xp_agent_tsc_possible());
	xp_agent.control->clock_error_ns = 0;
	xp_agent.view.no_launches = false;
	xp_agent_flushes_begin();
	xp_agent.stream_captures = 0;
	xp_agent.captured_launches = 0;
	xp_agent.control->counters.memory_bytes = most_memory();
}

/* The name of who holds CUPTI, where this version can tell. Should that call find it free now, the subscription is ours. */
static int ask_holder(void)
{
	char holder[HOLDER_BYTES] = "";
	struct cupti_subscriber_params params = {
		.size = PARAMS_13_0,
		.name = "xprobe",
		.old_name = holder,
		.old_name_size = sizeof(holder),
	};
	int rc = CUPTI_MULTIPLE_SUBSCRIBERS;

	if (xp_agent.cupti.subscribe_v2 && xp_agent.version < CUPTI_VERSION_13_2)
		rc = XP_AGENT_CALL(
			subscribe_v2(&xp_agent.subscriber, xp_agent_gate_callback(), (void *)(uintptr_t)xp_agent.generation, &params));
	if (!rc)
		return XP_AGENT_OK;
	holder[sizeof(holder) - 1] = '\0';
	return xp_agent_say(XP_AGENT_BUSY, "cuptiSubscribe", CUPTI_MULTIPLE_SUBSCRIBERS, holder);
}

/* The first one of a process stops its CUDA calls for a while; it may also have to wait for launching threads or queued work. */
static int subscribe(void)
{
	struct xp_agent_control *control = xp_agent.control;
	uint64_t begin_ns = xp_agent_now(), took_ns;
	int rc = XP_AGENT_CALL(subscribe(&xp_agent.subscriber, xp_agent_gate_callback(), (void *)(uintptr_t)xp_agent.generation));

	took_ns = xp_agent_now() - begin_ns;
	if (rc == CUPTI_MULTIPLE_SUBSCRIBERS)
		return ask_holder();
	if (rc)
		return xp_agent_say(XP_AGENT_CALL_FAILED, "cuptiSubscribe", rc, NULL);
	if (!control->identity.first_subscribe_ns) {
		control->identity.first_subscribe_ns = begin_ns + took_ns;
		control->counters.stall_ns = took_ns;
	}
	return XP_AGENT_OK;
}

static void unsubscribe(void)
{
	__atomic_store_n(&xp_agent.view.generation, 0, __ATOMIC_SEQ_CST);
	xp_agent_unsubscribe();
}

/* Switched on one by one, and never off: on 13.x that breaks CUPTI for the rest of the process. Unsubscribing ends them all. */
static int callbacks_on(void)
{
	__atomic_store_n(&xp_agent.view.generation, xp_agent.generation, __ATOMIC_RELEASE);
	for (uint32_t domain = CUPTI_DOMAIN_DRIVER; domain <= CUPTI_DOMAIN_RUNTIME; domain++)
		for (uint32_t cbid = 1; cbid < AGENT_CBIDS; cbid++) {
			int rc = 0;

			if (xp_agent.view.want[domain - 1][cbid])
				rc = XP_AGENT_CALL(enable_callback(1, xp_agent.subscriber, domain, cbid));
			if (rc)
				return xp_agent_say(XP_AGENT_CALL_FAILED, "cuptiEnableCallback", rc, NULL);
		}
	xp_agent.gate.since_ns = xp_agent_now();
	return XP_AGENT_OK;
}

static int buffers_on(void)
{
	int rc = XP_AGENT_CALL(register_callbacks(xp_agent_buffer_request, xp_agent_buffer_complete));

	/* Without a subscription of ours this is where some holders of CUPTI are met first. */
	if (rc)
		return xp_agent_say(rc == CUPTI_MULTIPLE_SUBSCRIBERS ? XP_AGENT_BUSY : XP_AGENT_CALL_FAILED,
				    "cuptiActivityRegisterCallbacks", rc, NULL);
	xp_agent_buffers_forget();
	return XP_AGENT_OK;
}

static int kinds_on(void)
{
	for (unsigned i = 0; i < xp_agent.n_kinds; i++) {
		int rc = XP_AGENT_CALL(enable(xp_agent.kinds[i]));

		if (rc) {
			xp_agent.n_kinds = i;
			xp_agent_kinds_off();
			return xp_agent_say(XP_AGENT_CALL_FAILED, "cuptiActivityEnable", rc, NULL);
		}
	}
	return XP_AGENT_OK;
}

const struct agent_step xp_agent_steps[AGENT_STEPS] = {
	{ .on = subscribe, .off = unsubscribe, .subscription = true },
	{ .on = callbacks_on, .subscription = true },
	{ .on = xp_agent_residual_before, .off = xp_agent_residual_after, .activities = true, .subscription = true },
	{ .on = buffers_on, .off = xp_agent_settle, .activities = true },
	{ .on = kinds_on, .off = xp_agent_kinds_off, .activities = true },
	{ .on = xp_agent_nvtx_on, .off = xp_agent_nvtx_off, .nvtx = true },
};

/* NVTX ranges alone need nothing of CUDA. */
static bool uses_cupti(void)
{
	return xp_agent.any_api || xp_agent.n_kinds;
}

bool xp_agent_step_applies(const struct agent_step *step)
{
	if ((step->activities && !xp_agent.n_kinds) || (step->nvtx && !xp_agent.any_nvtx) || (step->subscription && !uses_cupti()))
		return false;
	return !step->subscription || !(xp_agent.request.flags & XP_AGENT_RECORDS_ONLY);
}

static int walk_steps(uint32_t sequence)
{
	for (xp_agent.step = 0; xp_agent.step < AGENT_STEPS; xp_agent.step++) {
		const struct agent_step *step = &xp_agent_steps[xp_agent.step];
		int status = xp_agent_step_applies(step) ? step->on() : XP_AGENT_OK;

		if (status) {
			xp_agent_stop();
			return status;
		}
		if (xp_agent_cancelled(sequence)) {
			xp_agent.step++;
			xp_agent_stop();
			return xp_agent_say(XP_AGENT_CANCELLED, NULL, 0, NULL);
		}
	}
	return XP_AGENT_OK;
}

static void register_exit(void)
{
	if (!xp_agent.registered_exit)
		atexit(xp_agent_exit);
	xp_agent.registered_exit = true;
}

int xp_agent_arm(uint32_t sequence)
{
	int status;

	memcpy(&xp_agent.request, &xp_agent.control->request, sizeof(xp_agent.request));
	status = check_request(&xp_agent.request);
	if (status)
		return status;
	choose_kinds(&xp_agent.request);
	xp_agent.gate.on = false;
	status = uses_cupti() ? xp_agent_load() : XP_AGENT_OK;
	if (!status && uses_cupti())
		status = check_version();
	if (!status)
		status = make_memory(&xp_agent.request);
	if (status)
		return status;
	register_exit();
	reset_counts();
	__atomic_fetch_add(&xp_agent.control->captures, 1, __ATOMIC_RELEASE);
	xp_agent.generation++;
	status = xp_agent_want_apis();
	if (status)
		return status;
	if (uses_cupti()) {
		xp_agent_quarantine_make_room();
		xp_agent_clock_bracket();
	}
	xp_agent.armed_ns = xp_agent_now();
	xp_agent.control->counters.armed_ns = xp_agent.armed_ns;
	xp_agent.deadline_ns = xp_agent.armed_ns + xp_agent.request.deadline_ns;
	return walk_steps(sequence);
}
