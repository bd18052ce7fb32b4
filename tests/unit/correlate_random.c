/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thousands of small random captures, full of ties and missing ids, through xp_correlate and through contract 9 written a second time,
 * as plainly as it reads (tests/reference). Both must give the same pairs and the same counts, with and without a samples cut.
 */
#include <asm/unistd.h>

#include "../reference/correlate.c"

enum { CASES = 15000, MAX_EVENTS = 18 };

static uint32_t roll(uint64_t *seed, uint32_t sides)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % sides;
}

static void add_random_event(struct capture *c, uint64_t *seed, void (*dress)(struct capture *, uint64_t *, struct xp_event *))
{
	struct xp_event e = event_of(c, 100 + roll(seed, 12), 1 + roll(seed, 2));

	e.pid = 50;
	e.tid = 1 + roll(seed, 2);
	e.process = xp_store_process(c->store, 50, (struct xp_opt_u64){ .set = roll(seed, 4) > 0, .v = 7 });
	dress(c, seed, &e);
	put(c, e);
}

static void dress_calls(struct capture *c, uint64_t *seed, struct xp_event *e)
{
	e->host.sp = 100 - 10 * roll(seed, 4);
	e->flags = roll(seed, 8) ? XP_EVF_HAS_SP : 0;
	if (roll(seed, 5) == 0) {
		e->flags |= XP_EVF_GOROUTINE;
		e->host.key = 1 + roll(seed, 2);
	}
}

static void dress_syscall(struct capture *c, uint64_t *seed, struct xp_event *e)
{
	static const int64_t results[] = { 0, 5, -4, -511, -512, -512, -516 };

	e->host.result = results[roll(seed, XP_LEN(results))];
	e->syscall_nr = __NR_read;
	if (roll(seed, 3))
		return;
	e->endpoints = 0;
	e->type = roll(seed, 3) ? XP_EV_SYSCALL_EXIT : XP_EV_SYSCALL_ENTRY;
	e->syscall_nr = roll(seed, 2) ? __NR_restart_syscall : __NR_rt_sigreturn;
	e->flags = XP_EVF_CONTINUES | (roll(seed, 6) ? 0 : XP_EVF_COMPAT);
}

static void dress_plain(struct capture *c, uint64_t *seed, struct xp_event *e)
{
}

static void dress_loose(struct capture *c, uint64_t *seed, struct xp_event *e)
{
	e->endpoints = roll(seed, 4); /* neither, start, end, both */
}

static void dress_range(struct capture *c, uint64_t *seed, struct xp_event *e)
{
	struct xp_event_detail *detail;

	e->detail = xp_store_detail_new(c->store, &detail);
	detail->nvtx.process_range = (uint8_t)roll(seed, 2);
	detail->nvtx.range_id = roll(seed, 2);
}

static void dress_gpu(struct capture *c, uint64_t *seed, struct xp_event *e)
{
	struct xp_event_detail *detail;
	bool api = e->type == XP_EV_CUDA_API_ENTRY || e->type == XP_EV_CUDA_API_EXIT;

	e->tid = 0;
	e->gpu.device = roll(seed, 2);
	e->gpu.context = 1 + roll(seed, 2);
	e->gpu.correlation = roll(seed, 9) ? 5 + roll(seed, 2) : UINT32_MAX;
	e->gpu.stream = roll(seed, 12) ? 1 + roll(seed, 2) : UINT32_MAX;
	e->flags |= roll(seed, 12) ? 0 : XP_EVF_NO_CORRELATION;
	e->flags |= roll(seed, api ? 3 : 12) ? 0 : XP_EVF_NO_CONTEXT;
	e->flags |= roll(seed, 12) ? 0 : XP_EVF_NO_STREAM;
	e->flags |= roll(seed, 12) ? 0 : XP_EVF_NO_DEVICE;
	e->flags |= roll(seed, 12) ? 0 : XP_EVF_INVALID_TIME;
	e->flags |= roll(seed, 6) ? 0 : XP_EVF_LAUNCH_UNKNOWN;
	e->error_ns = roll(seed, 4) ? roll(seed, 4) : XP_ERROR_UNKNOWN;
	if (api && roll(seed, 2))
		e->flags |= XP_EVF_GRAPH_LAUNCH;
	if (!api && roll(seed, 2)) {
		e->flags |= XP_EVF_GRAPH_NODE;
		e->detail = xp_store_detail_new(c->store, &detail);
		detail->gpu.node = roll(seed, 4);
	}
	if (roll(seed, 8) == 0) { /* an activity that no selector names */
		e->endpoints = 0;
		e->type = XP_EV_GPU_MEMSET_START;
	}
}

static void compare(struct capture *c, const struct reference *r, const char *what, unsigned number)
{
	const struct xp_pairs *got = &c->pairs, *want = &r->out;
	bool same = got->n == want->n && got->unmatched_start == want->unmatched_start && got->unmatched_end == want->unmatched_end &&
		    got->ambiguous == want->ambiguous && got->one_to_many == want->one_to_many &&
		    got->within_clock_error == want->within_clock_error;

	for (uint64_t i = 0; i < want->n && same; i++)
		same = got->at[i].start == want->at[i].start && got->at[i].end == want->at[i].end;
	if (same)
		return;
	print_error("%s, case %u, samples %d: pairs %d/%d starts %d/%d ends %d/%d ambiguous %d/%d many %d/%d early %d/%d\n", what, number,
		    (int)c->request.samples, (int)got->n, (int)want->n, (int)got->unmatched_start, (int)want->unmatched_start,
		    (int)got->unmatched_end, (int)want->unmatched_end, (int)got->ambiguous, (int)want->ambiguous, (int)got->one_to_many,
		    (int)want->one_to_many, (int)got->within_clock_error, (int)want->within_clock_error);
	for (int i = 0; i < r->n; i++)
		print_error("  %2d t=%d role=%u type=%u tid=%u flags=%#x sp/dev.ctx=%#lx key/corr=%#lx res/stream=%ld nr=%u\n", i,
			    (int)r->e[i].t_ns, r->e[i].endpoints, r->e[i].type, r->e[i].tid, r->e[i].flags, (long)r->e[i].host.sp,
			    (long)r->e[i].host.key, (long)r->e[i].host.result, r->e[i].syscall_nr);
	fail();
}

static void run_cases(enum xp_policy_id policy, enum xp_event_type start, enum xp_event_type end,
		      void (*dress)(struct capture *, uint64_t *, struct xp_event *))
{
	uint64_t seed = 20250000 + policy * 100 + start, paired = 0, left = 0;

	for (unsigned number = 0; number < CASES; number++) {
		struct capture *c = capture_new(policy, start, end);
		struct reference *r = calloc(1, sizeof(*r));
		unsigned n = 1 + roll(&seed, MAX_EVENTS);

		c->start.cuda.api_name = c->end.cuda.api_name = "@launch";
		for (unsigned i = 0; i < n; i++)
			add_random_event(c, &seed, dress);
		for (c->request.samples = 0; c->request.samples <= 4; c->request.samples++) {
			correlate(c);
			ref_run(r, c);
			compare(c, r, xp_policy_names[policy], number);
		}
		paired += c->pairs.n;
		left += c->pairs.unmatched_start + c->pairs.unmatched_end;
		free(r);
		capture_free(c);
	}
	assert_true(paired > CASES / 10); /* the cases do reach both outcomes */
	assert_true(left > CASES / 10);
}

static void stack_nested(void **state)
{
	run_cases(XP_POLICY_STACK_NESTED, XP_EV_HOST_FUNCTION_ENTRY, XP_EV_HOST_FUNCTION_EXIT, dress_calls);
}

static void first_after(void **state)
{
	run_cases(XP_POLICY_FIRST_AFTER, XP_EV_TRACEPOINT, XP_EV_TRACEPOINT, dress_loose);
}

static void nearest(void **state)
{
	run_cases(XP_POLICY_NEAREST, XP_EV_TRACEPOINT, XP_EV_TRACEPOINT, dress_loose);
}

static void stream_order(void **state)
{
	run_cases(XP_POLICY_STREAM_ORDER, XP_EV_GPU_KERNEL_END, XP_EV_GPU_KERNEL_START, dress_gpu);
}

static void exact_syscall(void **state)
{
	run_cases(XP_POLICY_EXACT, XP_EV_SYSCALL_ENTRY, XP_EV_SYSCALL_EXIT, dress_syscall);
}

static void exact_gc(void **state)
{
	run_cases(XP_POLICY_EXACT, XP_EV_PYTHON_GC_START, XP_EV_PYTHON_GC_END, dress_plain);
}

static void exact_nvtx(void **state)
{
	run_cases(XP_POLICY_EXACT, XP_EV_NVTX_RANGE_START, XP_EV_NVTX_RANGE_END, dress_range);
}

static void exact_kernels(void **state)
{
	run_cases(XP_POLICY_EXACT, XP_EV_GPU_KERNEL_START, XP_EV_GPU_KERNEL_END, dress_gpu);
}

static void exact_launches(void **state)
{
	run_cases(XP_POLICY_EXACT, XP_EV_CUDA_API_ENTRY, XP_EV_GPU_KERNEL_START, dress_gpu);
}

static void exact_apis(void **state)
{
	run_cases(XP_POLICY_EXACT, XP_EV_CUDA_API_ENTRY, XP_EV_CUDA_API_EXIT, dress_gpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stack_nested), cmocka_unit_test(first_after),	 cmocka_unit_test(nearest),
		cmocka_unit_test(stream_order), cmocka_unit_test(exact_syscall), cmocka_unit_test(exact_gc),
		cmocka_unit_test(exact_nvtx),	cmocka_unit_test(exact_kernels), cmocka_unit_test(exact_launches),
		cmocka_unit_test(exact_apis),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
