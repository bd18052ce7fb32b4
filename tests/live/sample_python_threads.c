/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fault: a thread shown with another thread's Python stack, threads born later or in a sub-interpreter with none. Each thread of the
 * target runs code objects that no other runs.
 */
#include "sampled_python.h"

#define SCRIPT XP_SOURCE_DIR "/tests/targets/python_threads.py"
#define SECONDS "30"

enum { RECORDS_MAX = 8192, CODES_MAX = 64, THREADS_MAX = 1024, HZ = 499, WINDOW_MS = 2500 };

struct record {
	uint32_t tid;
	unsigned n;
	uint64_t codes[CODES_MAX];
};

struct known {
	uint32_t tid;
	uint64_t code;
	unsigned lasting; /* lives for the whole window */
	unsigned own;	  /* samples of the thread that hold its code */
};

struct seen {
	struct record *records;
	size_t n;
	uint64_t torn;
};

static void take(void *arg, const struct xp_rec_sample *sample)
{
	const struct xp_rec_python_frame *frames = python_frames(sample);
	struct seen *seen = arg;

	seen->torn += sample->python == XP_PYTHON_TORN;
	if (seen->n == RECORDS_MAX)
		return;
	struct record *record = &seen->records[seen->n++];

	record->tid = sample->tid;
	record->n = sample->n_python < CODES_MAX ? sample->n_python : CODES_MAX;
	for (unsigned i = 0; i < record->n; i++)
		record->codes[i] = XP_PYTHON_CODE(frames[i].code);
}

static struct known *find(struct known *threads, size_t n, uint64_t code)
{
	for (size_t i = 0; i < n; i++)
		if (threads[i].code == code)
			return &threads[i];
	return NULL;
}

/* Samples that hold a code of another thread than their own. */
static unsigned count_strange(const struct seen *seen, struct known *threads, size_t n)
{
	unsigned strange = 0;

	for (size_t i = 0; i < seen->n; i++) {
		const struct record *record = &seen->records[i];
		struct known *owner = NULL;

		for (unsigned k = 0; k < record->n; k++) {
			struct known *now = find(threads, n, record->codes[k]);

			strange += now && now->tid != record->tid;
			owner = now ? now : owner;
		}
		if (owner)
			owner->own++;
	}
	return strange;
}

static void check(const char *program)
{
	struct python python;

	if (!start_python(program, SCRIPT, SECONDS, NULL, &python)) {
		print_message("SKIP %s: version %x\n", program, python.version);
		end_python(&python);
		return;
	}
	struct seen seen = { .records = calloc(RECORDS_MAX, sizeof(*seen.records)) };
	static struct known threads[THREADS_MAX];
	const struct xp_sample_reader reader = { take, &seen };
	unsigned n = 0, met = 0, lasting = 0;
	char line[64];

	assert_non_null(seen.records);
	memset(threads, 0, sizeof(threads));
	struct xp_sampler *sampler =
		start_sampling(&(struct xp_sampler_config){ .pid = (uint32_t)python.pid, .frequency_hz = HZ, .python = &python.layout });

	sample_for(sampler, WINDOW_MS, &reader);
	stop_sampling(sampler, &reader);
	kill(python.pid, SIGKILL);
	while (n < THREADS_MAX && fgets(line, sizeof(line), python.out) &&
	       sscanf(line, "%u %lx %u", &threads[n].tid, &threads[n].code, &threads[n].lasting) == 3)
		n++;
	unsigned strange = count_strange(&seen, threads, n);

	for (unsigned i = 0; i < n; i++) {
		met += threads[i].own > 0;
		lasting += threads[i].own > 0 && threads[i].lasting;
	}
	print_message("%s: %zu samples, %u threads, %u met, %u strange, %lu torn\n", program, seen.n, n, met, strange, seen.torn);
	assert_int_equal(strange, 0);
	assert_true(n > 3);
	/* Two threads and one in a sub-interpreter, whose frames are not shown before 3.11. */
	assert_int_equal(lasting, python.version < 0x030b ? 2 : 3);
	assert_true(met > 3);
	assert_true(seen.torn * 100 <= seen.n);
	free(seen.records);
	end_python(&python);
}

static void every_thread_has_its_own_stack(void **state)
{
	if (!each_python(check))
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_thread_has_its_own_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
