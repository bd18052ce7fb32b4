// SPDX-License-Identifier: Apache-2.0
/* No few functions explain a busy thread, but most of its time lies below one: where many small functions share the work. */
#include <string.h>

#include "triage/cpu_view.h"
#include "triage/rule.h"

#define HOTSPOT_SHARE 0.10 /* rule_cpu_hotspot.c */
#define LEAST_SHARE 0.20   /* of the window, that the thread runs */
#define LEAST_OF_THREAD 0.50
#define KERNEL_TENTHS 6 /* a function with that part of its time in the kernel is rule_cpu_kernel.c's */

static const char *const names[] = {
	"_start",
	"main",
	"start_thread",
	"clone",
	"clone3",
	"__clone",
	"__clone3",
	"__libc_start_main",
	"__libc_start_call_main",
	"Py_RunMain",
	"Py_BytesMain",
	"Py_Main",
	"_PyEval_EvalFrameDefault",
	"PyEval_EvalCode",
	"thread_run",
	"_bootstrap",
	"_bootstrap_inner",
	"run",
	"run_forever",
	"run_until_complete",
	"_run_once",
	"_run_module_as_main",
	"_run_code",
	"execute_native_thread_routine",
	"runtime.goexit",
	"runtime.main",
	"runtime.mcall",
	"uv_run",
	"event_base_loop",
	"g_main_loop_run",
};
static const char *const prefixes[] = { "std::rt::",
					"std::sys",
					"core::ops::function",
					"__rust_begin_short_backtrace",
					"pymain_",
					"_PyRun_",
					"PyRun_",
					"pyrun_",
					"run_mod",
					"node::Start",
					"BaseEventLoop.",
					"Thread.",
					"Runner.",
					"Handle.",
					"_UnixSelectorEventLoop." };
static const char *const files[] = { "/runpy.py",
				     "/threading.py",
				     "/asyncio/base_events.py",
				     "/asyncio/runners.py",
				     "/asyncio/events.py",
				     "/concurrent/futures/thread.py",
				     "/multiprocessing/process.py" };

/* Frames that call whatever comes: the start of programs and threads, interpreters, event loops. */
static bool is_dispatch(const struct xp_frame *frame)
{
	if (!frame->symbol || (frame->source_path && !strncmp(frame->source_path, "<frozen ", 8)))
		return true;
	if (frame->kind != XP_FRAME_PYTHON) {
		for (size_t i = 0; i < XP_LEN(names); i++)
			if (!strcmp(names[i], frame->symbol))
				return true;
		for (size_t i = 0; i < XP_LEN(prefixes); i++)
			if (!strncmp(prefixes[i], frame->symbol, strlen(prefixes[i])))
				return true;
		return false;
	}
	for (size_t i = 0; frame->source_path && i < XP_LEN(files); i++) {
		size_t len = strlen(frame->source_path), tail = strlen(files[i]);

		if (len > tail && !strcmp(frame->source_path + len - tail, files[i]))
			return true;
	}
	return false;
}

/* Average distance from the root. */
static double depth_of(const struct xp_hotspot *spot)
{
	return (double)spot->depth / (double)spot->inclusive_samples;
}

static const struct xp_hot_thread *in_thread(const struct xp_hotspot *spot, uint32_t tid)
{
	for (size_t i = 0; i < spot->n_hot; i++)
		if (spot->hot[i].tid == tid)
			return &spot->hot[i];
	return NULL;
}

/* Half of the thread's time lies in functions that are findings themselves. */
static bool is_explained(const struct xp_triage_input *input, const struct xp_cpu_thread *thread)
{
	uint64_t told = 0;

	for (size_t i = 0; i < input->cpu->inventory.n_hotspots; i++) {
		const struct xp_hotspot *spot = &input->cpu->inventory.hotspots[i];
		const struct xp_hot_thread *part = spot->frame->kind != XP_FRAME_KERNEL ? in_thread(spot, thread->tid) : NULL;

		if (part && xp_cpu_share(input, part->exclusive) >= HOTSPOT_SHARE)
			told += part->exclusive;
	}
	return (double)told >= LEAST_OF_THREAD * (double)thread->samples;
}

static const struct xp_hotspot *deepest(const struct xp_triage_input *input, const struct xp_cpu_thread *thread)
{
	const struct xp_hotspot *found = NULL;

	for (size_t i = 0; i < input->cpu->inventory.n_hotspots; i++) {
		const struct xp_hotspot *spot = &input->cpu->inventory.hotspots[i];
		const struct xp_hot_thread *part = spot->frame->kind != XP_FRAME_KERNEL ? in_thread(spot, thread->tid) : NULL;

		if (!part || (double)part->inclusive < LEAST_OF_THREAD * (double)thread->samples || is_dispatch(spot->frame))
			continue;
		if (part->in_kernel * 10 < part->inclusive * KERNEL_TENTHS && (!found || depth_of(spot) > depth_of(found)))
			found = spot;
	}
	return found;
}

/* The busiest thread that has such a path. */
static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	for (size_t i = 0; i < input->cpu->n_by_thread; i++) {
		const struct xp_cpu_thread *thread = &input->cpu->by_thread[i];
		const struct xp_hotspot *path;

		if (xp_cpu_share(input, thread->samples) < LEAST_SHARE)
			return;
		path = is_explained(input, thread) ? NULL : deepest(input, thread);
		if (!path)
			continue;
		struct xp_cpu_told told = { "cpu_hot_path", path, in_thread(path, thread->tid), true, LEAST_SHARE };
		xp_cpu_tell(input, out, &told);
		return;
	}
}

static const struct xp_take takes[] = { { "cpu_bound_thread", XP_TAKE_SAME_THREAD }, { "cpu_hotspot", XP_TAKE_SAME_SUBJECT }, { NULL } };

const struct xp_rule xp_rule_cpu_hot_path = {
	.code = "cpu_hot_path",
	.order = 40,
	.needs = 1u << XP_SOURCE_CPU_SAMPLES,
	.takes = takes,
	.run = run,
};
