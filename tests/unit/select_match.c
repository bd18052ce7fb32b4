/* SPDX-License-Identifier: Apache-2.0 */
/* A completed capture gives a selector the same events as the live one did: every family against events that fit and events that nearly do.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "select/match.h"
#include "select/select.h"

static const struct xp_site sites[] = {
	{ .probe_kind = XP_PROBE_UPROBE,
	  .binary_path = "/srv/app",
	  .symbol = "_ZN2ns3addEi",
	  .symbol_demangled = "ns::add(int)",
	  .offset = XP_SOME(4096) },
	{ .probe_kind = XP_PROBE_UPROBE, .binary_path = "/srv/other", .symbol = "_ZN2ns3addEi", .offset = XP_SOME(4096) },
	{ .probe_kind = XP_PROBE_SYSCALL, .symbol = "read" },
	{ .probe_kind = XP_PROBE_SYSCALL, .symbol = "readv" },
	{ .probe_kind = XP_PROBE_TRACEPOINT, .symbol = "sched_switch", .category = "sched" },
	{ .probe_kind = XP_PROBE_TRACEPOINT, .symbol = "sched_switch", .category = "other" },
	{ .probe_kind = XP_PROBE_USDT, .symbol = "gc__start", .provider = "python" },
};

static void add_host(struct xp_store *store, unsigned site, enum xp_event_type type, unsigned flags)
{
	struct xp_event event = {
		.type = (uint8_t)type, .flags = (uint16_t)flags, .detail = XP_NO_DETAIL, .site = xp_store_site(store, &sites[site])
	};

	assert_true(xp_store_add(store, &event));
}

static void add_cuda(struct xp_store *store, enum xp_event_type type, const char *name, const char *function, uint32_t domain, uint8_t kind)
{
	struct xp_event_detail *detail;
	uint32_t index = xp_store_detail_new(store, &detail);

	detail->gpu.name = name ? xp_store_intern(store, name, strlen(name)) : 0;
	detail->gpu.function = function ? xp_store_intern(store, function, strlen(function)) : 0;
	detail->gpu.callback_domain = domain;
	detail->gpu.memcpy_kind = kind;
	struct xp_event event = { .type = (uint8_t)type, .detail = index, .site = detail->gpu.name };
	assert_true(xp_store_add(store, &event));
}

static void add_nvtx(struct xp_store *store, const char *name)
{
	struct xp_event_detail *detail;
	uint32_t index = xp_store_detail_new(store, &detail);

	detail->nvtx.name = xp_store_intern(store, name, strlen(name));
	struct xp_event event = { .type = XP_EV_NVTX_RANGE_START, .detail = index, .site = detail->nvtx.name };
	assert_true(xp_store_add(store, &event));
}

static struct xp_store *capture(void)
{
	struct xp_store *store = xp_store_new(100);

	add_host(store, 0, XP_EV_HOST_FUNCTION_ENTRY, 0);				    /* bit 0 */
	add_host(store, 0, XP_EV_HOST_FUNCTION_EXIT, 0);				    /* 1 */
	add_host(store, 1, XP_EV_HOST_FUNCTION_ENTRY, 0);				    /* 2 */
	add_host(store, 2, XP_EV_SYSCALL_ENTRY, 0);					    /* 3 */
	add_host(store, 2, XP_EV_SYSCALL_ENTRY, XP_EVF_COMPAT);				    /* 4 */
	add_host(store, 3, XP_EV_SYSCALL_ENTRY, 0);					    /* 5 */
	add_host(store, 2, XP_EV_SYSCALL_EXIT, 0);					    /* 6 */
	add_host(store, 4, XP_EV_TRACEPOINT, 0);					    /* 7 */
	add_host(store, 5, XP_EV_TRACEPOINT, 0);					    /* 8 */
	add_host(store, 6, XP_EV_PYTHON_GC_START, 0);					    /* 9 */
	add_cuda(store, XP_EV_CUDA_API_ENTRY, "cudaLaunchKernel", NULL, XP_API_RUNTIME, 0); /* 10 */
	add_cuda(store, XP_EV_CUDA_API_ENTRY, "cuLaunchKernel", NULL, XP_API_DRIVER, 0);    /* 11 */
	add_cuda(store, XP_EV_CUDA_API_ENTRY, "cudaMemcpyAsync", NULL, XP_API_RUNTIME, 0);  /* 12 */
	add_cuda(store, XP_EV_GPU_KERNEL_START, "_ZN2ns5scaleIfEEvPfi", NULL, 0, 0);	    /* 13: void ns::scale<float>(float*, int) */
	add_cuda(store, XP_EV_GPU_KERNEL_START, "gemm_128", "lib::gemm", 0, 0);		    /* 14 */
	add_cuda(store, XP_EV_GPU_KERNEL_START, NULL, NULL, 0, 0);			    /* 15 */
	add_cuda(store, XP_EV_GPU_MEMCPY_START, NULL, NULL, 0, XP_COPY_HTOD);		    /* 16 */
	add_cuda(store, XP_EV_GPU_MEMCPY_START, NULL, NULL, 0, XP_COPY_DTOH);		    /* 17 */
	add_cuda(store, XP_EV_GPU_MEMCPY_START, NULL, NULL, 0, XP_COPY_UNKNOWN);	    /* 18 */
	add_cuda(store, XP_EV_GPU_MEMSET_END, NULL, NULL, 0, 0);			    /* 19 */
	add_nvtx(store, "step 1");							    /* 20 */
	add_nvtx(store, "warm-up");							    /* 21 */
	add_host(store, 2, XP_EV_SYSCALL_ENTRY, 0);					    /* 22: as 3, from memory */
	add_cuda(store, XP_EV_GPU_KERNEL_START, "gemm_128", "other::gemm", 0, 0);	    /* 23: one name, two functions */
	return store;
}

#define BIT(n) (UINT32_C(1) << (n))

static void every_family_picks_its_events(void **state)
{
	static const struct {
		const char *selector;
		uint32_t picked; /* events by position */
	} cases[] = {
		{ "uprobe:/srv/app:_ZN2ns3addEi:entry", BIT(0) },
		{ "uprobe:/srv/app:_ZN2ns3addEi:return", BIT(1) },
		{ "uprobe:/srv/app:symbol=ns::add(int):entry", BIT(0) },
		{ "uprobe:/srv/other:symbol=ns::add(int):entry", BIT(2) },
		{ "uprobe:/srv/app:symbol=ns::add(long):entry", 0 },
		{ "uprobe:/srv/app:+0x1000:entry", BIT(0) },
		{ "uprobe:/srv/app:+0x1004:entry", 0 },
		{ "uprobe:/srv:_ZN2ns3addEi:entry", 0 },
		{ "syscall:read:entry", BIT(3) | BIT(22) },
		{ "syscall:readv:entry", BIT(5) },
		{ "syscall:read:exit", BIT(6) },
		{ "tracepoint:sched:sched_switch", BIT(7) },
		{ "python:gc_start", BIT(9) },
		{ "python:gc_end", 0 },
		{ "cuda:runtime_api:cudaLaunchKernel_v7000:entry", BIT(10) },
		{ "cuda:runtime_api:@launch:entry", BIT(10) },
		{ "cuda:driver_api:@launch:entry", BIT(11) },
		{ "cuda:runtime_api:@launch:exit", 0 },
		{ "cuda:runtime_api:cudaMemcpyAsync_ptsz:entry", BIT(12) },
		{ "cuda:kernel_start", BIT(13) | BIT(14) | BIT(15) | BIT(23) },
		{ "cuda:kernel_start:name~.*", BIT(13) | BIT(14) | BIT(15) | BIT(23) },
		{ "cuda:kernel_start:name~^gemm_[0-9]+$", BIT(14) | BIT(23) },
		{ "cuda:kernel_start:function~^ns::scale$", BIT(13) },
		{ "cuda:kernel_start:function~^lib::gemm$", BIT(14) },
		{ "cuda:kernel_start:function~::gemm$", BIT(14) | BIT(23) },
		{ "cuda:memcpy_start", BIT(16) | BIT(17) | BIT(18) },
		{ "cuda:memcpy_start:kind=DtoH", BIT(17) },
		{ "cuda:memset_end", BIT(19) },
		{ "cuda:nvtx_range_start:name~^step", BIT(20) },
	};

	for (size_t i = 0; i < XP_LEN(cases); i++) {
		xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
		xp_auto(xp_store_free) struct xp_store *store = capture();
		struct xp_endpoint endpoint;
		xp_auto_err err = { 0 };
		uint32_t picked = 0;

		if (xp_select_parse(cases[i].selector, arena, &endpoint, &err))
			fail_msg("%s: %s", cases[i].selector, err.message);
		assert_int_equal(xp_match_store(&endpoint, 1, store, &err), 0);
		for (unsigned at = 0; at < xp_store_count(store); at++) {
			const struct xp_event *event = xp_store_events(store) + at;

			picked |= event->endpoints ? BIT(at) : 0;
			assert_int_equal(xp_endpoint_matches(&endpoint, store, event, &err), event->endpoints);
		}
		if (picked != cases[i].picked)
			fail_msg("%s picked %x, not %x", cases[i].selector, picked, cases[i].picked);
	}
}

static void one_event_carries_every_bit(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto(xp_store_free) struct xp_store *store = capture();
	struct xp_endpoint endpoints[3];
	xp_auto_err err = { 0 };

	assert_int_equal(xp_select_parse("syscall:read:entry", arena, &endpoints[0], &err), 0);
	assert_int_equal(xp_select_parse("syscall:readv:entry", arena, &endpoints[1], &err), 0);
	assert_int_equal(xp_select_parse("syscall:read:entry", arena, &endpoints[2], &err), 0);
	assert_int_equal(xp_match_store(endpoints, 3, store, &err), 0);
	assert_int_equal(xp_store_events(store)[3].endpoints, 5);
	assert_int_equal(xp_store_events(store)[5].endpoints, 2);
}

/* Selected by nobody, restart_syscall and rt_sigreturn only continue other calls; selected, they are calls of their own. */
static void continuations_are_marked(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto(xp_store_free) struct xp_store *store = xp_store_new(10);
	static const struct {
		const char *name;
		uint32_t nr;
	} calls[] = { { "restart_syscall", 219 }, { "rt_sigreturn", 15 }, { "read", 0 } };
	struct xp_endpoint endpoint;
	xp_auto_err err = { 0 };

	for (size_t i = 0; i < XP_LEN(calls); i++) {
		struct xp_site site = { .probe_kind = XP_PROBE_SYSCALL, .symbol = calls[i].name };
		struct xp_event event = { .type = XP_EV_SYSCALL_EXIT, .detail = XP_NO_DETAIL, .syscall_nr = calls[i].nr };

		event.site = xp_store_site(store, &site);
		xp_store_add(store, &event);
	}
	assert_int_equal(xp_select_parse("syscall:rt_sigreturn:exit", arena, &endpoint, &err), 0);
	assert_int_equal(xp_match_store(&endpoint, 1, store, &err), 0);
	assert_int_equal(xp_store_events(store)[0].flags, XP_EVF_CONTINUES);
	assert_int_equal(xp_store_events(store)[1].flags, 0);
	assert_int_equal(xp_store_events(store)[2].flags, 0);
}

/* The selector may name the file by a link; the capture has the path that the target maps. */
static void links_lead_to_the_same_file(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto(xp_store_free) struct xp_store *store = xp_store_new(10);
	struct xp_site site = { .probe_kind = XP_PROBE_UPROBE, .symbol = "f" };
	struct xp_event event = { .type = XP_EV_HOST_FUNCTION_ENTRY, .detail = XP_NO_DETAIL };
	struct xp_endpoint endpoint;
	xp_auto_err err = { 0 };
	char self[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(len > 0);
	self[len] = '\0';
	site.binary_path = self;
	event.site = xp_store_site(store, &site);
	xp_store_add(store, &event);
	assert_int_equal(xp_select_parse("uprobe:/proc/self/exe:f:entry", arena, &endpoint, &err), 0);
	assert_int_equal(xp_match_store(&endpoint, 1, store, &err), 0);
	assert_int_equal(xp_store_events(store)[0].endpoints, 1);
}

static void functions_lose_types_and_parameters(void **state)
{
	static const char *const cases[][2] = {
		{ "_ZN2ns5scaleIfEEvPfi", "ns::scale" },
		{ "void ns::scale<float>(float*, int)", "ns::scale" },
		{ "gemm_128", "gemm_128" },
		{ "void (anonymous namespace)::k<int, (bool)1>(int*)", "(anonymous namespace)::k" },
		{ "Foo<int>::bar<std::pair<int, long> >(int) const", "Foo::bar" },
		{ "unsigned long ns::Less<int>::operator()<float>(float) const", "ns::Less::operator()" },
		{ "bool ns::operator< <int>(ns::A<int> const&)", "ns::operator<" },
		{ "std::enable_if<((4)>(3)), void>::type ns::f<4>(int)", "ns::f" },
		{ "void run<f(int)::{lambda(int)#1}>(int)", "run" },
		{ "f(int)", "f" },
		{ "<broken", "<broken" },
		{ "", "" },
	};
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();

	for (size_t i = 0; i < XP_LEN(cases); i++)
		assert_string_equal(xp_kernel_function(arena, cases[i][0]), cases[i][1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_family_picks_its_events),
		cmocka_unit_test(one_event_carries_every_bit),
		cmocka_unit_test(continuations_are_marked),
		cmocka_unit_test(links_lead_to_the_same_file),
		cmocka_unit_test(functions_lose_types_and_parameters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
