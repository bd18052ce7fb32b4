/* SPDX-License-Identifier: Apache-2.0 */
/* libcuda of the fake: a driver whose streams are time tables. Work starts when its stream is free and ends after the time it was given. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STREAMS = 256, LEAD_NS = 2000, DRIVER_VERSION = 13000 };
enum { CB_MODULE_LOAD = 19, CB_LAUNCH = 307, CB_GRAPH_LAUNCH = 514, CB_CONTEXT_CREATE = 645, CB_GRAPH_INSTANTIATE = 674 };
enum { CB_BEGIN_CAPTURE = 593, CB_END_CAPTURE = 521 };

struct graph {
	struct graph *self; /* what the launch call's first parameter points to */
	unsigned kernels;
	uint32_t id;
	const char *name;
};

static const struct fake_hooks *hooks;
static uint32_t correlation, graphs;
static uint64_t busy_until[STREAMS];
static int initialised;

void fake_hook(const struct fake_hooks *given)
{
	__atomic_store_n(&hooks, given, __ATOMIC_SEQ_CST);
}

uint32_t fake_next_correlation(void)
{
	return __atomic_add_fetch(&correlation, 1, __ATOMIC_RELAXED);
}

int cuInit(unsigned flags)
{
	initialised = 1;
	return 0;
}

int cuDriverGetVersion(int *version)
{
	*version = DRIVER_VERSION;
	return 0;
}

int cuDeviceGetCount(int *count)
{
	*count = 1;
	return initialised ? 0 : 3;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

void fake_call_enter(uint32_t domain, uint32_t cbid, const char *name, const void *params, uint64_t *cell, uint32_t id)
{
	const struct fake_hooks *now = __atomic_load_n(&hooks, __ATOMIC_ACQUIRE);

	if (now)
		now->enter(domain, cbid, name, params, cell, id);
}

void fake_call_leave(uint32_t domain, uint32_t cbid, const char *name, const void *params, uint64_t *cell, uint32_t id, int result)
{
	const struct fake_hooks *now = __atomic_load_n(&hooks, __ATOMIC_ACQUIRE);

	if (now)
		now->leave(domain, cbid, name, params, cell, id, result);
}

static void schedule(struct fake_work *work, uint64_t duration_ns)
{
	const struct fake_hooks *now = __atomic_load_n(&hooks, __ATOMIC_ACQUIRE);
	uint64_t *busy = &busy_until[work->stream % STREAMS], before = __atomic_load_n(busy, __ATOMIC_RELAXED), from_ns;

	do {
		from_ns = now_ns() + LEAD_NS;
		work->start_ns = before > from_ns ? before : from_ns;
		work->end_ns = work->start_ns + duration_ns;
	} while (!__atomic_compare_exchange_n(busy, &before, work->end_ns, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	work->context = 1;
	if (now)
		now->work(work);
}

int fake_cu_launch(const char *name, uint32_t stream, uint64_t duration_ns, uint32_t outer, int result)
{
	struct fake_work work = { .kind = FAKE_KERNEL, .name = name, .stream = stream };
	uint64_t cell = 0x5555;

	work.correlation = outer ? outer : fake_next_correlation();
	fake_call_enter(1, CB_LAUNCH, "cuLaunchKernel", NULL, &cell, work.correlation);
	if (!result)
		schedule(&work, duration_ns);
	fake_call_leave(1, CB_LAUNCH, "cuLaunchKernel", NULL, &cell, work.correlation, result);
	return result;
}

int fake_cu_memcpy(uint8_t kind, uint8_t src, uint8_t dst, uint64_t bytes, uint32_t stream, uint32_t outer)
{
	struct fake_work work = {
		.kind = FAKE_MEMCPY,
		.stream = stream,
		.copy_kind = kind,
		.src_memory = src,
		.dst_memory = dst,
		.bytes = bytes,
		.correlation = outer ? outer : fake_next_correlation(),
	};

	schedule(&work, bytes / 65536 + 1);
	return 0;
}

int fake_cu_memset(uint32_t value, uint64_t bytes, uint32_t stream, uint32_t outer)
{
	struct fake_work work = {
		.kind = FAKE_MEMSET,
		.stream = stream,
		.value = value,
		.bytes = bytes,
		.correlation = outer ? outer : fake_next_correlation(),
	};

	schedule(&work, bytes / 32 + 1);
	return 0;
}

static void empty_call(uint32_t cbid, const char *name)
{
	uint32_t id = fake_next_correlation();
	uint64_t cell = 0x5555;

	fake_call_enter(1, cbid, name, NULL, &cell, id);
	fake_call_leave(1, cbid, name, NULL, &cell, id, 0);
}

void fake_cu_capture(unsigned launches)
{
	empty_call(CB_BEGIN_CAPTURE, "cuStreamBeginCapture_v2");
	while (launches--)
		empty_call(CB_LAUNCH, "cuLaunchKernel");
	empty_call(CB_END_CAPTURE, "cuStreamEndCapture");
}

void *fake_cu_graph(unsigned kernels, const char *name)
{
	struct graph *graph = calloc(1, sizeof(*graph)), **made = &graph;
	uint32_t id = fake_next_correlation();
	const void *params[2] = { made, NULL };
	uint64_t cell = 0x5555;

	fake_call_enter(1, CB_GRAPH_INSTANTIATE, "cuGraphInstantiateWithFlags", params, &cell, id);
	*graph = (struct graph){ graph, kernels, __atomic_add_fetch(&graphs, 1, __ATOMIC_RELAXED), name };
	fake_call_leave(1, CB_GRAPH_INSTANTIATE, "cuGraphInstantiateWithFlags", params, &cell, id, 0);
	return graph;
}

int fake_cu_graph_launch(void *exec, uint32_t stream, uint32_t outer)
{
	const struct graph *graph = exec;
	uint32_t id = outer ? outer : fake_next_correlation();
	const void *params[2] = { exec, NULL };
	uint64_t cell = 0x5555;

	fake_call_enter(1, CB_GRAPH_LAUNCH, "cuGraphLaunch", params, &cell, id);
	for (unsigned i = 0; i < graph->kernels; i++) {
		struct fake_work work = { .kind = FAKE_KERNEL, .name = graph->name, .stream = stream, .correlation = id };

		work.graph = graph->id;
		work.node = (uint64_t)graph->id << 32 | i;
		schedule(&work, 1000);
	}
	fake_call_leave(1, CB_GRAPH_LAUNCH, "cuGraphLaunch", params, &cell, id, 0);
	return 0;
}

static int take_time(uint32_t cbid, const char *name, unsigned ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000l };
	uint32_t id = fake_next_correlation();
	uint64_t cell = 0x5555;

	fake_call_enter(1, cbid, name, NULL, &cell, id);
	nanosleep(&time, NULL);
	fake_call_leave(1, cbid, name, NULL, &cell, id, 0);
	return 0;
}

int fake_cu_load(unsigned ms)
{
	return take_time(CB_MODULE_LOAD, "cuModuleLoadData", ms);
}

int fake_cu_context(unsigned ms)
{
	return take_time(CB_CONTEXT_CREATE, "cuCtxCreate_v3", ms);
}

int fake_cu_full_queue(unsigned ms)
{
	return take_time(CB_LAUNCH, "cuLaunchKernel", ms);
}
