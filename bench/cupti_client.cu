// SPDX-License-Identifier: Apache-2.0
// Launches bursts of empty kernels by command, bare or under the smallest CUPTI client there can be: what the agent's cost is compared with.
// In: MODE in argv: bare, kernel, callback, both, times (callbacks that keep what an API latency is made of); then lines: a number launches so many and answers ns a launch, x 1000.
#include <cuda_runtime.h>
#include <cupti.h>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <unistd.h>
#include <vector>

#define CHECK(call)                                                              \
	do {                                                                     \
		if ((call) != 0) {                                               \
			fprintf(stderr, "%s failed\n", #call);                   \
			exit(1);                                                 \
		}                                                                \
	} while (0)

enum { BUFFER = 128 << 10, CALLBACK_LAUNCH = 307 };
static std::atomic<unsigned long long> records, calls;

__global__ void empty_kernel()
{
}

static void requested(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = (uint8_t *)aligned_alloc(8, BUFFER);
	*size = BUFFER;
	*most = 0;
}

static void completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *record = nullptr;
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
		records++;
	free(buffer);
}

static void on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	calls++;
}

struct call_time {
	uint64_t ns;
	uint32_t correlation, id, site;
};
static std::vector<call_time> times(1 << 20);

static void on_timed_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	const CUpti_CallbackData *call = (const CUpti_CallbackData *)data;
	timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	times[calls++ % times.size()] = { now.tv_sec * 1000000000ull + now.tv_nsec, call->correlationId, id, (uint32_t)call->callbackSite };
}

static void subscribe(bool kernel, bool callback, bool timed)
{
	CUpti_SubscriberHandle subscriber;
	CHECK(cuptiSubscribe(&subscriber, timed ? on_timed_call : on_call, nullptr));
	if (callback)
		CHECK(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CALLBACK_LAUNCH));
	if (!kernel)
		return;
	CHECK(cuptiActivityRegisterCallbacks(requested, completed));
	CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	std::thread([] {
		for (;;) {
			usleep(50000);
			cuptiActivityFlushAll(0);
		}
	}).detach();
}

static unsigned long long burst(int n)
{
	std::chrono::nanoseconds spent{ 0 };
	for (int done = 0; done < n; done += 300) {
		auto begin = std::chrono::steady_clock::now();
		for (int i = 0; i < 300; i++)
			empty_kernel<<<1, 1>>>();
		spent += std::chrono::steady_clock::now() - begin;
		CHECK(cudaDeviceSynchronize());
	}
	return (unsigned long long)(spent.count() * 1000.0 / n);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "bare";
	char line[64];
	CHECK(cudaFree(0));
	burst(300);
	if (strcmp(mode, "bare"))
		subscribe(!strcmp(mode, "kernel") || !strcmp(mode, "both"), strcmp(mode, "kernel") != 0, !strcmp(mode, "times"));
	while (fgets(line, sizeof(line), stdin)) {
		printf("%llu\n", burst(atoi(line)));
		fflush(stdout);
	}
	_exit(0);
}
