/* SPDX-License-Identifier: Apache-2.0 */
/* Every selector family: good and bad selectors with the exact outcome, and the list of families itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "arch/x86_64/syscalls.h"
#include "select/select.h"

struct good {
	const char *selector, *family;
	enum xp_event_type type;
	enum xp_boundary boundary;
};

static const struct good good[] = {
	{ "syscall:fsync:entry", "syscall", XP_EV_SYSCALL_ENTRY, XP_AT_ENTRY },
	{ "syscall:rt_sigreturn:exit", "syscall", XP_EV_SYSCALL_EXIT, XP_AT_EXIT },
	{ "syscall:_sysctl:entry", "syscall", XP_EV_SYSCALL_ENTRY, XP_AT_ENTRY },
	{ "tracepoint:sched:sched_switch", "tracepoint", XP_EV_TRACEPOINT, XP_AT_ENTRY },
	{ "tracepoint:9p:9p_fid_ref", "tracepoint", XP_EV_TRACEPOINT, XP_AT_ENTRY },
	{ "cuda:runtime_api:cudaLaunchKernel:entry", "cuda_api", XP_EV_CUDA_API_ENTRY, XP_AT_ENTRY },
	{ "cuda:runtime_api:@launch:exit", "cuda_api", XP_EV_CUDA_API_EXIT, XP_AT_EXIT },
	{ "cuda:driver_api:cuLaunchKernel:exit", "cuda_api", XP_EV_CUDA_API_EXIT, XP_AT_EXIT },
	{ "cuda:driver_api:@launch:entry", "cuda_api", XP_EV_CUDA_API_ENTRY, XP_AT_ENTRY },
	{ "cuda:kernel_start", "cuda_kernel", XP_EV_GPU_KERNEL_START, XP_AT_ENTRY },
	{ "cuda:kernel_end:name~.*", "cuda_kernel", XP_EV_GPU_KERNEL_END, XP_AT_EXIT },
	{ "cuda:kernel_end:name~a::b:(c|d)", "cuda_kernel", XP_EV_GPU_KERNEL_END, XP_AT_EXIT },
	{ "cuda:kernel_start:function~^gemm", "cuda_kernel", XP_EV_GPU_KERNEL_START, XP_AT_ENTRY },
	{ "cuda:memcpy_start", "cuda_memcpy", XP_EV_GPU_MEMCPY_START, XP_AT_ENTRY },
	{ "cuda:memcpy_end:kind=PtoP", "cuda_memcpy", XP_EV_GPU_MEMCPY_END, XP_AT_EXIT },
	{ "cuda:memset_start", "cuda_memset", XP_EV_GPU_MEMSET_START, XP_AT_ENTRY },
	{ "cuda:memset_end", "cuda_memset", XP_EV_GPU_MEMSET_END, XP_AT_EXIT },
	{ "cuda:nvtx_range_start:name~^step$", "cuda_nvtx", XP_EV_NVTX_RANGE_START, XP_AT_ENTRY },
	{ "cuda:nvtx_range_end:name~a:b", "cuda_nvtx", XP_EV_NVTX_RANGE_END, XP_AT_EXIT },
};

static const char *const bad[] = {
	"syscall:",
	"syscall::entry",
	"syscall:fsync",
	"syscall:fsync:",
	"syscall:fsync:return",
	"syscall:fsync:entry ",
	"syscall:fsync:entry:x",
	"syscall:no_such_call:entry",
	"syscall:fs-ync:entry",
	"syscall: fsync:entry",
	"syscall:FSYNC:entry",
	"tracepoint:",
	"tracepoint:sched",
	"tracepoint:sched:",
	"tracepoint::sched_switch",
	"tracepoint:sched:a:b",
	"tracepoint:sched:a-b",
	"tracepoint:sc/hed:a",
	"tracepoint:..:a",
	"tracepoint:sched:sched_switch\n",
	"cuda:runtime_api",
	"cuda:runtime_api:cudaLaunchKernel",
	"cuda:runtime_api:cudaLaunchKernel:return",
	"cuda:runtime_api::entry",
	"cuda:runtime_api:cuLaunchKernel:entry",
	"cuda:driver_api:cudaLaunchKernel:entry",
	"cuda:runtime_api:cublasSgemm:entry",
	"cuda:runtime_api:cudaFoo-bar:entry",
	"cuda:runtime_api:@launches:entry",
	"cuda:runtime_apis:cudaMalloc:entry",
	"cuda:runtime_api:cuda:entry",
	"cuda:driver_api:_v2:exit",
	"cuda:kernel_start:",
	"cuda:kernel_start:name~",
	"cuda:kernel_start:name=",
	"cuda:kernel_startx",
	"cuda:kernel_end:name~(",
	"cuda:kernel_end:name~(?=a)",
	"cuda:kernel_end:name~(a)\\1",
	"cuda:kernel_end:function~",
	"cuda:kernel_end: name~a",
	"cuda:kernel_end:name~\xff",
	"cuda:memcpy_start:",
	"cuda:memcpy_start:kind=",
	"cuda:memcpy_start:kind=unknown",
	"cuda:memcpy_start:kind=htod",
	"cuda:memcpy_end:kind=HtoD:x",
	"cuda:memcpy_ends",
	"cuda:memset_start:",
	"cuda:memset_end:kind=HtoD",
	"cuda:nvtx_range_start",
	"cuda:nvtx_range_start:",
	"cuda:nvtx_range_start:name~",
	"cuda:nvtx_range_end:name~.*",
	"cuda:nvtx_range_end:name~a+",
	"cuda:nvtx_range_end:name~a|b",
	"cuda:nvtx_range_end:function~a",
	"cuda:nvtx_range_end:name~step.*",
	/* No family begins like these. */
	"",
	"cuda",
	"cuda:",
	"cuda:graph_start",
	"Syscall:fsync:entry",
	"usdt:a:b",
	"sys",
};

static int parse(const char *selector, struct xp_arena *arena, struct xp_endpoint *ep, struct xp_err *reterr)
{
	return xp_select_parse(selector, arena, ep, reterr);
}

static void test_good(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();

	for (size_t i = 0; i < XP_LEN(good); i++) {
		xp_auto_err err = { 0 };
		struct xp_endpoint ep;

		if (parse(good[i].selector, arena, &ep, &err))
			fail_msg("%s: %s", good[i].selector, err.message);
		assert_string_equal(ep.family->name, good[i].family);
		assert_int_equal(ep.type, good[i].type);
		assert_int_equal(ep.boundary, good[i].boundary);
		assert_int_equal(err.code, XP_E_NONE);
	}
}

static void test_bad(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();

	for (size_t i = 0; i < XP_LEN(bad); i++) {
		xp_auto_err err = { 0 };
		struct xp_endpoint ep;

		if (parse(bad[i], arena, &ep, &err) != -XP_E_INVALID_EVENT_SELECTOR)
			fail_msg("%s was accepted", bad[i]);
		assert_int_equal(err.code, XP_E_INVALID_EVENT_SELECTOR);
		assert_true(err.message[0]);
	}
}

/* Each family's own example parses, and the list is sorted and complete in what help and docs need. */
static void test_descriptors(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	size_t n;
	const struct xp_family *const *families = xp_families(&n);

	assert_true(n >= 7);
	for (size_t i = 0; i < n; i++) {
		assert_true(families[i]->grammar && families[i]->summary && families[i]->event_types && families[i]->needs);
		if (i)
			assert_true(strcmp(families[i - 1]->name, families[i]->name) < 0);

		xp_auto_err err = { 0 };
		struct xp_endpoint ep;
		assert_int_equal(parse(families[i]->example, arena, &ep, &err), 0);
		assert_ptr_equal(ep.family, families[i]);
	}
}

static void test_details(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto_err err = { 0 };
	struct xp_endpoint ep;

	assert_int_equal(parse("syscall:mmap:entry", arena, &ep, &err), 0);
	assert_string_equal(ep.syscall.name, "mmap");
	assert_int_equal(ep.syscall.number, 9);
	assert_int_equal(parse("tracepoint:sched:sched_switch", arena, &ep, &err), 0);
	assert_string_equal(ep.tracepoint.category, "sched");
	assert_string_equal(ep.tracepoint.name, "sched_switch");
	assert_int_equal(parse("cuda:memcpy_start:kind=DtoD", arena, &ep, &err), 0);
	assert_int_equal(ep.cuda.memcpy_kind, XP_COPY_DTOD);
	assert_int_equal(parse("cuda:memcpy_start", arena, &ep, &err), 0);
	assert_int_equal(ep.cuda.memcpy_kind, -1);
	assert_int_equal(parse("cuda:runtime_api:__cudaLaunchKernel_ptsz_v13000:entry", arena, &ep, &err), 0);
	assert_string_equal(ep.cuda.api_name, "cudaLaunchKernel");
	assert_int_equal(ep.cuda.domain, XP_API_RUNTIME);
	assert_int_equal(parse("cuda:kernel_start:function~a:b", arena, &ep, &err), 0);
	assert_true(ep.cuda.on_function);
	assert_string_equal(ep.cuda.pattern, "a:b");
	assert_int_equal(parse("cuda:kernel_start", arena, &ep, &err), 0);
	assert_null(ep.cuda.pattern);
	assert_int_equal(parse("syscall:fsyncs:exit", arena, &ep, &err), -XP_E_INVALID_EVENT_SELECTOR);
	assert_string_equal(json_string_value(json_array_get(json_object_get(err.details, "candidates"), 0)), "syscall:fsync:exit");
}

/* Names come from the kernel's header: every one round trips, and numbers beyond it have none. */
static void test_syscall_names(void **state)
{
	unsigned named = 0;

	for (uint32_t nr = 0; nr <= XP_SYSCALL_MAX; nr++) {
		const char *name = xp_syscall_name(nr);

		if (!name)
			continue;
		named++;
		assert_int_equal(xp_syscall_number(name), (int)nr);
	}
	assert_true(named > 330);
	assert_string_equal(xp_syscall_name(0), "read");
	assert_string_equal(xp_syscall_name(219), "restart_syscall");
	assert_string_equal(xp_syscall_name_32(20), "getpid");
	assert_null(xp_syscall_name(XP_SYSCALL_MAX + 1));
	assert_null(xp_syscall_name(0x40000000));
	assert_null(xp_syscall_name_32(UINT32_MAX));
	assert_int_equal(xp_syscall_number("read_"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),	cmocka_unit_test(test_bad),	      cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_details), cmocka_unit_test(test_syscall_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
