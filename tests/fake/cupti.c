/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcupti of the fake, one source for both majors. It fills buffers as the real one does, per thread, and ends the program with a message
 * when a client does what kills or deadlocks real programs. The files callbacks.c and records.c hold its two halves.
 */
#include "cupti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct setting {
	const char *name;
	uint64_t value;
} settings[] = {
	{ "version", FAKE_VERSION }, { "dead", 0 },	{ "zero_every", 0 }, { "negative_every", 0 }, { "drop_every", 0 },
	{ "subscribe_ms", 0 },	     { "busy", 0 },	{ "late_us", 0 },    { "same_id", 0 },	      { "clock_step_ns", 0 },
	{ "freed_early", 0 },	     { "sessions", 0 }, { "disable_ms", 1 }, { "kernel_on", 0 },      { "residual_ns", 0 },
	{ "flush_ms", 0 },	     { "owned", 0 },
};

uint64_t *fake_setting(const char *name)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (!strcmp(settings[i].name, name))
			return &settings[i].value;
	fake_die("unknown setting");
}

void fake_die(const char *why)
{
	fprintf(stderr, "fake libcupti: %s\n", why);
	abort();
}

void fake_cupti_set(const char *what, uint64_t value)
{
	__atomic_store_n(fake_setting(what), value, __ATOMIC_SEQ_CST);
}

uint64_t fake_cupti_get(const char *what)
{
	return __atomic_load_n(fake_setting(what), __ATOMIC_SEQ_CST);
}

int cuptiGetVersion(uint32_t *version)
{
	*version = (uint32_t)fake_cupti_get("version");
	return 0;
}

int cuptiGetTimestamp(uint64_t *timestamp)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*timestamp = (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec + fake_cupti_get("clock_step_ns");
	return 0;
}

int cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name)
{
	static const struct {
		uint32_t domain, cbid;
		const char *name;
	} names[] = {
		{ 1, 19, "cuModuleLoadData" },
		{ 1, 307, "cuLaunchKernel" },
		{ 1, 442, "cuLaunchKernel_ptsz" },
		{ 1, 514, "cuGraphLaunch" },
		{ 1, 645, "cuCtxCreate_v3" },
		{ 1, 521, "cuStreamEndCapture" },
		{ 1, 593, "cuStreamBeginCapture_v2" },
		{ 1, 674, "cuGraphInstantiateWithFlags" },
		{ 2, 41, "cudaMemcpyAsync_v3020" },
		{ 2, 51, "cudaMemsetAsync_v3020" },
		{ 2, 165, "cudaDeviceSynchronize_v3020" },
		{ 2, 211, "cudaLaunchKernel_v7000" },
		{ 2, 214, "cudaLaunchKernel_ptsz_v7000" },
		{ 2, 311, "cudaGraphLaunch_v10000" },
		{ 2, 505, "__cudaLaunchKernel_v13000" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].domain == domain && names[i].cbid == cbid) {
			*name = names[i].name;
			return 0;
		}
	return 1;
}

/* Exported by the real library, and poison to a program whose graphs were launched. */
int cuptiFinalize(void)
{
	fake_die("cuptiFinalize was called");
}

__attribute__((constructor)) static void hook_driver(void)
{
	static const struct fake_hooks hooks = { .enter = fake_enter, .leave = fake_leave, .work = fake_record };

	fake_hook(&hooks);
}
