// SPDX-License-Identifier: Apache-2.0
// Loads under which CUPTI before 13.0 U1 hangs when it is stopped without care. argv[1]: the libcupti to map. Commands, each answered:
//   single   one thread launches, replays a graph, copies, waits          eight   eight launch beside one that replays
//   loads    the same and one that loads, launches from and unloads a module          end   joins them; answers how many rounds there were
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define CHECK(call)                                                                            \
	do {                                                                                   \
		int error_ = (int)(call);                                                      \
		if (error_) {                                                                  \
			fprintf(stderr, "%s: error %d\n", #call, error_);                      \
			exit(1);                                                               \
		}                                                                              \
	} while (0)

enum { NODES = 32, PAUSE_US = 100 };

__global__ void empty_kernel()
{
}
__global__ void node_kernel()
{
}

static const char module_text[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry loaded_kernel() { ret; }\n";
static std::atomic<bool> looping;
static std::atomic<unsigned long long> rounds;
static std::vector<std::thread> threads;

static cudaGraphExec_t make_graph(cudaStream_t stream)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < NODES; i++)
		node_kernel<<<1, 1, 0, stream>>>();
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

static void work(int launches, bool replays, bool copies)
{
	cudaStream_t stream;
	void *device, *host;
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMalloc(&device, 4096));
	CHECK(cudaMallocHost(&host, 4096));
	cudaGraphExec_t exec = make_graph(stream);
	for (; looping; rounds++) {
		for (int i = 0; i < launches; i++)
			empty_kernel<<<1, 1, 0, stream>>>();
		if (replays)
			CHECK(cudaGraphLaunch(exec, stream));
		if (copies)
			CHECK(cudaMemcpyAsync(device, host, 4096, cudaMemcpyHostToDevice, stream));
		CHECK(cudaStreamSynchronize(stream));
		usleep(PAUSE_US);
	}
}

static void load()
{
	CUstream stream;
	CHECK(cudaFree(0));
	CHECK(cuStreamCreate(&stream, 0));
	for (; looping; rounds++) {
		CUmodule module;
		CUfunction function;
		CHECK(cuModuleLoadData(&module, module_text));
		CHECK(cuModuleGetFunction(&function, module, "loaded_kernel"));
		CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
		CHECK(cuStreamSynchronize(stream));
		CHECK(cuModuleUnload(module));
		usleep(PAUSE_US);
	}
}

int main(int argc, char **argv)
{
	char line[64];
	CHECK(cudaFree(0));
	if (argc > 1 && !dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL)) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		unsigned long long answer = 0;
		bool single = !strncmp(line, "single", 6), loads = !strncmp(line, "loads", 5);
		if (single || loads || !strncmp(line, "eight", 5)) {
			looping = true;
			if (single)
				threads.emplace_back(work, 8, true, true);
			for (int i = 0; !single && i < 8; i++)
				threads.emplace_back(work, 16, false, false);
			if (!single)
				threads.emplace_back(work, 0, true, false);
			if (loads)
				threads.emplace_back(load);
		} else {
			looping = false;
			for (auto &thread : threads)
				thread.join();
			threads.clear();
			answer = rounds;
		}
		printf("%llu\n", answer);
		fflush(stdout);
	}
	return 0;
}
