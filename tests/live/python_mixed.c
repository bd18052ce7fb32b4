// SPDX-License-Identifier: Apache-2.0
/* Fault: extensions without frame pointers broke stacks, and Python frames were lost with them. One known mixed stack on every Python. */
#include "pythons.h"

#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "inventory/stack_merge.h"

enum { FRAMES_MAX = 512, STACK_BYTES = 16384, SHORT_BYTES = 256 };

struct taken {
	struct xp_unwind_regs regs;
	unsigned char stack[STACK_BYTES];
	size_t len;
};

/* Registers and stack of the main thread, stopped for a moment. */
static void take(pid_t pid, struct taken *ret_taken)
{
	struct user_regs_struct regs;
	int status;

	assert_int_equal(ptrace(PTRACE_SEIZE, pid, 0, 0), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, 0, 0), 0);
	assert_int_equal(waitpid(pid, &status, __WALL), pid);
	assert_int_equal(ptrace(PTRACE_GETREGS, pid, 0, &regs), 0);
	ret_taken->regs = (struct xp_unwind_regs){ regs.rip, regs.rsp, regs.rbp };
	struct iovec local = { ret_taken->stack, STACK_BYTES }, remote = { (void *)(uintptr_t)regs.rsp, STACK_BYTES };
	ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);
	ptrace(PTRACE_DETACH, pid, 0, 0);
	assert_true(n > SHORT_BYTES);
	ret_taken->len = (size_t)n;
}

struct merged {
	struct xp_frame at[FRAMES_MAX];
	size_t n;
	enum xp_unwind_end end;
};

static void merge(struct xp_target *target, struct xp_python *python, const struct taken *taken, size_t stack_bytes,
		  struct xp_symbolizer *symbolizer, struct merged *ret_merged)
{
	static uint64_t pcs[FRAMES_MAX], sps[FRAMES_MAX];
	static struct xp_symbolized native[FRAMES_MAX];
	static struct xp_rec_python_frame records[FRAMES_MAX];
	static struct xp_python_frame frames[FRAMES_MAX];
	struct xp_unwound unwound = { .pcs = pcs, .sps = sps };
	struct xp_stack_bytes stack = { taken->regs.sp, taken->stack, stack_bytes };
	xp_auto(xp_unwinder_free) struct xp_unwinder *unwinder = NULL;
	xp_auto_err err = { 0 };
	bool cut;

	assert_int_equal(xp_unwinder_new(target, &unwinder, &err), 0);
	xp_unwind(unwinder, &taken->regs, &stack, FRAMES_MAX, &unwound);
	assert_int_equal(xp_symbolize(symbolizer, pcs, unwound.n, native, &err), 0);
	size_t n = xp_python_walk_blocked(python, xp_target_pid(target), taken->regs.sp, records, FRAMES_MAX);
	assert_true(xp_python_frames_read(python, records, n, frames));
	struct xp_stack_parts parts = { .native = native, .n_native = unwound.n, .end = unwound.end, .python = frames, .n_python = n };
	ret_merged->n = xp_stack_merge(python, &parts, ret_merged->at, FRAMES_MAX, &cut);
	ret_merged->end = unwound.end;
	assert_false(cut);
}

/* The name behind the last dot: qualified names came with 3.11. */
static const char *last_word(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

static void print_stack(const struct merged *merged)
{
	for (size_t i = 0; i < merged->n; i++)
		printf("    %s %s (%s:%u)\n", xp_frame_kind_names[merged->at[i].kind], merged->at[i].symbol,
		       merged->at[i].source_path ? merged->at[i].source_path : merged->at[i].module_path, merged->at[i].line.v);
}

/* The frames that we wrote, in order, and none of the interpreter's loop. Returns where the first of them stands. */
static size_t expect_order(const struct xp_python *python, const struct merged *merged, const char *const *names, size_t n)
{
	size_t found = 0, first = 0;

	for (size_t i = 0; i < merged->n; i++) {
		const struct xp_frame *frame = &merged->at[i];
		bool ours = frame->kind == XP_FRAME_PYTHON || (frame->symbol && !strncmp(frame->symbol, "xp_through", 10));

		if (xp_python_is_eval(python, frame->symbol, frame->module_path, frame->function_offset) ||
		    (ours && (found == n || strcmp(last_word(frame->symbol), names[found])))) {
			print_stack(merged);
			fail_msg("CPython %s: frame %zu is %s", xp_python_version(python), i, frame->symbol);
		}
		if (ours && !found++)
			first = i;
	}
	if (found != n) {
		print_stack(merged);
		fail_msg("CPython %s: %zu frames of %zu", xp_python_version(python), found, n);
	}
	return first;
}

/* From 3.12 on a comprehension is no function. */
static void check_whole(const struct xp_python *python, const struct merged *merged)
{
	static const char *const names[] = { "inner",	   "__init__", "<listcomp>", "called_back", "xp_through_deep",
					     "xp_through", "outer",    "<lambda>",   "by_key",	    "<module>" };
	const char *expected[XP_LEN(names)];
	bool inlined = xp_python_layout(python)->version >= 0x030c;
	size_t n = 0;

	for (size_t i = 0; i < XP_LEN(names); i++)
		if (!inlined || strcmp(names[i], "<listcomp>"))
			expected[n++] = names[i];
	assert_int_equal(merged->end, XP_UNWIND_WHOLE);
	expect_order(python, merged, expected, n);
	assert_string_equal(merged->at[merged->n - 1].symbol, "_start");
}

/* A copy that ends in the first native frames: they stand on top, all Python frames follow, the extension is not seen. */
static void check_short(const struct xp_python *python, const struct merged *merged)
{
	static const char *const names[] = { "inner", "__init__", "<listcomp>", "called_back", "outer", "<lambda>", "by_key", "<module>" };
	const char *expected[XP_LEN(names)];
	bool inlined = xp_python_layout(python)->version >= 0x030c;
	size_t n = 0;

	for (size_t i = 0; i < XP_LEN(names); i++)
		if (!inlined || strcmp(names[i], "<listcomp>"))
			expected[n++] = names[i];
	assert_int_equal(merged->end, XP_UNWIND_COPY);
	assert_true(expect_order(python, merged, expected, n) > 0);
	assert_int_equal(merged->at[0].kind, XP_FRAME_NATIVE);
}

static bool check_one(const char *path)
{
	struct script script = start_script(path, XP_SOURCE_DIR "/tests/targets/python_mixed.py", XP_BUILD_DIR "/targets/libthrough.so");
	static struct taken taken;
	static struct merged merged;
	struct xp_target *target;
	struct xp_python *python;
	struct xp_symbolizer *symbolizer;
	xp_auto_err err = { 0 };
	char text[8];
	bool ready = fgets(text, sizeof(text), script.out);

	if (!ready) {
		printf("SKIP %s: no ctypes\n", path);
		stop_script(&script);
		return false;
	}
	assert_int_equal(xp_target_open((uint32_t)script.pid, NULL, &target, &err), 0);
	assert_int_equal(xp_python_open(target, &python, &err), 0);
	assert_int_equal(xp_symbolizer_new(target, 0, &symbolizer, &err), 0);
	take(script.pid, &taken);
	merge(target, python, &taken, taken.len, symbolizer, &merged);
	check_whole(python, &merged);
	if (getenv("XP_PRINT"))
		print_stack(&merged);
	printf("%s: CPython %s, %zu frames\n", path, xp_python_version(python), merged.n);
	merge(target, python, &taken, SHORT_BYTES, symbolizer, &merged);
	check_short(python, &merged);
	xp_symbolizer_free(symbolizer);
	xp_python_free(python);
	xp_target_close(target);
	stop_script(&script);
	return true;
}

static void every_python(void **state)
{
	struct pythons pythons;
	unsigned major, minor;
	size_t n = 0;

	find_pythons(&pythons);
	for (size_t i = 0; i < pythons.n; i++)
		if (sscanf(strrchr(pythons.path[i], '/') + 1, "python%u.%u", &major, &minor) == 2 && major == 3 && minor >= 8)
			n += check_one(pythons.path[i]);
	if (!n) {
		printf("SKIP: no Python 3.8 or newer with ctypes on this machine\n");
		skip();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_python) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
