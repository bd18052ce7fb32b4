// SPDX-License-Identifier: Apache-2.0
/* No single function is hot, but most of the time lies below one: where many small functions share the work. */
#include <string.h>

#include "triage/cpu_view.h"
#include "triage/rule.h"

#define HOTSPOT_SHARE 0.10 /* rule_cpu_hotspot.c */
#define LEAST_SHARE 0.50

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
static const char *const prefixes[] = { "std::rt::", "std::sys",    "core::ops::function",    "__rust_begin_short_backtrace",
					"pymain_",   "node::Start", "BaseEventLoop.",	      "Thread.",
					"Runner.",   "Handle.",	    "_UnixSelectorEventLoop." };
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

static void run(const struct xp_triage_input *input, struct xp_findings *out)
{
	const struct xp_cpu_inventory *inventory = &input->cpu->inventory;
	const struct xp_hotspot *deepest = NULL;

	for (size_t i = 0; i < inventory->n_hotspots; i++) {
		const struct xp_hotspot *spot = &inventory->hotspots[i];

		if (spot->frame->kind == XP_FRAME_KERNEL)
			continue;
		if (xp_cpu_share(input, spot->by_exclusive.exclusive) >= HOTSPOT_SHARE)
			return;
		if (xp_cpu_share(input, spot->by_inclusive.inclusive) < LEAST_SHARE || is_dispatch(spot->frame))
			continue;
		if (!deepest || depth_of(spot) > depth_of(deepest))
			deepest = spot;
	}
	if (deepest)
		xp_cpu_tell(input, out, &(struct xp_cpu_told){ "cpu_hot_path", deepest, &deepest->by_inclusive, true, LEAST_SHARE });
}

static const struct xp_take takes[] = { { "cpu_bound_thread", XP_TAKE_SAME_THREAD }, { NULL } };

const struct xp_rule xp_rule_cpu_hot_path = {
	.code = "cpu_hot_path",
	.order = 40,
	.needs = 1u << XP_SOURCE_CPU_SAMPLES,
	.takes = takes,
	.run = run,
};
