// SPDX-License-Identifier: Apache-2.0
/*
 * Fault: stacks of hot Python code mixed from two moments, with names of one function and lines of another. Samples of a busy program, read
 * and merged while it runs on: one family a stack, each line inside its function, native evaluations and Python frames in step.
 */
#include "sampling.h"

#include "inventory/stack_merge.h"
#include "pythons.h"

enum { SAMPLES = 503, HZ = 997, GIVE_UP_MS = 20000, FRAMES_MAX = 512 };

struct seen {
	struct xp_python *python;
	struct xp_unwinder *unwinder;
	struct xp_symbolizer *symbolizer;
	uint64_t samples, no_python, unread, fresh, no_line, mixed, wrong, ahead, behind, failed, cut, not_rooted;
};

static struct xp_rec_python_frame records[FRAMES_MAX];
static struct xp_python_frame frames[FRAMES_MAX];
static struct xp_symbolized native[FRAMES_MAX];
static struct xp_frame merged[FRAMES_MAX];

/* fresh_N, fresh_N.py, and a line from N on belong together. */
static bool is_consistent(const struct xp_python_frame *frame)
{
	unsigned of_name, of_path;

	if (sscanf(frame->qualname, "fresh_%u", &of_name) != 1)
		return true;
	return sscanf(frame->source_path, "fresh_%u.py", &of_path) == 1 && of_path == of_name &&
	       (!frame->line.set || (frame->line.v >= of_name && frame->line.v <= of_name + 4));
}

static bool is_family(const struct xp_python_frame *frame, char family)
{
	const char path[] = { family, '.', 'p', 'y', '\0' };

	return !frame->shim && !strcmp(frame->source_path, path);
}

static void check_frames(struct seen *seen, size_t n)
{
	bool of_a = false, of_b = false, rooted = false;

	for (size_t i = 0; i < n; i++) {
		if (frames[i].shim || frames[i].hidden)
			continue;
		bool a = is_family(&frames[i], 'a'), b = is_family(&frames[i], 'b');
		unsigned number = 0;

		of_a |= a;
		of_b |= b;
		if (a || b) /* its number is the distance of its first line */
			sscanf(frames[i].qualname + 1, "%u", &number);
		if ((a || b) && frames[i].line.v != number + 1 && frames[i].line.v != number + 2)
			seen->wrong++;
		seen->wrong += !is_consistent(&frames[i]);
		seen->fresh += !strncmp(frames[i].qualname, "fresh_", 6);
		seen->no_line += !frames[i].line.set;
		rooted = !strcmp(frames[i].qualname, "<module>");
	}
	seen->mixed += of_a && of_b;
	seen->not_rooted += !rooted;
}

/* Native evaluations beside the groups of Python frames that they should stand for. */
static void check_step(struct seen *seen, const struct xp_unwound *unwound, size_t n)
{
	size_t evals = 0, groups = 0;

	seen->failed += unwound->end == XP_UNWIND_FAILED;
	seen->cut += unwound->end == XP_UNWIND_COPY; /* the compiler's own recursion is deeper than a copy */
	if (unwound->end != XP_UNWIND_WHOLE)
		return;
	for (size_t i = 0; i < unwound->n; i++)
		evals += xp_python_is_eval(seen->python, native[i].symbol, native[i].module_path, native[i].function_offset);
	for (size_t i = 0; i < n; i++)
		groups += frames[i].shim || frames[i].entry;
	seen->ahead += evals == groups + 1;
	seen->behind += evals != groups && evals != groups + 1;
}

static void take(void *arg, const struct xp_rec_sample *record)
{
	struct seen *seen = arg;
	uint64_t pcs[FRAMES_MAX], sps[FRAMES_MAX];
	struct xp_unwound unwound = { .pcs = pcs, .sps = sps };
	const struct xp_rec_python_frame *given = python_frames(record);
	const struct xp_unwind_regs regs = { record->ip, record->sp, record->bp };
	const struct xp_stack_bytes stack = { record->sp, given + record->n_python, record->stack_bytes };
	xp_auto_err err = { 0 };
	bool cut;

	seen->samples++;
	if (record->python != XP_PYTHON_WHOLE) {
		seen->no_python++;
		return;
	}
	memcpy(records, given, record->n_python * sizeof(*given));
	if (!xp_python_frames_read(seen->python, records, record->n_python, frames)) {
		seen->unread++;
		return;
	}
	check_frames(seen, record->n_python);
	xp_unwind(seen->unwinder, &regs, &stack, FRAMES_MAX, &unwound);
	must(xp_symbolize(seen->symbolizer, pcs, unwound.n, native, &err), &err);
	check_step(seen, &unwound, record->n_python);
	struct xp_stack_parts parts = {
		.native = native, .n_native = unwound.n, .end = unwound.end, .python = frames, .n_python = record->n_python
	};
	size_t n = xp_stack_merge(seen->python, &parts, merged, FRAMES_MAX, &cut);
	for (size_t i = 0; i < n; i++)
		seen->wrong += xp_python_is_eval(seen->python, merged[i].symbol, merged[i].module_path, merged[i].function_offset);
}

static void check_one(const char *path)
{
	struct script script = start_script(path, XP_SOURCE_DIR "/tests/targets/python_busy.py", "60");
	struct seen seen = { 0 };
	const struct xp_sample_reader reader = { take, &seen };
	struct xp_target *target;
	xp_auto_err err = { 0 };
	char text[8];

	assert_non_null(fgets(text, sizeof(text), script.out));
	msleep(50);
	must(xp_target_open((uint32_t)script.pid, NULL, &target, &err), &err);
	must(xp_python_open(target, &seen.python, &err), &err);
	if (xp_python_status(seen.python) != XP_PYTHON_ACTIVE)
		fail_msg("%s: %s", path, xp_python_why(seen.python));
	must(xp_unwinder_new(target, &seen.unwinder, &err), &err);
	must(xp_symbolizer_new(target, 0, &seen.symbolizer, &err), &err);
	struct xp_sampler *sampler = start_sampling(
		&(struct xp_sampler_config){ .pid = (uint32_t)script.pid, .frequency_hz = HZ, .python = xp_python_layout(seen.python) });
	uint64_t give_up = now_ns() + GIVE_UP_MS * 1000000ull;

	while (seen.samples < SAMPLES && now_ns() < give_up)
		sample_for(sampler, 50, &reader);
	stop_sampling(sampler, &reader);
	printf("%s: CPython %s, %lu samples, %lu without frames, %lu unread, %lu fresh, %lu lines unknown, %lu mixed, %lu wrong, %lu not "
	       "rooted, "
	       "%lu native ahead, %lu out of step, %lu cut, %lu not unwound\n",
	       path, xp_python_version(seen.python), seen.samples, seen.no_python, seen.unread, seen.fresh, seen.no_line, seen.mixed,
	       seen.wrong, seen.not_rooted, seen.ahead, seen.behind, seen.cut, seen.failed);
	xp_symbolizer_free(seen.symbolizer);
	xp_unwinder_free(seen.unwinder);
	xp_python_free(seen.python);
	xp_target_close(target);
	stop_script(&script);
	assert_true(seen.samples >= SAMPLES);
	assert_int_equal(seen.mixed + seen.not_rooted + seen.behind + seen.failed, 0);
	/* 3.11 and 3.12 point the thread to a new _PyCFrame a few instructions before they fill it in. */
	assert_true(seen.no_python * 100 < seen.samples);
	assert_int_equal(seen.wrong, 0);
	assert_true(seen.ahead * 10 < seen.samples && seen.cut * 10 < seen.samples);
	/* Functions that were dropped, and another one made in their place, before they were read. */
	assert_true(seen.fresh > 0 && seen.unread * 4 < seen.samples && (seen.unread + seen.no_line) * 2 < seen.samples);
}

static void every_python(void **state)
{
	struct pythons pythons;
	unsigned major, minor;

	find_pythons(&pythons);
	for (size_t i = 0; i < pythons.n; i++)
		if (sscanf(strrchr(pythons.path[i], '/') + 1, "python%u.%u", &major, &minor) == 2 && major == 3 && minor >= 8)
			check_one(pythons.path[i]);
	if (!pythons.n)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_python) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
