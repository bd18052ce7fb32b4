// SPDX-License-Identifier: Apache-2.0
// A CUDA program that knows nothing of xprobe. It obeys lines of standard input and answers each: counts are exact, times are by CUDA events.
//   launch THREADS N      empty kernels, each thread on a stream of its own
//   spin N CYCLES         N kernels of about that long; answers their total time by CUDA events in ns
//   copies BYTES N        N copies of each: pageable and pinned, both directions
//   sets N   new K N      a graph of K kernels made now, launched N times     old N   one of 5 kernels, made at the start
//   rate SECONDS          launches as fast as it can from one thread; answers launches a second
//   loop THREADS US / end   launches until `end`; answers how many      replays US   as well: one more thread that replays a graph
//   way NAME THREADS N    N launches from each thread, on a stream of its own: runtime driver cooperative driver-cooperative extended
//                         driver-extended; built with -default-stream per-thread: the entries of that stream
//   mixed N               a graph of 24 kernels and 7 copies, made at the start, launched N times     newmixed N   one made now
#include <cuda.h>
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

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
enum { PER_THREAD = 1 };
#else
enum { PER_THREAD = 0 };
#endif

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

static cudaGraphExec_t make_mixed(int kernels, int copies)
{
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	void *from, *to;
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMalloc(&from, 4096));
	CHECK(cudaMalloc(&to, 4096));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < kernels; i++)
		node_kernel<<<1, 1, 0, stream>>>();
	for (int i = 0; i < copies; i++)
		CHECK(cudaMemcpyAsync(to, from, 4096, cudaMemcpyDeviceToDevice, stream));
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

#define CHECK_DRIVER(call)                                                                     \
	do {                                                                                   \
		CUresult error_ = (call);                                                      \
		if (error_ != CUDA_SUCCESS) {                                                  \
			fprintf(stderr, "%s: %d\n", #call, error_);                            \
			exit(1);                                                               \
		}                                                                              \
	} while (0)

static void launch_by(const char *way, CUfunction function, cudaStream_t stream)
{
	cudaLaunchConfig_t config = {};
	CUlaunchConfig driver = {};
	config.gridDim = config.blockDim = dim3(1);
	config.stream = stream;
	driver.gridDimX = driver.gridDimY = driver.gridDimZ = driver.blockDimX = driver.blockDimY = driver.blockDimZ = 1;
	driver.hStream = stream;
	if (!strcmp(way, "runtime"))
		empty_kernel<<<1, 1, 0, stream>>>();
	else if (!strcmp(way, "driver"))
		CHECK_DRIVER(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
	else if (!strcmp(way, "cooperative"))
		CHECK(cudaLaunchCooperativeKernel((const void *)empty_kernel, dim3(1), dim3(1), nullptr, 0, stream));
	else if (!strcmp(way, "driver-cooperative"))
		CHECK_DRIVER(cuLaunchCooperativeKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr));
	else if (!strcmp(way, "extended"))
		CHECK(cudaLaunchKernelEx(&config, empty_kernel));
	else if (!strcmp(way, "driver-extended"))
		CHECK_DRIVER(cuLaunchKernelEx(&driver, function, nullptr, nullptr));
	else
		exit(2);
}

// On the thread's own stream, or the default one, which is per thread in a program built so.
static void launch_way(const char *way, int threads, int n, bool own_stream)
{
	std::vector<std::thread> workers;
	cudaFunction_t function;
	CHECK(cudaGetFuncBySymbol(&function, (const void *)empty_kernel));
	for (int t = 0; t < threads; t++)
		workers.emplace_back([=] {
			cudaStream_t stream = nullptr;
			CHECK(cudaFree(0)); // makes the context current
			if (own_stream)
				CHECK(cudaStreamCreate(&stream));
			for (int i = 0; i < n; i++)
				launch_by(way, (CUfunction)function, stream);
			CHECK(cudaStreamSynchronize(stream));
		});
	for (auto &worker : workers)
		worker.join();
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

static void replay_loop(int pause_us)
{
	loopers.emplace_back([pause_us] {
		cudaGraphExec_t exec = make_graph(32);
		cudaStream_t stream;
		CHECK(cudaStreamCreate(&stream));
		while (looping) {
			CHECK(cudaGraphLaunch(exec, stream));
			CHECK(cudaStreamSynchronize(stream));
			usleep(pause_us);
		}
	});
}

int main()
{
	char line[256], verb[32], way[32];
	CHECK(cudaFree(0));
	cudaGraphExec_t old = make_graph(5), mixed = make_mixed(24, 7);
	for (void *d = nullptr; fgets(line, sizeof(line), stdin);) {
		double a = 0, b = 0;
		unsigned long long answer = 0;
		sscanf(line, "%31s %lf %lf", verb, &a, &b);
		if (sscanf(line, "way %31s %lf %lf", way, &a, &b) == 3)
			launch_way(way, (int)a, (int)b, PER_THREAD == 0);
		else if (!strcmp(verb, "mixed") || !strcmp(verb, "newmixed")) {
			cudaGraphExec_t exec = !strcmp(verb, "mixed") ? mixed : make_mixed(24, 7);
			for (int i = 0; i < (int)a; i++)
				CHECK(cudaGraphLaunch(exec, 0));
		} else if (!strcmp(verb, "replays"))
			replay_loop((int)a);
		else if (!strcmp(verb, "launch"))
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
