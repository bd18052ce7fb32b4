// SPDX-License-Identifier: Apache-2.0
/* Kernel, native and Python frames of one stack to one list. In: its parts, leaf first. Out: frames. No state. */
#include "inventory/stack_merge.h"

struct merge {
	const struct xp_python *python;
	const struct xp_stack_parts *parts;
	struct xp_frame *frames;
	size_t n, max;
	size_t next; /* of parts->python */
	bool cut;
};

static const int language_of_kind[XP_FRAME_KIND_COUNT] = {
	[XP_FRAME_NATIVE] = XP_LANGUAGE_NATIVE, [XP_FRAME_PYTHON] = XP_LANGUAGE_PYTHON,	  [XP_FRAME_KERNEL] = XP_LANGUAGE_NATIVE,
	[XP_FRAME_JIT] = XP_LANGUAGE_UNKNOWN,	[XP_FRAME_UNKNOWN] = XP_LANGUAGE_UNKNOWN,
};

struct xp_frame xp_frame_of_native(const struct xp_symbolized *native)
{
	return (struct xp_frame){
		.address = native->address,
		.module_path = native->module_path,
		.build_id = native->build_id,
		.file_offset = native->file_offset,
		.symbol = native->symbol,
		.symbol_offset = native->symbol_offset,
		.language = language_of_kind[native->kind],
		.kind = native->kind,
		.function_offset = native->function_offset,
	};
}

struct xp_frame xp_frame_of_python(const struct xp_python_frame *python)
{
	return (struct xp_frame){
		.symbol = python->qualname,
		.language = XP_LANGUAGE_PYTHON,
		.source_path = python->source_path,
		.line = python->line,
		.kind = XP_FRAME_PYTHON,
	};
}

static void add(struct merge *merge, struct xp_frame frame)
{
	if (merge->n < merge->max)
		merge->frames[merge->n++] = frame;
	else
		merge->cut = true;
}

static bool is_eval(const struct merge *merge, size_t i)
{
	const struct xp_symbolized *native = &merge->parts->native[i];

	return xp_python_is_eval(merge->python, native->symbol, native->module_path, native->function_offset);
}

/* Frames of the interpreter that say nothing beside Python frames. The leaf is kept: time is spent there; but not when it is the loop. */
static bool is_hidden(const struct merge *merge, size_t i)
{
	const struct xp_symbolized *native = &merge->parts->native[i];

	if (i + 1 < merge->parts->n_native && is_eval(merge, i + 1) &&
	    xp_python_is_handler(merge->python, native->symbol, native->module_path))
		return true;
	return (i || native->symbol) && xp_python_is_plumbing(merge->python, native->symbol, native->module_path);
}

static size_t count_evals(const struct merge *merge)
{
	size_t n = 0;

	for (size_t i = 0; i < merge->parts->n_native; i++)
		n += is_eval(merge, i);
	return n;
}

/* Native evaluations that the Python frames tell of: groups that end at an entry frame or a shim. */
static size_t count_evaluations(const struct xp_stack_parts *parts)
{
	size_t n = 0;
	bool open = false;

	for (size_t i = 0; i < parts->n_python; i++) {
		open = !parts->python[i].shim && !parts->python[i].entry;
		n += !open;
	}
	return n + open;
}

/* The Python frames of one native evaluation. */
static void add_evaluation(struct merge *merge)
{
	while (merge->next < merge->parts->n_python) {
		const struct xp_python_frame *frame = &merge->parts->python[merge->next++];

		if (!frame->shim && !frame->hidden)
			add(merge, xp_frame_of_python(frame));
		if (frame->shim || frame->entry)
			return;
	}
}

/*
 * An evaluation that has just begun or is about to return has a native frame and no Python frame. It is the innermost one, so evaluations
 * are matched from the root when there is one native one more. A larger difference means that outer Python frames are missing (another
 * interpreter's), so that only the leaf is sure; the same when they are known to be missing.
 */
static void add_mixed(struct merge *merge)
{
	size_t evals = count_evals(merge), groups = count_evaluations(merge->parts);
	size_t skip = evals == groups + 1 && !merge->parts->python_deep;

	for (size_t i = 0; i < merge->parts->n_native; i++) {
		if (!is_eval(merge, i)) {
			if (!is_hidden(merge, i))
				add(merge, xp_frame_of_native(&merge->parts->native[i]));
		} else if (skip) {
			skip--;
		} else {
			add_evaluation(merge);
		}
	}
	while (merge->next < merge->parts->n_python)
		add_evaluation(merge);
}

size_t xp_stack_merge(const struct xp_python *python, const struct xp_stack_parts *parts, struct xp_frame *ret_frames, size_t max,
		      bool *ret_cut)
{
	struct merge merge = { .python = python, .parts = parts, .frames = ret_frames, .max = max };

	for (size_t i = 0; i < parts->n_kernel; i++)
		add(&merge, xp_frame_of_native(&parts->kernel[i]));
	if (parts->n_python) {
		add_mixed(&merge);
	} else {
		for (size_t i = 0; i < parts->n_native; i++)
			add(&merge, xp_frame_of_native(&parts->native[i]));
	}
	*ret_cut = merge.cut;
	return merge.n;
}
