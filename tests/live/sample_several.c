// SPDX-License-Identifier: Apache-2.0
/* One sampler on several processes: whose sample it is, what is counted of each; also as for kernels without bpf_loop, and without BPF. */
#include "sampling.h"

enum { N = 3, HZ = 999 };

static pid_t spinner(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (volatile unsigned long n = 0;; n++)
		;
}

struct tally {
	uint32_t pids[N];
	uint64_t samples[N];
};

static void take(void *arg, const struct xp_rec_sample *record)
{
	struct tally *tally = arg;
	size_t i = 0;

	while (i < N && tally->pids[i] != record->pid)
		i++;
	assert_true(i < N);
	assert_int_equal(record->tid, record->pid);
	tally->samples[i]++;
}

static void sample_them(bool unrolled, bool perf_only)
{
	struct tally tally = { 0 };
	pid_t pids[N];
	struct xp_sample_reader reader = { take, &tally };
	uint64_t cpu_ns[N];
	xp_auto_err err = { 0 };

	for (size_t i = 0; i < N; i++) {
		pids[i] = spinner();
		tally.pids[i] = (uint32_t)pids[i];
	}
	struct xp_sampler *sampler = start_sampling(&(struct xp_sampler_config){
		.targets = { tally.pids, N, false, true }, .frequency_hz = HZ, .unrolled = unrolled, .perf_only = perf_only });

	for (size_t i = 0; i < N; i++)
		cpu_ns[i] = cpu_ns_of(pids[i]);
	sample_for(sampler, 600, &reader);
	for (size_t i = 0; i < N; i++)
		cpu_ns[i] = cpu_ns_of(pids[i]) - cpu_ns[i];
	must(xp_sampler_switch(sampler, false, &err), &err);
	xp_sampler_detach(sampler);
	must(xp_sampler_read(sampler, &reader, &err), &err);
	must(xp_sampler_verify(sampler, &err), &err);
	for (size_t i = 0; i < N; i++) {
		struct xp_sampler_counts counts;
		double expected = (double)cpu_ns[i] * HZ / 1e9;

		must(xp_sampler_count_of(sampler, i, &counts, &err), &err);
		assert_int_equal(counts.delivered, tally.samples[i]);
		assert_int_equal(counts.threads_observed, 1);
		if (expected > 50 && !(counts.emitted > 0.6 * expected && counts.emitted < 1.4 * expected))
			fail_msg("%llu samples of process %zu in place of %.0f", (unsigned long long)counts.emitted, i, expected);
	}
	xp_sampler_free(sampler);
	for (size_t i = 0; i < N; i++)
		end_process(pids[i]);
}

static void samples_are_told_apart(void **state)
{
	sample_them(false, false);
}

static void also_without_bpf_loop(void **state)
{
	sample_them(true, false);
}

static void also_from_perf_rings(void **state)
{
	sample_them(false, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_told_apart),
		cmocka_unit_test(also_without_bpf_loop),
		cmocka_unit_test(also_from_perf_rings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
