// SPDX-License-Identifier: Apache-2.0
/* The asking side of NVML. In: requests. Out: lists and readings, or the fault that the child met. State: struct xp_nvml. */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/child.h"
#include "base/worker.h"
#include "engine/engine.h"
#include "engine/nvml_priv.h"

enum { PRESENT_MS = 2000 };
enum request_kind { ASK_LIST, ASK_READING, ASK_FULL_READING };

/* Every reply begins with the fault of NVML as a whole; kind XP_NVML_OK: `what` follows. */
struct reply {
	struct xp_nvml_fault fault;
	union {
		struct xp_nvml_list list;
		struct xp_nvml_readings readings;
	} what;
};

struct xp_nvml {
	struct xp_worker *worker;
	struct reply reply; /* the last one */
};

static size_t list_bytes(const struct xp_nvml_list *list)
{
	return offsetof(struct xp_nvml_list, processes) + (size_t)list->n_processes * sizeof(list->processes[0]);
}

static size_t reading_bytes(const struct xp_nvml_readings *readings)
{
	return offsetof(struct xp_nvml_readings, at) + (size_t)readings->n * sizeof(readings->at[0]);
}

/* ---- in the child ---- */

static void *begin(void)
{
	return xp_nvml_load();
}

/* Processes that are not there need not travel. */
static size_t answer_list(struct xp_nvml_driver *driver, struct reply *reply)
{
	if (!driver->listed)
		xp_nvml_list_devices(driver);
	if (driver->fault.kind)
		return 0;
	xp_nvml_list_processes(driver);
	memcpy(&reply->what.list, &driver->list, list_bytes(&driver->list));
	return list_bytes(&driver->list);
}

static size_t answer_reading(struct xp_nvml_driver *driver, uint64_t devices, bool full, struct reply *reply)
{
	struct xp_nvml_readings *readings = &reply->what.readings;

	readings->n = driver->list.n_devices;
	for (uint32_t i = 0; i < readings->n; i++) {
		if (devices >> i & 1)
			xp_nvml_read_device(driver, i, full, &readings->at[i]);
		else
			readings->at[i] = (struct xp_nvml_reading){ 0 };
	}
	return reading_bytes(readings);
}

static ssize_t answer(void *context, const struct xp_worker_request *request, void *buf, size_t size)
{
	struct xp_nvml_driver *driver = context;
	struct reply *reply = buf;
	size_t len = 0;

	if (!driver || size < sizeof(*reply))
		return -1;
	if (!driver->fault.kind && request->kind == ASK_LIST)
		len = answer_list(driver, reply);
	else if (!driver->fault.kind)
		len = answer_reading(driver, request->arg, request->kind == ASK_FULL_READING, reply);
	reply->fault = driver->fault;
	return (ssize_t)(offsetof(struct reply, what) + len);
}

/* ---- in the parent ---- */

static const struct xp_worker_job job = { .begin = begin, .answer = answer, .reply_size = sizeof(struct reply) };

static ssize_t look_for_library(void *arg, char *reply, size_t size)
{
	reply[0] = dlopen(XP_NVML_LIBRARY, RTLD_LAZY | RTLD_LOCAL) != NULL;
	return 1;
}

bool xp_nvml_present(struct xp_nvml_fault *ret_fault)
{
	char found = 0;
	ssize_t len = xp_child_call(look_for_library, NULL, PRESENT_MS, &found, sizeof(found));

	if (len == 1 && found)
		return true;
	xp_nvml_set_fault(ret_fault, len == 1 ? XP_NVML_NO_LIBRARY : len == -ETIME ? XP_NVML_HUNG : XP_NVML_CRASHED, 0, "dlopen");
	return false;
}

int xp_nvml_start(struct xp_nvml **ret_nvml, struct xp_err *reterr)
{
	xp_auto(xp_nvml_stop) struct xp_nvml *nvml = calloc(1, sizeof(*nvml));

	if (!nvml)
		return xp_fail_sys(reterr, ENOMEM, "calloc", XP_NVML_LIBRARY);
	int rc = xp_worker_start(&job, &nvml->worker, reterr);
	if (rc)
		return rc;
	*ret_nvml = xp_steal(&nvml);
	return 0;
}

void xp_nvml_stop(struct xp_nvml *nvml)
{
	if (!nvml)
		return;
	xp_worker_stop(nvml->worker);
	free(nvml);
}

static bool fail(struct xp_nvml_fault *ret_fault, enum xp_nvml_fault_kind kind)
{
	xp_nvml_set_fault(ret_fault, kind, 0, "");
	return false;
}

/* The oldest reply that is out. `kind` of *ret_fault: XP_NVML_OK when it came whole. */
static ssize_t take(struct xp_nvml *nvml, unsigned timeout_ms, struct xp_nvml_fault *ret_fault)
{
	ssize_t len = xp_worker_take(nvml->worker, timeout_ms, &nvml->reply, sizeof(nvml->reply));

	if (len == -ETIME)
		fail(ret_fault, XP_NVML_HUNG);
	else if (len < 0)
		fail(ret_fault, XP_NVML_CRASHED);
	else
		*ret_fault = nvml->reply.fault;
	return len;
}

/* The child runs a foreign library, which may have written over what it sends: counts that don't fit the reply are none. */
static bool check(bool fits, const char *call, struct xp_nvml_fault *ret_fault)
{
	if (!fits)
		xp_nvml_set_fault(ret_fault, XP_NVML_NONSENSE, 0, call);
	return fits;
}

bool xp_nvml_ask_list(struct xp_nvml *nvml)
{
	struct xp_worker_request request = { .kind = ASK_LIST };

	return xp_worker_ask(nvml->worker, &request);
}

bool xp_nvml_take_list(struct xp_nvml *nvml, unsigned timeout_ms, struct xp_nvml_list *ret_list, struct xp_nvml_fault *ret_fault)
{
	struct xp_nvml_fault fault;

	const struct xp_nvml_list *list = &nvml->reply.what.list;
	ssize_t len = take(nvml, timeout_ms, &fault);
	if (fault.kind) {
		*ret_fault = fault;
		return false;
	}
	if (!check(list->n_devices <= XP_NVML_MAX_DEVICES && list->n_processes <= XP_NVML_MAX_PROCESSES &&
			   (size_t)len == offsetof(struct reply, what) + list_bytes(list),
		   "the list of devices", ret_fault))
		return false;
	memcpy(ret_list, list, list_bytes(list));
	return true;
}

bool xp_nvml_ask(struct xp_nvml *nvml, uint64_t devices, bool full)
{
	struct xp_worker_request request = { .kind = full ? ASK_FULL_READING : ASK_READING, .arg = devices };

	return xp_worker_ask(nvml->worker, &request);
}

int xp_nvml_take(struct xp_nvml *nvml, unsigned timeout_ms, struct xp_nvml_readings *ret_readings, struct xp_nvml_fault *ret_fault)
{
	struct xp_nvml_fault fault;

	/* Nothing would ever come. */
	if (!xp_nvml_waiting(nvml))
		return 0;
	ssize_t len = take(nvml, timeout_ms, &fault);
	if (len == -ETIME && !timeout_ms)
		return 0;
	if (fault.kind) {
		*ret_fault = fault;
		return -1;
	}
	const struct xp_nvml_readings *readings = &nvml->reply.what.readings;
	if (!check(readings->n <= XP_NVML_MAX_DEVICES && (size_t)len == offsetof(struct reply, what) + reading_bytes(readings),
		   "a reading of devices", ret_fault))
		return -1;
	memcpy(ret_readings, readings, reading_bytes(readings));
	return 1;
}

unsigned xp_nvml_waiting(const struct xp_nvml *nvml)
{
	return xp_worker_waiting(nvml->worker);
}

static const char *const sources[] = { "nvml", NULL };

const struct xp_engine xp_engine_nvml = {
	.name = "nvml",
	.summary = "state and users of NVIDIA GPUs, asked of the driver's management library",
	.sources = sources,
};
