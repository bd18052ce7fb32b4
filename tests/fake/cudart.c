/* SPDX-License-Identifier: Apache-2.0 */
/* libcudart of the fake: each runtime call encloses the driver call that does the work, under one correlation id. */
#include "fake.h"

#include <time.h>

enum { CB_LAUNCH = 211, CB_MEMCPY = 41, CB_MEMSET = 51, CB_SYNCHRONIZE = 165, CB_GRAPH_INSTANTIATE = 308, CB_GRAPH_LAUNCH = 311 };

#define CALL(cbid, name, params, work)                                     \
	do {                                                               \
		uint32_t id = fake_next_correlation();                     \
		uint64_t cell = 0x7777;                                    \
		int answer;                                                \
                                                                           \
		fake_call_enter(2, cbid, name, params, &cell, id);         \
		answer = (work);                                           \
		fake_call_leave(2, cbid, name, params, &cell, id, answer); \
		return answer;                                             \
	} while (0)

int fake_launch(const char *name, uint32_t stream, uint64_t duration_ns, int result)
{
	CALL(CB_LAUNCH, "cudaLaunchKernel_v7000", 0, fake_cu_launch(name, stream, duration_ns, id, result));
}

int fake_memcpy(uint8_t kind, uint8_t src, uint8_t dst, uint64_t bytes, uint32_t stream)
{
	CALL(CB_MEMCPY, "cudaMemcpyAsync_v3020", 0, fake_cu_memcpy(kind, src, dst, bytes, stream, id));
}

int fake_memset(uint32_t value, uint64_t bytes, uint32_t stream)
{
	CALL(CB_MEMSET, "cudaMemsetAsync_v3020", 0, fake_cu_memset(value, bytes, stream, id));
}

void *fake_graph(unsigned kernels, const char *name)
{
	return fake_cu_graph(kernels, name);
}

int fake_graph_launch(void *exec, uint32_t stream)
{
	CALL(CB_GRAPH_LAUNCH, "cudaGraphLaunch_v10000", 0, fake_cu_graph_launch(exec, stream, id));
}

static int sleep_ms(unsigned ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000l };

	return nanosleep(&time, NULL);
}

int fake_synchronize(unsigned ms)
{
	CALL(CB_SYNCHRONIZE, "cudaDeviceSynchronize_v3020", 0, sleep_ms(ms));
}
