/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults: no profile at all for who has no right to BPF; a ring refused by the locked memory limit without saying so; overflow without a
 * record of it; descriptors used up. The same engine on perf rings, as root and as an ordinary user with ordinary limits.
 */
#include "sampling.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>

#include "base/regex.h"

enum { CROWD = 211, HZ = 499, ORDINARY_USER = 64321, HOGS_MAX = 4096, HOG_BYTES = 4096 + 65536 };

struct tally {
	uint64_t samples, kernel, wrong, named;
	uint32_t pid;
};

static void take(void *arg, const struct xp_rec_sample *record)
{
	struct tally *tally = arg;

	tally->samples++;
	tally->kernel += !!(record->flags & XP_SAMPLE_IN_KERNEL);
	tally->named += !strncmp(record->comm, "spin", 4);
	tally->wrong += record->pid != tally->pid || !record->ip || !record->sp || !record->stack_bytes || record->n_python ||
			(record->n_kernel && !(record->flags & XP_SAMPLE_IN_KERNEL));
}

static void *spin_named(void *arg)
{
	prctl(PR_SET_NAME, "spin");
	for (;;)
		for (volatile int i = 0; i < 1000000; i++)
			;
	return NULL;
}

static void *rest(void *arg)
{
	for (;;)
		pause();
	return NULL;
}

/* `spinners` threads that spin, CROWD ones that rest when `crowd`; more spinners 100 ms later when `later`. */
static pid_t start_spinners(unsigned spinners, bool crowd, unsigned later)
{
	pid_t pid = fork();
	pthread_t thread;

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, 1);
	for (unsigned i = 0; i < spinners; i++)
		pthread_create(&thread, NULL, spin_named, NULL);
	for (unsigned i = 0; crowd && i < CROWD; i++)
		pthread_create(&thread, NULL, rest, NULL);
	msleep(200);
	for (unsigned i = 0; i < later; i++)
		pthread_create(&thread, NULL, spin_named, NULL);
	rest(NULL);
	_exit(0);
}

/* Runs the body as an ordinary user in a process of its own; what it asserts there is asserted here. */
static void as_ordinary_user(void (*body)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		if (setresgid(ORDINARY_USER, ORDINARY_USER, ORDINARY_USER) || setresuid(ORDINARY_USER, ORDINARY_USER, ORDINARY_USER))
			_exit(2);
		prctl(PR_SET_DUMPABLE, 1);
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIP)
		skip();
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Like assert_true, but for a process that is not cmocka's own. */
#define CHECK(condition)                                                        \
	do {                                                                    \
		if (!(condition)) {                                             \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
			_exit(1);                                               \
		}                                                               \
	} while (0)

static void need_root(void)
{
	if (geteuid()) {
		printf("SKIP: wants root\n");
		exit(SKIP);
	}
}

static void new_threads_are_covered(void **state)
{
	pid_t pid = start_spinners(0, false, 1);
	struct tally tally = { .pid = (uint32_t)pid };
	const struct xp_sample_reader reader = { take, &tally };

	msleep(50);
	struct xp_sampler *sampler =
		start_sampling(&(struct xp_sampler_config){ .pid = (uint32_t)pid, .frequency_hz = HZ, .perf_only = true });
	uint64_t before = cpu_ns_of(pid);

	assert_int_equal(xp_sampler_kind(sampler), XP_SAMPLER_PERF_RING);
	sample_for(sampler, 800, &reader);
	double owed = (double)(cpu_ns_of(pid) - before) * HZ / 1e9;
	struct xp_sampler_counts counts = stop_sampling(sampler, &reader);

	print_message("%lu samples, %.1f owed\n", tally.samples, owed);
	assert_int_equal(tally.wrong, 0);
	assert_int_equal(counts.threads_started, 1);
	assert_int_equal(counts.threads_observed, 2);
	assert_int_equal(counts.threads_attached, 2);
	assert_true((double)tally.samples > 0.8 * owed && (double)tally.samples < 1.4 * owed);
	assert_true(tally.named + 2 >= tally.samples); /* but for what it did before it had its name */
	end_process(pid);
}

static void overflow_is_counted(void **state)
{
	pid_t pid = start_spinners(2, false, 0);
	struct tally tally = { .pid = (uint32_t)pid };
	const struct xp_sample_reader reader = { take, &tally };

	msleep(100);
	struct xp_sampler *sampler = start_sampling(
		&(struct xp_sampler_config){ .pid = (uint32_t)pid, .frequency_hz = HZ, .perf_only = true, .ring_bytes = 65536 });
	uint64_t before = cpu_ns_of(pid);

	msleep(500);
	double owed = (double)(cpu_ns_of(pid) - before) * HZ / 1e9;
	struct xp_sampler_counts counts = stop_sampling(sampler, &reader);

	print_message("%lu delivered, %lu dropped, %.1f owed\n", counts.delivered, counts.ring_full, owed);
	assert_int_equal(counts.delivered, tally.samples);
	assert_true(counts.ring_full > 0);
	assert_true((double)counts.emitted > 0.8 * owed && (double)counts.emitted < 1.4 * owed);
	end_process(pid);
}

static void threads_beyond_a_limit_are_counted(void **state)
{
	pid_t pid = start_spinners(0, true, 0);

	msleep(300);
	struct xp_sampler *sampler = start_sampling(
		&(struct xp_sampler_config){ .pid = (uint32_t)pid, .frequency_hz = HZ, .perf_only = true, .max_threads = 101 });
	struct xp_sampler_counts counts = stop_sampling(sampler, NULL);

	assert_int_equal(counts.threads_observed, CROWD + 1);
	assert_int_equal(counts.threads_attached, 101);
	end_process(pid);
}

static void descriptors_run_out(void)
{
	const struct rlimit few = { 150, 150 };
	pid_t pid = start_spinners(0, true, 0);
	struct xp_sampler_counts counts;
	struct xp_sampler *sampler = NULL;
	xp_auto_err err = { 0 };

	msleep(300);
	CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
	CHECK(xp_sampler_new(&(struct xp_sampler_config){ .pid = (uint32_t)pid, .frequency_hz = HZ }, &sampler, &err) == 0);
	CHECK(xp_sampler_attach(sampler, &err) == 0);
	CHECK(xp_sampler_count(sampler, &counts, &err) == 0);
	CHECK(counts.threads_observed == CROWD + 1);
	CHECK(counts.threads_attached > 0 && counts.threads_attached < CROWD);
	xp_sampler_free(sampler);
	kill(pid, SIGKILL);
}

static void few_descriptors(void **state)
{
	as_ordinary_user(descriptors_run_out);
}

static void sample_as_user(void)
{
	pid_t pid = start_spinners(1, false, 0);
	struct tally tally = { .pid = (uint32_t)pid };
	const struct xp_sample_reader reader = { take, &tally };
	struct xp_sampler *sampler = NULL;
	struct xp_sampler_counts counts;
	xp_auto_err err = { 0 };

	msleep(100);
	CHECK(xp_sampler_new(&(struct xp_sampler_config){ .pid = (uint32_t)pid, .frequency_hz = HZ }, &sampler, &err) == 0);
	if (xp_sampler_kind(sampler) != XP_SAMPLER_PERF_RING)
		_exit(SKIP); /* this machine lets everyone load BPF programs */
	if (xp_sampler_attach(sampler, &err) == -XP_E_PERMISSION_DENIED)
		_exit(SKIP); /* paranoid above 2 */
	CHECK(err.code == XP_E_NONE);
	CHECK(xp_sampler_switch(sampler, true, &err) == 0);
	msleep(400);
	CHECK(xp_sampler_switch(sampler, false, &err) == 0);
	CHECK(xp_sampler_read(sampler, &reader, &err) == 0);
	CHECK(xp_sampler_count(sampler, &counts, &err) == 0);
	CHECK(tally.samples > 10 && !tally.wrong);
	/* Either the kernel is left out, and that is said, or it is there. */
	CHECK(!xp_sampler_no_kernel(sampler) || (!tally.kernel && !counts.kernel));
	xp_sampler_free(sampler);
	kill(pid, SIGKILL);
}

static void an_ordinary_user_sees_user_space(void **state)
{
	as_ordinary_user(sample_as_user);
}

static void *hog_ring(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, HOG_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	return map;
}

static void locked_memory_runs_out(void)
{
	static void *hogs[HOGS_MAX];
	const struct rlimit none = { 0, 0 };
	struct xp_sampler *sampler = NULL;
	xp_auto_err err = { 0 };
	size_t n = 0, rings = (size_t)sysconf(_SC_NPROCESSORS_ONLN);

	CHECK(setrlimit(RLIMIT_MEMLOCK, &none) == 0);
	while (n < HOGS_MAX && (hogs[n] = hog_ring()) != MAP_FAILED)
		n++;
	if (n <= rings || n == HOGS_MAX)
		_exit(SKIP); /* no limit here */
	const struct xp_sampler_config config = { .pid = (uint32_t)getpid(), .frequency_hz = HZ, .perf_only = true };

	CHECK(xp_sampler_new(&config, &sampler, &err) == 0);
	CHECK(xp_sampler_attach(sampler, &err) == -XP_E_RESOURCE_LIMIT);
	CHECK(strstr(err.message, "RLIMIT_MEMLOCK"));
	xp_sampler_free(sampler);
	xp_err_done(&err);
	/* Room for the smallest ring on each CPU, not for the usual one. */
	for (size_t i = 0; i < rings; i++)
		munmap(hogs[--n], HOG_BYTES);
	CHECK(xp_sampler_new(&config, &sampler, &err) == 0);
	CHECK(xp_sampler_attach(sampler, &err) == 0);
	xp_sampler_free(sampler);
}

static void locked_memory_limit(void **state)
{
	as_ordinary_user(locked_memory_runs_out);
}

/* A container's profile: both calls answer `errnum`. */
static void hide_calls(int errnum)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)errnum),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { XP_LEN(code), code };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

static void hidden(int errnum)
{
	struct xp_sampler *sampler = NULL;
	xp_auto_err err = { 0 };

	hide_calls(errnum);
	CHECK(xp_sampler_new(&(struct xp_sampler_config){ .pid = (uint32_t)getpid(), .frequency_hz = HZ }, &sampler, &err) == 0);
	CHECK(xp_sampler_kind(sampler) == XP_SAMPLER_PERF_RING);
	CHECK(xp_sampler_attach(sampler, &err) == -XP_E_PERMISSION_DENIED);
	CHECK(err.sys_errno == errnum && !strcmp(err.call, "perf_event_open"));
	CHECK(!strstr(err.object, "seccomp") == (errnum != ENOSYS));
	xp_sampler_free(sampler);
}

static void calls_denied(void)
{
	hidden(EPERM);
}

static void calls_missing(void)
{
	hidden(ENOSYS);
}

static void a_filter_is_told(void **state)
{
	as_ordinary_user(calls_denied);
	as_ordinary_user(calls_missing);
}

int main(void)
{
	need_root();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_threads_are_covered),
		cmocka_unit_test(overflow_is_counted),
		cmocka_unit_test(threads_beyond_a_limit_are_counted),
		cmocka_unit_test(few_descriptors),
		cmocka_unit_test(an_ordinary_user_sees_user_space),
		cmocka_unit_test(locked_memory_limit),
		cmocka_unit_test(a_filter_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
