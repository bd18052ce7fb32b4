/* SPDX-License-Identifier: Apache-2.0 */
/* Books of the off-CPU programs: every thread's window is its running, waiting and blocked time; blocks are counted exactly. */
#include "child.h"

#include "engine/bpf_sched.h"

enum { MAX_THREADS = 64, MAX_SAMPLES = 4096, NAPS = 23, READS = 17, SHORT_NAPS = 101 };

struct books {
	struct shared *shared;
	pid_t child;
	uint64_t start_ns, end_ns;
	struct xp_sched_thread threads[MAX_THREADS];
	struct {
		uint32_t tid, nr;
		uint64_t block_ns, ip, stack_bytes;
	} samples[MAX_SAMPLES];
	size_t n_threads, n_samples;
};

static int keep_thread(void *arg, const struct xp_sched_thread *thread, struct xp_err *reterr)
{
	struct books *books = arg;

	assert_true(books->n_threads < MAX_THREADS);
	books->threads[books->n_threads++] = *thread;
	return 0;
}

static int keep_sample(void *arg, const struct xp_rec_sample *sample, struct xp_err *reterr)
{
	struct books *books = arg;

	assert_true(books->n_samples < MAX_SAMPLES);
	assert_int_equal(sample->kind, XP_SAMPLE_BLOCK);
	books->samples[books->n_samples].tid = sample->tid;
	books->samples[books->n_samples].nr = sample->nr;
	books->samples[books->n_samples].ip = sample->ip;
	books->samples[books->n_samples].stack_bytes = sample->stack_bytes;
	books->samples[books->n_samples++].block_ns = sample->block_ns;
	return 0;
}

static void must(int rc, const struct xp_err *err)
{
	if (rc)
		fail_msg("%s: %s (%s %s)", xp_err_name(err->code), err->message, err->call, err->errno_text);
}

/* From go to done, or until the child is gone. */
static void follow(struct books *books, void (*before)(struct shared *), void (*body)(struct shared *))
{
	xp_auto(xp_bpf_sched_free) struct xp_bpf_sched *engine = NULL;
	struct xp_bpf_sched_sink sink = { keep_sample, keep_thread, books };
	xp_auto_err err = { 0 };

	*books = (struct books){ .shared = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) };
	assert_true(books->shared != MAP_FAILED);
	assert_int_equal(pipe(books->shared->pipe), 0);
	books->child = fork_child(books->shared, before, body);
	const uint32_t pid = (uint32_t)books->child;
	struct xp_bpf_sched_config config = { .targets = { &pid, 1, false }, .min_block_ns = 1000000 };
	WAIT_UNTIL(atomic_load(&books->shared->ready));
	must(xp_bpf_sched_load(&config, &engine, &err), &err);
	must(xp_bpf_sched_attach(engine, &err), &err);
	books->start_ns = now_ns();
	xp_bpf_sched_start(engine, books->start_ns);
	atomic_store(&books->shared->go, 1);
	while (!atomic_load(&books->shared->done) && !gone(books->child)) {
		must(xp_bpf_sched_drain(engine, &sink, &err), &err);
		usleep(2000);
	}
	books->end_ns = now_ns();
	must(xp_bpf_sched_stop(engine, &err), &err);
	must(xp_bpf_sched_detach(engine, &err), &err);
	must(xp_bpf_sched_collect(engine, &sink, &err), &err);
	kill(books->child, SIGKILL);
	waitpid(books->child, NULL, 0);
	munmap(books->shared, sizeof(struct shared));
}

/* The state at the end belongs to the books too. A thread that began or ended in the window has a shorter one. */
static void check_identity(const struct books *books)
{
	for (size_t i = 0; i < books->n_threads; i++) {
		const struct xp_sched_thread *thread = &books->threads[i];
		uint64_t start = thread->born ? thread->born_ns : books->start_ns,
			 end = thread->ended_ns ? thread->ended_ns : books->end_ns;
		uint64_t since = thread->since_ns > books->start_ns ? thread->since_ns : books->start_ns;
		uint64_t sum =
			thread->ns[0] + thread->ns[1] + thread->ns[2] + (thread->state != XP_SCHED_ENDED && end > since ? end - since : 0);
		uint64_t slots = 0, blocks = thread->sampled;

		assert_true(sum + 100000 >= end - start && sum <= end - start + 100000);
		for (uint32_t s = 0; s < thread->n_slots; s++) {
			slots += thread->slots[s].total_ns;
			blocks += thread->slots[s].count;
		}
		assert_int_equal(slots + thread->sampled_ns + thread->call_ns, thread->ns[XP_SCHED_BLOCKED]);
		assert_int_equal(blocks, thread->blocks);
	}
}

static const struct xp_sched_thread *find(const struct books *books, const char *name)
{
	for (size_t i = 0; i < books->n_threads; i++)
		if (!strcmp(books->threads[i].name, name))
			return &books->threads[i];
	fail_msg("no thread %s", name);
	return NULL;
}

static size_t samples_of(const struct books *books, uint32_t tid, uint32_t nr, uint64_t *ret_ns)
{
	size_t n = 0;

	*ret_ns = 0;
	for (size_t i = 0; i < books->n_samples; i++) {
		if (books->samples[i].tid != tid || books->samples[i].nr != nr)
			continue;
		assert_true(books->samples[i].stack_bytes > 0 && books->samples[i].ip);
		*ret_ns += books->samples[i].block_ns;
		n++;
	}
	return n;
}

static void nap(long us)
{
	struct timespec time = { .tv_nsec = us * 1000 };

	syscall(SYS_nanosleep, &time, NULL);
}

static void *waiter(void *arg)
{
	struct shared *shared = arg;
	char byte;

	prctl(PR_SET_NAME, "waiter");
	atomic_store(&shared->tid[0], (int)syscall(SYS_gettid));
	if (read(shared->pipe[0], &byte, 1) < 0)
		_exit(1);
	return NULL;
}

static void start_waiter(struct shared *shared)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, waiter, shared))
		_exit(1);
	while (!inside(getpid(), atomic_load(&shared->tid[0]), SYS_read))
		usleep(1000);
	prctl(PR_SET_NAME, "sleeper");
}

static void naps(struct shared *shared)
{
	for (int i = 0; i < NAPS; i++)
		nap(3000);
	for (int i = 0; i < SHORT_NAPS; i++)
		nap(50);
}

/* Long blocks are samples, short ones counts; a thread that never moves has its whole window as one open block. */
static void test_counts(void **state)
{
	static struct books books;
	uint64_t ns;

	follow(&books, start_waiter, naps);
	check_identity(&books);
	const struct xp_sched_thread *sleeper = find(&books, "sleeper"), *idle = find(&books, "waiter");
	size_t n = samples_of(&books, sleeper->tid, SYS_nanosleep, &ns);

	/* A short nap on a busy machine may become a long one. */
	assert_true(n >= NAPS && n < NAPS + SHORT_NAPS);
	assert_int_equal(sleeper->blocks, NAPS + SHORT_NAPS);
	assert_int_equal(sleeper->slots[0].place.nr, SYS_nanosleep);
	assert_int_equal(sleeper->slots[0].place.where, XP_BLOCK_CALL);
	assert_int_equal(sleeper->slots[0].count, NAPS + SHORT_NAPS - n);
	assert_true(ns >= NAPS * 3000000ull);
	assert_int_equal(idle->state, XP_SCHED_BLOCKED);
	assert_int_equal(idle->place.nr, SYS_read);
	assert_int_equal(idle->switches, 0);
	assert_true(idle->since_ns <= books.start_ns);
}

static void *giver(void *arg)
{
	struct shared *shared = arg;

	prctl(PR_SET_NAME, "giver");
	for (int i = 0; i < READS; i++) {
		nap(4000);
		if (write(shared->pipe[1], "x", 1) != 1)
			_exit(1);
	}
	return NULL;
}

static void take_bytes(struct shared *shared)
{
	pthread_t thread;
	char byte;

	prctl(PR_SET_NAME, "taker");
	if (pthread_create(&thread, NULL, giver, shared))
		_exit(1);
	for (int i = 0; i < READS; i++)
		if (read(shared->pipe[0], &byte, 1) != 1)
			_exit(1);
	pthread_join(thread, NULL);
}

/* A thread that began and ended in the window is booked with what it did. */
static void test_new_thread(void **state)
{
	static struct books books;
	uint64_t ns;

	follow(&books, NULL, take_bytes);
	check_identity(&books);
	const struct xp_sched_thread *taker = find(&books, "taker"), *ended = find(&books, "giver");

	/* Beside busy neighbours a read may find its byte there, or wait longer for a CPU than for the byte. */
	size_t reads = samples_of(&books, taker->tid, SYS_read, &ns);
	assert_true(reads > READS / 2 && reads <= READS);
	assert_int_equal(samples_of(&books, ended->tid, SYS_nanosleep, &ns), READS);
	assert_true(ns >= READS * 4000000ull);
	assert_int_equal(ended->state, XP_SCHED_ENDED);
	assert_true(ended->born);
}

static void die_waiting(struct shared *shared)
{
	nap(20000);
	_exit(0);
}

/* A thread that is killed inside its call takes the block with it into the books. */
static void test_ends_blocked(void **state)
{
	static struct books books;
	uint64_t ns;

	follow(&books, start_waiter, die_waiting);
	check_identity(&books);
	const struct xp_sched_thread *idle = find(&books, "waiter");

	assert_int_equal(idle->state, XP_SCHED_ENDED);
	assert_int_equal(idle->blocks, 1);
	assert_int_equal(idle->sampled, 1);
	for (size_t i = 0; i < books.n_samples; i++)
		if (books.samples[i].tid == idle->tid)
			ns = books.samples[i].block_ns;
	assert_true(ns >= 20000000);
}

/* The floor is measured, and is no more than a switch could cost. */
static void test_floor(void **state)
{
	struct xp_bpf_sched_floor floor;
	xp_auto_err err = { 0 };

	must(xp_bpf_sched_floor(false, &floor, &err), &err);
	assert_true(floor.switch_ns + floor.exit_ns > 0);
	printf("floor: switch %llu ns, exit %llu ns\n", (unsigned long long)floor.switch_ns, (unsigned long long)floor.exit_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_new_thread),
		cmocka_unit_test(test_ends_blocked),
		cmocka_unit_test(test_floor),
	};
	const char *reason = geteuid() ? "needs root" : access("/sys/kernel/btf/vmlinux", R_OK) ? "the kernel has no BTF" : NULL;

	if (reason)
		printf("SKIP: %s\n", reason);
	return reason ? SKIP : cmocka_run_group_tests(tests, NULL, NULL);
}
