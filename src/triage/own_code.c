// SPDX-License-Identifier: Apache-2.0
/* Which frame of a stack is the program's own. In: frames, inventories. Out: frames, words of a finding. No state. */
#include "triage/own_code.h"

#include <string.h>

#include "base/arena.h"
#include "inventory/stack_text.h"
#include "triage/cpu_view.h"

enum { SHORT_ENOUGH = 80 };

bool xp_is_standard_library(const struct xp_frame *frame)
{
	const char *path = frame->source_path;

	if (!path || !strncmp(path, "<frozen ", 8))
		return true;
	return strstr(path, "/lib/python3") && !strstr(path, "/site-packages/") && !strstr(path, "/dist-packages/");
}

bool xp_same_function(const struct xp_frame *a, const struct xp_frame *b)
{
	if (a == b)
		return true;
	if (a->kind != b->kind || !a->symbol || !b->symbol || strcmp(a->symbol, b->symbol) != 0)
		return false;
	const char *x = a->kind == XP_FRAME_PYTHON ? a->source_path : a->module_path;
	const char *y = b->kind == XP_FRAME_PYTHON ? b->source_path : b->module_path;

	return x && y && !strcmp(x, y);
}

/* What libraries call the function that waits until a lock is free. Conditions and semaphores are waited on for other reasons, too. */
bool xp_is_lock_function(const char *symbol)
{
	static const char *const names[] = { "lll_lock_wait",		"pthread_mutex_lock", "pthread_mutex_timedlock",
					     "pthread_mutex_clocklock", "pthread_rwlock_",    "Mutex::lock_contended",
					     "RawMutex::lock_slow",	"RawRwLock::lock_" };

	for (size_t i = 0; symbol && i < XP_LEN(names); i++)
		if (strstr(symbol, names[i]))
			return true;
	return false;
}

static bool starts_with_one_of(const char *text, const char *const *starts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(text, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* Shared objects of the system, and interpreters. Programs below /usr/lib are nobody's library. */
static bool is_library(const char *path)
{
	static const char *const roots[] = { "/lib/", "/lib64/", "/usr/lib", "/usr/local/lib", "/usr/local/cuda" };
	static const char *const interpreters[] = { "python3", "libpython" };
	const char *base = xp_path_base(path);

	if (path[0] == '[' || starts_with_one_of(base, interpreters, XP_LEN(interpreters)))
		return true;
	return strstr(base, ".so") && starts_with_one_of(path, roots, XP_LEN(roots));
}

/* Names that languages keep for themselves, also where a program carries the code: "void std::sort<It>(It, It)" is the library's. */
static bool is_run_time(const char *symbol)
{
	static const char *const starts[] = {
		"__", "_start", "_int_", "start_thread", "clone", "runtime.", "<std::", "<core::", "<alloc::"
	};
	static const char *const spaces[] = { "std::", "core::", "alloc::", "__gnu_cxx::", "__cxxabiv1::" };
	const char *name = symbol;

	if (starts_with_one_of(symbol, starts, XP_LEN(starts)))
		return true;
	for (const char *c = symbol; *c && *c != '<' && *c != '('; c++)
		name = *c == ' ' ? c + 1 : name; /* behind the type that a template returns */
	return starts_with_one_of(symbol, spaces, XP_LEN(spaces)) || starts_with_one_of(name, spaces, XP_LEN(spaces));
}

const struct xp_frame *xp_own_frame(const struct xp_frame *const *frames, size_t n_frames)
{
	const struct xp_frame *python = NULL, *native = NULL;

	for (size_t i = 0; i < n_frames; i++) {
		const struct xp_frame *frame = frames[i];

		if (frame->kind == XP_FRAME_PYTHON && frame->symbol) {
			if (!xp_is_standard_library(frame))
				return frame;
			python = python ? python : frame;
		} else if (!native && frame->kind != XP_FRAME_KERNEL && frame->symbol && frame->module_path &&
			   !is_library(frame->module_path) && !is_run_time(frame->symbol)) {
			native = frame;
		}
	}
	return python ? python : native;
}

void xp_own_add(struct xp_own_tally *tally, const struct xp_frame *frame, uint64_t amount)
{
	size_t i = 0;

	tally->total += amount;
	while (frame && i < tally->n && !xp_same_function(tally->at[i].frame, frame))
		i++;
	if (!frame || i == XP_OWN_FUNCTIONS)
		return;
	if (i == tally->n) {
		tally->at[i].frame = frame;
		tally->n++;
	}
	tally->at[i].amount += amount;
}

const struct xp_frame *xp_own_most(const struct xp_own_tally *tally, uint64_t total)
{
	for (size_t i = 0; i < tally->n; i++)
		if (tally->at[i].amount && tally->at[i].amount * 2 >= total)
			return tally->at[i].frame;
	return NULL;
}

const struct xp_frame *xp_own_caller(const struct xp_triage_input *input, const struct xp_frame *function, bool leaf)
{
	const struct xp_cpu_inventory *inventory = &input->cpu->inventory;
	struct xp_own_tally tally = { 0 };

	for (size_t g = 0; g < inventory->n_stack_groups; g++) { /* by samples falling: the line of a function is its hottest */
		const struct xp_stack_group *group = &inventory->stack_groups[g];
		size_t at = 0, end = leaf && group->n_frames ? 1 : group->n_frames;

		while (at < end && !xp_same_function(group->frames[at], function))
			at++;
		if (at < end)
			xp_own_add(&tally, xp_own_frame(group->frames + at, group->n_frames - at), group->samples);
	}
	return xp_own_most(&tally, tally.total);
}

enum sampled { EVERYWHERE, IN_KERNEL, IN_COLLECTOR };

static const struct xp_frame *own_sampled(const struct xp_triage_input *input, const char *name_pattern, enum sampled where)
{
	struct xp_own_tally tally = { 0 };

	for (size_t g = 0; input->cpu && g < input->cpu->inventory.n_stack_groups; g++) {
		const struct xp_stack_group *group = &input->cpu->inventory.stack_groups[g];

		bool meant = group->n_frames && (where != IN_KERNEL || group->frames[0]->kind == XP_FRAME_KERNEL);

		if (meant && (where != IN_COLLECTOR || group->collector) && !strcmp(group->thread_name_pattern, name_pattern))
			xp_own_add(&tally, xp_own_frame(group->frames, group->n_frames), group->samples);
	}
	return xp_own_most(&tally, tally.total);
}

const struct xp_frame *xp_own_running(const struct xp_triage_input *input, const char *name_pattern)
{
	return own_sampled(input, name_pattern, EVERYWHERE);
}

const struct xp_frame *xp_own_in_kernel(const struct xp_triage_input *input, const char *name_pattern)
{
	return own_sampled(input, name_pattern, IN_KERNEL);
}

const struct xp_frame *xp_own_in_call(const struct xp_triage_input *input, uint32_t tid, const char *call)
{
	for (size_t i = 0; input->cpu && i < input->cpu->n_by_thread; i++) {
		const struct xp_cpu_thread *thread = &input->cpu->by_thread[i];

		if (thread->tid == tid && thread->kernel_samples && xp_cpu_in_call(input, tid, call) * 2 >= thread->kernel_samples)
			return xp_own_in_kernel(input, thread->name_pattern);
	}
	return NULL;
}

const struct xp_frame *xp_own_collecting(const struct xp_triage_input *input, const char *name_pattern)
{
	return own_sampled(input, name_pattern, IN_COLLECTOR);
}

/* Blocks in that call by who made it; `stacked`: only those that have a stack. */
static struct xp_own_tally blocked_by(const struct xp_triage_input *input, const char *name_pattern, const char *call, bool stacked)
{
	struct xp_own_tally tally = { 0 };

	for (size_t g = 0; input->off_cpu && g < input->off_cpu->n_groups; g++) {
		const struct xp_off_cpu_group *group = &input->off_cpu->groups[g];
		bool meant = call ? group->syscall_name && !strcmp(group->syscall_name, call) : group->reason == XP_REASON_PAGE_FAULT;

		if (meant && (group->n_frames || !stacked) && !group->interpreter_lock && !strcmp(group->thread_name_pattern, name_pattern))
			xp_own_add(&tally, xp_own_frame(group->frames, group->n_frames), group->total_ns);
	}
	return tally;
}

const struct xp_frame *xp_own_blocked(const struct xp_triage_input *input, const char *name_pattern, const char *call, uint64_t of_ns)
{
	const struct xp_own_tally tally = blocked_by(input, name_pattern, call, false);

	return tally.total * 2 >= of_ns ? xp_own_most(&tally, tally.total) : NULL;
}

const struct xp_frame *xp_own_blocked_long(const struct xp_triage_input *input, const char *name_pattern, const char *call, uint64_t of_ns)
{
	const struct xp_own_tally tally = blocked_by(input, name_pattern, call, true);

	return tally.total * 4 >= of_ns ? xp_own_most(&tally, tally.total + tally.total / 2) : NULL;
}

/* Length of what at `at` is neither a template's list nor a function's: "(anonymous namespace)", and the signs behind "operator". */
static size_t other_signs(const char *at)
{
	static const char nameless[] = "(anonymous namespace)", operator_word[] = "operator";

	if (!strncmp(at, nameless, strlen(nameless)))
		return strlen(nameless);
	if (strncmp(at, operator_word, strlen(operator_word)) != 0)
		return 0;
	size_t len = strlen(operator_word);
	return len + (!strncmp(at + len, "()", 2) ? 2 : strspn(at + len, "<>=!+-*/%&|^~[]"));
}

void xp_short_function(const char *symbol, struct xp_text *out)
{
	bool collapse = strlen(symbol) > SHORT_ENOUGH;
	size_t angle = 0, brace = 0;

	if (symbol[0] == '<') { /* Rust's "<T as Trait>::method" */
		xp_text_str(out, symbol);
		return;
	}
	for (const char *at = symbol; *at; at++) {
		size_t skip = other_signs(at);

		if (skip) {
			if (!angle || !collapse)
				xp_text_fmt(out, "%.*s", (int)skip, at);
			at += skip - 1;
			continue;
		}
		brace += *at == '{';
		brace -= *at == '}' && brace;
		if (*at == '(' && !angle && !brace && at > symbol)
			return;
		angle -= *at == '>' && angle;
		if (!angle || !collapse)
			xp_text_char(out, *at);
		if (*at == '<' && !angle++ && collapse)
			xp_text_str(out, "...");
	}
}

void xp_own_say(struct xp_findings *out, struct xp_finding *finding, const char *words, const struct xp_frame *frame)
{
	xp_auto_builder text = { .limit = 200 };
	json_t *from;

	if (!frame)
		return;
	if (frame->kind != XP_FRAME_PYTHON && frame->symbol)
		xp_short_function(frame->symbol, &text);
	else
		xp_frame_text(frame, &text);
	finding->message = xp_arena_fmt(out->arena, "%s%s%s", finding->message, words, text.data ? text.data : "");
	from = json_object();
	json_object_set_new(from, "function", frame->symbol ? xp_json_text(frame->symbol) : json_null());
	json_object_set_new(from, "source_path", frame->source_path ? xp_json_text(frame->source_path) : json_null());
	json_object_set_new(from, "line", frame->line.set ? xp_json_count(frame->line.v) : json_null());
	json_object_set_new(finding->evidence, "called_from", from);
}
