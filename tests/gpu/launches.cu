// SPDX-License-Identifier: Apache-2.0
// A CUDA program that knows nothing of xprobe. It obeys lines of standard input and answers each: counts are exact, times are by CUDA events.
//   launch THREADS N      empty kernels, each thread on a stream of its own
//   spin N CYCLES         N kernels of about that long; answers their total time by CUDA events in ns
//   copies BYTES N        N copies of each: pageable and pinned, both directions
//   sets N   new K N      a graph of K kernels made now, launched N times     old N   one of 5 kernels, made at the start
//   rate SECONDS          launches as fast as it can from one thread; answers launches a second
//   loop THREADS US / end   launches until `end`; answers how many
#include <cuda_runtime.h>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>
#include <vector>

#define CHECK(call)                                                                            \
	do {                                                                                   \
		cudaError_t error_ = (call);                                                   \
		if (error_ != cudaSuccess) {                                                   \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_));        \
			exit(1);                                                               \
		}                                                                              \
	} while (0)

__global__ void empty_kernel()
{
}
__global__ void spin_kernel(long long cycles)
{
	long long start = clock64();
	while (clock64() - start < cycles) {
	}
}
__global__ void node_kernel()
{
}

static cudaGraphExec_t make_graph(int kernels)
{
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < kernels; i++)
		node_kernel<<<1, 1, 0, stream>>>();
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

static unsigned long long spin(int n, long long cycles)
{
	cudaEvent_t from, to;
	float ms, total = 0;
	CHECK(cudaEventCreate(&from));
	CHECK(cudaEventCreate(&to));
	for (int i = 0; i < n; i++) {
		CHECK(cudaEventRecord(from));
		spin_kernel<<<1, 1>>>(cycles);
		CHECK(cudaEventRecord(to));
		CHECK(cudaEventSynchronize(to));
		CHECK(cudaEventElapsedTime(&ms, from, to));
		total += ms;
	}
	return (unsigned long long)(total * 1e6);
}

static void launch(int threads, int n)
{
	std::vector<std::thread> workers;
	for (int t = 0; t < threads; t++)
		workers.emplace_back([n] {
			cudaStream_t stream;
			CHECK(cudaStreamCreate(&stream));
			for (int i = 0; i < n; i++)
				empty_kernel<<<1, 1, 0, stream>>>();
			CHECK(cudaStreamSynchronize(stream));
		});
	for (auto &worker : workers)
		worker.join();
}

static void copies(size_t bytes, int n)
{
	void *device, *pinned, *pageable = malloc(bytes);
	CHECK(cudaMalloc(&device, bytes));
	CHECK(cudaMallocHost(&pinned, bytes));
	memset(pageable, 1, bytes);
	for (int i = 0; i < n; i++) {
		CHECK(cudaMemcpy(device, pageable, bytes, cudaMemcpyHostToDevice));
		CHECK(cudaMemcpy(pageable, device, bytes, cudaMemcpyDeviceToHost));
		CHECK(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice));
		CHECK(cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost));
	}
	CHECK(cudaDeviceSynchronize());
}

static unsigned long long rate(double seconds)
{
	auto begin = std::chrono::steady_clock::now();
	unsigned long long n = 0;
	double passed;
	do {
		for (int i = 0; i < 300; i++)
			empty_kernel<<<1, 1>>>();
		CHECK(cudaDeviceSynchronize());
		n += 300;
		passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
	} while (passed < seconds);
	return (unsigned long long)(n / passed);
}

static std::atomic<bool> looping;
static std::atomic<unsigned long long> looped;
static std::vector<std::thread> loopers;

static void loop(int threads, int pause_us)
{
	looping = true;
	looped = 0;
	for (int t = 0; t < threads; t++)
		loopers.emplace_back([pause_us] {
			cudaStream_t stream;
			CHECK(cudaStreamCreate(&stream));
			for (unsigned long long n = 0; looping; n++, looped++) {
				empty_kernel<<<1, 1, 0, stream>>>();
				if (n % 64 == 0)
					CHECK(cudaStreamSynchronize(stream));
				if (pause_us)
					usleep(pause_us);
			}
			CHECK(cudaStreamSynchronize(stream));
		});
}

int main()
{
	char line[256], verb[32];
	CHECK(cudaFree(0));
	cudaGraphExec_t old = make_graph(5);
	for (void *d = nullptr; fgets(line, sizeof(line), stdin);) {
		double a = 0, b = 0;
		unsigned long long answer = 0;
		sscanf(line, "%31s %lf %lf", verb, &a, &b);
		if (!strcmp(verb, "launch"))
			launch((int)a, (int)b);
		else if (!strcmp(verb, "spin"))
			answer = spin((int)a, (long long)b);
		else if (!strcmp(verb, "copies"))
			copies((size_t)a, (int)b);
		else if (!strcmp(verb, "sets")) {
			if (!d)
				CHECK(cudaMalloc(&d, 1 << 20));
			for (int i = 0; i < (int)a; i++)
				CHECK(cudaMemset(d, 7, 1 << 20));
		} else if (!strcmp(verb, "new") || !strcmp(verb, "old")) {
			bool made = !strcmp(verb, "new");
			cudaGraphExec_t exec = made ? make_graph((int)a) : old;
			for (int i = 0; i < (int)(made ? b : a); i++)
				CHECK(cudaGraphLaunch(exec, 0));
		} else if (!strcmp(verb, "rate"))
			answer = rate(a);
		else if (!strcmp(verb, "loop"))
			loop((int)a, (int)b);
		else if (!strcmp(verb, "end")) {
			looping = false;
			for (auto &worker : loopers)
				worker.join();
			loopers.clear();
			answer = looped;
		}
		CHECK(cudaDeviceSynchronize());
		printf("%llu\n", answer);
		fflush(stdout);
	}
	return 0;
}
