// SPDX-License-Identifier: Apache-2.0
/* Fault: mixed stacks with frames in the wrong place. Kernel, native and Python frames by the rules of each release, and of broken parts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "elf/python_priv.h"
#include "inventory/stack_merge.h"

#define PY "/usr/lib/libpython3.so"
#define EXT "/usr/lib/ext.so"
#define EVAL                                                            \
	{                                                               \
		.module_path = PY, .symbol = "_PyEval_EvalFrameDefault" \
	}
#define IN(path, name)                                  \
	{                                               \
		.module_path = (path), .symbol = (name) \
	}
#define FRAME(name)                                                           \
	{                                                                     \
		.qualname = (name), .source_path = "a.py", .line = XP_SOME(7) \
	}
#define ENTRY(name)                                                      \
	{                                                                \
		.qualname = (name), .source_path = "a.py", .entry = true \
	}
#define SHIM                 \
	{                    \
		.shim = true \
	}

enum { COLD_OFFSET = 4099, FRAMES_MAX = 32 };

/* Only what the interpreter's files say is asked here. */
static struct xp_python interpreter = { .place = { .path = PY, .cold = { COLD_OFFSET }, .n_cold = 1 } };
static struct xp_python tail_calls = { .place = { .path = PY, .tail_calls = true } };

static void expect(const struct xp_python *python, const struct xp_stack_parts *parts, size_t max, const char *expected)
{
	struct xp_frame frames[FRAMES_MAX];
	char text[512] = "";
	bool cut;
	size_t n = xp_stack_merge(python, parts, frames, max, &cut);

	for (size_t i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "", frames[i].symbol ? frames[i].symbol : "?");
	assert_string_equal(text, expected);
	assert_int_equal(cut, n == max);
}
#define NATIVE(list) .native = (list), .n_native = XP_LEN(list)
#define PYTHON(list) .python = (list), .n_python = XP_LEN(list)

/* 3.12 and newer: Python frames up to a shim belong to one native evaluation. */
static void shims(void **state)
{
	struct xp_symbolized kernel[] = { { .kind = XP_FRAME_KERNEL, .symbol = "do_sleep" } };
	struct xp_symbolized native[] = {
		IN("/c.so", "nanosleep"), IN(PY, "time_sleep"),	    EVAL, IN(PY, "_PyFunction_Vectorcall"), IN(EXT, "spam"),
		IN(PY, "cfunction_call"), IN(PY, "list_sort_impl"), EVAL, IN(PY, "PyEval_EvalCode"),	    IN(PY, "pymain_run_file"),
		IN(PY, "Py_BytesMain"),	  IN("/py", "main")
	};
	struct xp_python_frame python[] = { FRAME("a"), FRAME("b"), SHIM, FRAME("c"), { .qualname = "__init__", .hidden = true }, SHIM };
	struct xp_stack_parts parts = { .kernel = kernel, .n_kernel = 1, NATIVE(native), PYTHON(python) };

	expect(&interpreter, &parts, FRAMES_MAX, "do_sleep nanosleep time_sleep a b spam list_sort_impl c main");
	expect(&interpreter, &parts, 5, "do_sleep nanosleep time_sleep a b");
}

/* 3.11: up to the entry frame. Before: each is one. */
static void entries(void **state)
{
	struct xp_symbolized native[] = { EVAL, IN(PY, "_PyEval_Vector"), IN(EXT, "spam"), EVAL, IN("/py", "_start") };
	struct xp_python_frame python[] = { FRAME("a"), ENTRY("b"), FRAME("c"), ENTRY("d") };

	expect(&interpreter, &(struct xp_stack_parts){ NATIVE(native), PYTHON(python) }, FRAMES_MAX, "a b spam c d _start");
}

/* The innermost native evaluation has no frame of its own yet. Without the outermost frames nobody can tell. */
static void begins(void **state)
{
	struct xp_symbolized native[] = { EVAL, IN(EXT, "spam"), EVAL, IN("/py", "_start") };
	struct xp_symbolized three[] = { EVAL, IN(EXT, "spam"), EVAL, IN(EXT, "eggs"), EVAL, IN("/py", "_start") };
	struct xp_python_frame python[] = { FRAME("a"), ENTRY("b") };
	struct xp_stack_parts parts = { NATIVE(native), PYTHON(python) };

	expect(&interpreter, &parts, FRAMES_MAX, "spam a b _start");
	parts.python_deep = true;
	expect(&interpreter, &parts, FRAMES_MAX, "a b spam _start");
	expect(&interpreter, &(struct xp_stack_parts){ NATIVE(three), PYTHON(python) }, FRAMES_MAX, "a b spam eggs _start");
}

/* Unwinding that broke: the native leaf on top, then all Python frames. */
static void broken_native(void **state)
{
	struct xp_symbolized leaf[] = { IN(EXT, "eggs") };
	struct xp_symbolized more[] = { IN(EXT, "eggs"), EVAL, IN(EXT, "spam") };
	struct xp_python_frame python[] = { FRAME("a"), SHIM, FRAME("b"), SHIM, FRAME("c"), SHIM };

	expect(&interpreter, &(struct xp_stack_parts){ NATIVE(leaf), .end = XP_UNWIND_FAILED, PYTHON(python) }, FRAMES_MAX, "eggs a b c");
	expect(&interpreter, &(struct xp_stack_parts){ NATIVE(more), .end = XP_UNWIND_COPY, PYTHON(python) }, FRAMES_MAX,
	       "eggs a spam b c");
}

/* A torn Python part is dropped: nothing of the native one is hidden then. */
static void no_python(void **state)
{
	struct xp_symbolized native[] = { IN(PY, "_PyFunction_Vectorcall"), EVAL, { .module_path = PY }, IN("/py", "main") };

	expect(&interpreter, &(struct xp_stack_parts){ NATIVE(native) }, FRAMES_MAX,
	       "_PyFunction_Vectorcall _PyEval_EvalFrameDefault ? main");
	expect(NULL, &(struct xp_stack_parts){ NATIVE(native) }, FRAMES_MAX, "_PyFunction_Vectorcall _PyEval_EvalFrameDefault ? main");
}

/* A stripped interpreter: the loop's cold part by its offset, other nameless parts hidden but for the leaf; another file's are not. */
static void stripped(void **state)
{
	struct xp_symbolized native[] = { { .module_path = PY, .function_offset = XP_SOME(17) },
					  { .module_path = PY, .function_offset = XP_SOME(19) },
					  { .module_path = PY, .function_offset = XP_SOME(COLD_OFFSET) },
					  { .module_path = EXT, .function_offset = XP_SOME(COLD_OFFSET) },
					  EVAL };
	struct xp_python_frame python[] = { FRAME("a"), SHIM, FRAME("b"), SHIM };

	expect(&interpreter, &(struct xp_stack_parts){ NATIVE(native), PYTHON(python) }, FRAMES_MAX, "? a ? b");
}

/* 3.14 with tail calls: the handler of the current instruction stands on the loop and is a part of it, with or without a name. */
static void handlers(void **state)
{
	struct xp_symbolized named[] = { IN(PY, "_TAIL_CALL_LOAD_ATTR.llvm.1299827"), EVAL, IN(EXT, "spam"), EVAL };
	struct xp_symbolized nameless[] = { { .module_path = PY }, EVAL, IN(EXT, "spam"), { .module_path = PY }, EVAL };
	struct xp_python_frame python[] = { FRAME("a"), SHIM, FRAME("b"), SHIM };

	expect(&interpreter, &(struct xp_stack_parts){ NATIVE(named), PYTHON(python) }, FRAMES_MAX, "a spam b");
	expect(&tail_calls, &(struct xp_stack_parts){ NATIVE(nameless), PYTHON(python) }, FRAMES_MAX, "a spam b");
}

static void names(void **state)
{
	struct xp_opt_u64 none = { 0 };

	assert_true(xp_python_is_eval(&interpreter, "_PyEval_EvalFrameDefault.cold.17", PY, none));
	assert_false(xp_python_is_eval(&interpreter, "_PyEval_EvalFrameDefaultX", PY, none));
	assert_false(xp_python_is_eval(&interpreter, "_PyEval_EvalFrameDefault", EXT, none));
	assert_false(xp_python_is_eval(&interpreter, "_PyEval_EvalFrameDefault", NULL, none));
	assert_true(xp_python_is_plumbing(&interpreter, "_PyObject_MakeTpCall.localalias", PY));
	assert_true(xp_python_is_plumbing(&interpreter, "Py_RunMain", PY));
	assert_false(xp_python_is_plumbing(&interpreter, "Py_RunMainLoop", PY));
	assert_false(xp_python_is_plumbing(&interpreter, "PyObject_Malloc", PY));
	assert_false(xp_python_is_plumbing(&interpreter, "gc_collect_main", PY));
	assert_false(xp_python_is_plumbing(&interpreter, "take_gil", PY));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shims),     cmocka_unit_test(entries),	 cmocka_unit_test(begins),   cmocka_unit_test(broken_native),
		cmocka_unit_test(no_python), cmocka_unit_test(stripped), cmocka_unit_test(handlers), cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
