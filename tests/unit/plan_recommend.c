/* SPDX-License-Identifier: Apache-2.0 */
/* The whole table of contract 9 "Recommendation": which policies are offered for a pair, in which order, and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"

#define UPROBE(t, n)                                                                                                 \
	{                                                                                                            \
		.type = XP_EV_HOST_FUNCTION_##t, .uprobe = { .path = "/bin/app", .name = n }, .cuda.memcpy_kind = -1 \
	}
#define OFFSET(t, o)                                                                                                        \
	{                                                                                                                   \
		.type = XP_EV_HOST_FUNCTION_##t, .uprobe = { .path = "/bin/app", .target = XP_UPROBE_OFFSET, .offset = o }, \
		.cuda.memcpy_kind = -1                                                                                      \
	}
#define SYSCALL(t, n)                                                                \
	{                                                                            \
		.type = XP_EV_SYSCALL_##t, .syscall.name = n, .cuda.memcpy_kind = -1 \
	}
#define TRACEPOINT(n)                                                                          \
	{                                                                                      \
		.type = XP_EV_TRACEPOINT, .tracepoint = { "sched", n }, .cuda.memcpy_kind = -1 \
	}
#define PLAIN(t)                                          \
	{                                                 \
		.type = XP_EV_##t, .cuda.memcpy_kind = -1 \
	}
#define API(t, d, n)                                                                                          \
	{                                                                                                     \
		.type = XP_EV_CUDA_API_##t, .cuda = {.domain = XP_API_##d, .api_name = n, .memcpy_kind = -1 } \
	}
#define NAMED(t, p)                                                           \
	{                                                                     \
		.type = XP_EV_##t, .cuda = {.pattern = p, .memcpy_kind = -1 } \
	}
#define FUNCTION(t, p)                                                                             \
	{                                                                                          \
		.type = XP_EV_##t, .cuda = {.pattern = p, .on_function = true, .memcpy_kind = -1 } \
	}
#define COPY(t, k)                                                  \
	{                                                           \
		.type = XP_EV_GPU_MEMCPY_##t, .cuda.memcpy_kind = k \
	}

static const char weak[] = "first_after nearest", strong[] = "exact first_after nearest";
static const char order_only[] = "temporal_order_only", key[] = "deterministic_correlation_key", stream[] = "cuda_stream_order";
static const char frame[] = "stack_nested first_after nearest", spans[] = "exact stream_order first_after nearest";
static const char other_spans[] = "stream_order exact first_after nearest", streams[] = "stream_order first_after nearest";

static const struct row {
	struct xp_endpoint start, end;
	const char *policies, *reason;
} rows[] = {
	{ UPROBE(ENTRY, "f"), UPROBE(EXIT, "f"), frame, "host_call_frame" },
	{ OFFSET(ENTRY, 4096), OFFSET(EXIT, 4096), frame, "host_call_frame" },
	{ OFFSET(ENTRY, 4096), OFFSET(EXIT, 4100), weak, order_only },
	{ UPROBE(EXIT, "f"), UPROBE(ENTRY, "f"), weak, order_only },
	{ UPROBE(ENTRY, "f"), UPROBE(EXIT, "g"), weak, order_only },
	{ UPROBE(ENTRY, "f"), UPROBE(ENTRY, "f"), weak, order_only },
	{ UPROBE(ENTRY, "f"), SYSCALL(EXIT, "read"), weak, order_only },
	{ UPROBE(ENTRY, "f"), PLAIN(GPU_KERNEL_START), weak, order_only },
	{ TRACEPOINT("sched_switch"), TRACEPOINT("sched_switch"), weak, order_only },
	{ TRACEPOINT("sched_switch"), API(ENTRY, RUNTIME, "cudaMalloc"), weak, order_only },
	{ SYSCALL(ENTRY, "read"), SYSCALL(EXIT, "read"), strong, key },
	{ SYSCALL(ENTRY, "read"), SYSCALL(EXIT, "write"), weak, order_only },
	{ SYSCALL(EXIT, "read"), SYSCALL(ENTRY, "read"), weak, order_only },
	{ SYSCALL(ENTRY, "read"), SYSCALL(ENTRY, "read"), weak, order_only },
	{ PLAIN(PYTHON_GC_START), PLAIN(PYTHON_GC_END), strong, key },
	{ PLAIN(PYTHON_GC_END), PLAIN(PYTHON_GC_START), weak, order_only },
	{ NAMED(NVTX_RANGE_START, "^step$"), NAMED(NVTX_RANGE_END, "^step$"), strong, key },
	{ NAMED(NVTX_RANGE_START, "^step$"), NAMED(NVTX_RANGE_END, "^other$"), weak, order_only },
	{ API(ENTRY, RUNTIME, "cudaMalloc"), API(EXIT, RUNTIME, "cudaMalloc"), strong, key },
	{ API(ENTRY, RUNTIME, "@launch"), API(EXIT, RUNTIME, "@launch"), strong, key },
	{ API(ENTRY, RUNTIME, "cudaMalloc"), API(EXIT, RUNTIME, "cudaFree"), weak, order_only },
	{ API(ENTRY, RUNTIME, "@launch"), API(EXIT, DRIVER, "@launch"), weak, order_only },
	{ API(ENTRY, RUNTIME, "cudaMalloc"), API(ENTRY, RUNTIME, "cudaMalloc"), weak, order_only },
	{ API(EXIT, RUNTIME, "cudaMalloc"), API(ENTRY, RUNTIME, "cudaMalloc"), weak, order_only },
	{ API(ENTRY, RUNTIME, "cudaLaunchKernel"), NAMED(GPU_KERNEL_START, "k"), strong, key },
	{ API(EXIT, RUNTIME, "cudaLaunchKernel"), PLAIN(GPU_KERNEL_START), strong, key },
	{ API(ENTRY, DRIVER, "cuLaunchKernel"), PLAIN(GPU_KERNEL_END), strong, key },
	{ API(ENTRY, DRIVER, "cuLaunchKernelEx"), PLAIN(GPU_KERNEL_START), strong, key },
	{ API(ENTRY, RUNTIME, "cudaLaunchCooperativeKernel"), PLAIN(GPU_KERNEL_START), strong, key },
	{ API(ENTRY, RUNTIME, "cudaLaunchKernelExC"), PLAIN(GPU_KERNEL_START), strong, key },
	{ API(ENTRY, RUNTIME, "cudaGraphLaunch"), PLAIN(GPU_KERNEL_START), strong, key },
	{ API(ENTRY, DRIVER, "cuGraphLaunch"), PLAIN(GPU_KERNEL_START), strong, key },
	{ API(ENTRY, DRIVER, "@launch"), PLAIN(GPU_KERNEL_START), strong, key },
	{ API(ENTRY, RUNTIME, "cudaMemcpyAsync"), PLAIN(GPU_KERNEL_START), weak, order_only },
	{ API(ENTRY, RUNTIME, "cudaMemcpyAsync"), COPY(START, -1), weak, order_only },
	{ API(ENTRY, RUNTIME, "cudaLaunchKernel"), COPY(START, -1), weak, order_only },
	{ API(ENTRY, RUNTIME, "cudaMemsetAsync"), PLAIN(GPU_MEMSET_START), weak, order_only },
	{ PLAIN(GPU_KERNEL_START), API(EXIT, RUNTIME, "cudaLaunchKernel"), weak, order_only },
	{ PLAIN(GPU_KERNEL_START), PLAIN(GPU_KERNEL_END), spans, key },
	{ NAMED(GPU_KERNEL_START, "k"), NAMED(GPU_KERNEL_END, "k"), spans, key },
	{ NAMED(GPU_KERNEL_START, "k"), NAMED(GPU_KERNEL_END, "l"), other_spans, stream },
	{ NAMED(GPU_KERNEL_START, "k"), FUNCTION(GPU_KERNEL_END, "k"), other_spans, stream },
	{ NAMED(GPU_KERNEL_START, "k"), PLAIN(GPU_KERNEL_END), other_spans, stream },
	{ COPY(START, XP_COPY_HTOD), COPY(END, XP_COPY_HTOD), spans, key },
	{ COPY(START, XP_COPY_HTOD), COPY(END, XP_COPY_DTOH), other_spans, stream },
	{ PLAIN(GPU_MEMSET_START), PLAIN(GPU_MEMSET_END), spans, key },
	{ PLAIN(GPU_KERNEL_END), PLAIN(GPU_KERNEL_START), streams, stream },
	{ PLAIN(GPU_KERNEL_START), PLAIN(GPU_KERNEL_START), streams, stream },
	{ COPY(END, -1), COPY(END, -1), streams, stream },
	{ PLAIN(GPU_MEMSET_END), PLAIN(GPU_MEMSET_START), streams, stream },
	{ COPY(END, -1), PLAIN(GPU_KERNEL_START), streams, stream },
	{ PLAIN(GPU_KERNEL_START), PLAIN(GPU_MEMSET_END), streams, stream },
	{ PLAIN(GPU_KERNEL_END), UPROBE(ENTRY, "f"), weak, order_only },
};

static void every_row(void **state)
{
	for (size_t i = 0; i < XP_LEN(rows); i++) {
		struct xp_recommendation r = xp_recommend(&rows[i].start, &rows[i].end);
		char listed[128] = "";

		for (size_t k = 0; k < r.n_compatible; k++) {
			strcat(listed, k ? " " : "");
			strcat(listed, r.compatible_policies[k]);
			assert_true(r.possible[xp_policy_from_name(r.compatible_policies[k])]);
		}
		if (strcmp(listed, rows[i].policies) || strcmp(r.reason, rows[i].reason))
			print_error("row %zu: %s (%s)\n", i, listed, r.reason);
		assert_string_equal(listed, rows[i].policies);
		assert_string_equal(r.reason, rows[i].reason);
		assert_string_equal(xp_policy_names[r.policy], r.compatible_policies[0]);
		for (unsigned p = 0, possible = 0; p < XP_POLICY_COUNT; p++) {
			possible += r.possible[p];
			if (p == XP_POLICY_COUNT - 1)
				assert_int_equal(possible, r.n_compatible);
		}
	}
}

/* One function spelled in two ways is one function; two mappings of two files at one offset are not. */
static void resolved_place_counts(void **state)
{
	struct xp_resolved a = { .file_offset = 64, .mapping = { .inode = 5, .dev_minor = 2 } }, b = a, c = a;
	struct xp_endpoint start = UPROBE(ENTRY, "f"), end = OFFSET(EXIT, 64);

	start.resolved = &a;
	end.resolved = &b;
	assert_int_equal(xp_recommend(&start, &end).policy, XP_POLICY_STACK_NESTED);
	c.mapping.inode = 6;
	end.resolved = &c;
	assert_int_equal(xp_recommend(&start, &end).policy, XP_POLICY_FIRST_AFTER);
}

static void both_spellings(void **state)
{
	assert_int_equal(xp_policy_from_name("first-after"), XP_POLICY_FIRST_AFTER);
	assert_int_equal(xp_policy_from_name("first_after"), XP_POLICY_FIRST_AFTER);
	assert_int_equal(xp_policy_from_name("stack-nested"), XP_POLICY_STACK_NESTED);
	assert_int_equal(xp_policy_from_name("stream-order"), XP_POLICY_STREAM_ORDER);
	assert_int_equal(xp_policy_from_name("exact"), XP_POLICY_EXACT);
	assert_int_equal(xp_policy_from_name("nearest"), XP_POLICY_NEAREST);
	assert_int_equal(xp_policy_from_name("first after"), -1);
	assert_int_equal(xp_policy_from_name("first"), -1);
	assert_int_equal(xp_policy_from_name("first_after_"), -1);
	assert_int_equal(xp_policy_from_name(""), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row),
		cmocka_unit_test(resolved_place_counts),
		cmocka_unit_test(both_spellings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
