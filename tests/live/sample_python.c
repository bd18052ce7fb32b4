/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fault: stacks of hot Python code mixed from two moments. Two families of functions that only call their own kind run in turns; no stack
 * may hold members of both, none may be shorter or longer than the recursion, and every member must be a function of the program.
 */
#include "sampling.h"

#include "sampled_python.h"

#define SCRIPT XP_SOURCE_DIR "/tests/targets/two_families.py"
#define SECONDS "60"

enum { FAMILY = 30, SAMPLES = 1009, WINDOW_MS = 20000, HZ = 1999 };

struct program {
	struct python python;
	uint64_t codes[2][FAMILY];
};

struct seen {
	const struct program *program;
	unsigned depth;
	uint64_t samples, mixed, foreign, wrong_depth, deep, torn, none;
};

static int family_of(const struct program *program, uint64_t code)
{
	for (int family = 0; family < 2; family++)
		for (int i = 0; i < FAMILY; i++)
			if (program->codes[family][i] == code)
				return family;
	return -1;
}

/* Leaf first: members of one family, then the program's main and module. The shims of C calls (owner 3, 3.12 on) are no functions. */
static void take(void *arg, const struct xp_rec_sample *record)
{
	const struct xp_rec_python_frame *frames = python_frames(record);
	struct seen *seen = arg;
	unsigned of[2] = { 0 }, others = 0;

	seen->samples++;
	seen->none += record->python == XP_PYTHON_NONE;
	seen->torn += record->python == XP_PYTHON_TORN;
	seen->deep += record->python == XP_PYTHON_DEEP;
	for (unsigned i = 0; i < record->n_python; i++) {
		int family = XP_PYTHON_OWNER(frames[i].code) == 3 ? -2 : family_of(seen->program, XP_PYTHON_CODE(frames[i].code));

		if (family >= 0) {
			of[family]++;
			seen->foreign += others > 0;
		} else if (family == -1) {
			others++;
		}
	}
	seen->mixed += of[0] && of[1];
	if (record->python == XP_PYTHON_WHOLE) {
		seen->wrong_depth += of[0] > seen->depth + 1 || of[1] > seen->depth + 2;
		seen->foreign += others != 2;
	}
}

static bool start_program(const char *python, unsigned depth, struct program *ret_program)
{
	struct program program = { 0 };
	char depth_text[16], line[128];

	snprintf(depth_text, sizeof(depth_text), "%u", depth);
	bool ok = start_python(python, SCRIPT, SECONDS, depth_text, &program.python);

	for (int i = 0; ok && i < 2 * FAMILY; i++)
		ok = fgets(line, sizeof(line), program.python.out) && sscanf(line, "%*c %lx", &program.codes[i / FAMILY][i % FAMILY]) == 1;
	ok = ok && fgets(line, sizeof(line), program.python.out);
	*ret_program = program;
	return ok;
}

static struct seen run(const struct program *program, unsigned depth, bool unrolled, uint64_t samples)
{
	struct seen seen = { .program = program, .depth = depth };
	const struct xp_sample_reader reader = { take, &seen };

	struct xp_sampler *sampler = start_sampling(&(struct xp_sampler_config){
		.pid = (uint32_t)program->python.pid, .frequency_hz = HZ, .python = &program->python.layout, .unrolled = unrolled });
	uint64_t give_up = now_ns() + WINDOW_MS * 1000000ull;

	while (seen.samples < samples && now_ns() < give_up)
		sample_for(sampler, 100, &reader);
	struct xp_sampler_counts counts = stop_sampling(sampler, &reader);

	assert_int_equal(counts.torn, seen.torn);
	assert_int_equal(counts.delivered, seen.samples);
	return seen;
}

static void check(const char *python, bool unrolled)
{
	struct program program;

	if (!start_program(python, 25, &program)) {
		print_message("SKIP %s: version %x\n", python, program.python.version);
		end_python(&program.python);
		return;
	}
	struct seen seen = run(&program, 25, unrolled, SAMPLES);

	end_python(&program.python);
	print_message("%s: %lu samples, %lu mixed, %lu foreign, %lu torn, %lu without frames\n", python, seen.samples, seen.mixed,
		      seen.foreign, seen.torn, seen.none);
	assert_true(seen.samples >= SAMPLES);
	assert_int_equal(seen.mixed, 0);
	assert_int_equal(seen.foreign, 0);
	assert_int_equal(seen.wrong_depth, 0);
	assert_int_equal(seen.torn + seen.deep, 0);
	assert_int_equal(seen.none, 0);
}

static void check_here(const char *python)
{
	check(python, false);
}

static void no_mixed_stack(void **state)
{
	if (!each_python(check_here))
		skip();
}

static void without_bpf_loop(void **state)
{
	if (access("/usr/bin/python3", X_OK))
		skip();
	check("/usr/bin/python3", true);
}

static void deep_recursion(void **state)
{
	struct program program;

	if (access("/usr/bin/python3", X_OK) || !start_program("/usr/bin/python3", 900, &program))
		skip();
	struct seen seen = run(&program, 900, false, 211);

	end_python(&program.python);
	assert_int_equal(seen.mixed + seen.torn + seen.foreign, 0);
	assert_true(seen.deep > seen.samples / 4); /* half of the time the recursion is deeper than what is walked */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_mixed_stack),
		cmocka_unit_test(without_bpf_loop),
		cmocka_unit_test(deep_recursion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
