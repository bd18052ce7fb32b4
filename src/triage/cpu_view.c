// SPDX-License-Identifier: Apache-2.0
/* CPU samples as findings about functions. In: the inventory. Out: shares, findings. No state. */
#include "triage/cpu_view.h"

#include <string.h>

#include "inventory/interval.h"
#include "inventory/stack_text.h"
#include "triage/command.h"
#include "triage/own_code.h"

enum { STACK_LISTED = 10, MOST_TENTHS = 6 };

/* Samples that a thread would have if it ran for the whole window. */
static double ticks(const struct xp_triage_input *input)
{
	return (double)input->window_ns / 1e9 * (double)input->cpu->inventory.frequency_hz;
}

double xp_cpu_share(const struct xp_triage_input *input, uint64_t samples)
{
	double full = input->cpu ? ticks(input) : 0;

	return full > 0 ? (double)samples / full : 0;
}

struct xp_interval xp_cpu_interval(const struct xp_triage_input *input, uint64_t samples)
{
	uint64_t full = (uint64_t)(ticks(input) + 0.5);

	return xp_interval_95(samples, samples > full ? samples : full);
}

uint64_t xp_cpu_in_call(const struct xp_triage_input *input, uint32_t tid, const char *call)
{
	uint64_t samples = 0;

	for (size_t i = 0; input->cpu && i < input->cpu->n_by_thread; i++) {
		const struct xp_cpu_thread *thread = &input->cpu->by_thread[i];

		for (size_t c = 0; (!tid || thread->tid == tid) && c < thread->n_calls; c++)
			samples += strcmp(thread->calls[c].name, call) ? 0 : thread->calls[c].samples;
	}
	return samples;
}

json_t *xp_cpu_stack(const struct xp_triage_input *input, const struct xp_hotspot *spot, size_t max)
{
	const struct xp_cpu_inventory *inventory = &input->cpu->inventory;
	bool leaf = spot->exclusive_samples > 0;
	json_t *list = json_array();

	for (size_t g = 0; g < inventory->n_stack_groups; g++) {
		const struct xp_stack_group *group = &inventory->stack_groups[g];
		size_t at = 0, end = leaf && group->n_frames ? 1 : group->n_frames;

		while (at < end && !xp_same_function(group->frames[at], spot->frame))
			at++;
		if (at >= end)
			continue;
		for (size_t i = 0; i < max && at + i < group->n_frames; i++) {
			xp_auto_builder text = { .limit = 160 };

			xp_frame_text(group->frames[at + i], &text);
			json_array_append_new(list, xp_json_text(text.data ? text.data : ""));
		}
		break;
	}
	return list;
}

static json_t *line_of(const struct xp_hotspot *spot)
{
	const struct xp_frame *line = spot->python_line;
	json_t *object = json_object();

	json_object_set_new(object, "function", xp_json_text(line->symbol));
	json_object_set_new(object, "source_path", line->source_path ? xp_json_text(line->source_path) : json_null());
	json_object_set_new(object, "line", line->line.set ? xp_json_count(line->line.v) : json_null());
	json_object_set_new(object, "share", json_real((double)spot->python_line_samples / (double)spot->exclusive_samples));
	return object;
}

static json_t *evidence_of(const struct xp_triage_input *input, const struct xp_cpu_told *told)
{
	const struct xp_hotspot *spot = told->spot;
	const struct xp_frame *frame = spot->frame;
	json_t *evidence = json_object();

	json_object_set_new(evidence, "tid", xp_json_count(told->thread->tid));
	json_object_set_new(evidence, "thread_name", xp_json_text(told->thread->name));
	json_object_set_new(evidence, "exclusive_samples", xp_json_count(told->thread->exclusive));
	json_object_set_new(evidence, "inclusive_samples", xp_json_count(told->thread->inclusive));
	json_object_set_new(evidence, "process_exclusive_proportion", json_real(spot->exclusive_proportion));
	json_object_set_new(evidence, "process_inclusive_proportion", json_real(spot->inclusive_proportion));
	json_object_set_new(evidence, "kind", json_string(xp_frame_kind_names[frame->kind]));
	if (frame->kind == XP_FRAME_PYTHON) {
		json_object_set_new(evidence, "source_path", frame->source_path ? xp_json_text(frame->source_path) : json_null());
		json_object_set_new(evidence, "line", frame->line.set ? xp_json_count(frame->line.v) : json_null());
	} else {
		json_object_set_new(evidence, "module", frame->module_path ? xp_json_text(frame->module_path) : json_null());
	}
	if (spot->python_line && spot->exclusive_samples)
		json_object_set_new(evidence, "python_line", line_of(spot));
	json_object_set_new(evidence, "stack", xp_cpu_stack(input, spot, STACK_LISTED));
	return evidence;
}

/* A thread counts as explained when what the finding counts is above the rule's bound there, too. */
static void add_threads(const struct xp_triage_input *input, const struct xp_cpu_told *told, struct xp_finding *finding,
			struct xp_arena *arena)
{
	uint32_t *tids = xp_arena_array(arena, uint32_t, told->spot->n_hot + 1);

	for (size_t i = 0; i < told->spot->n_hot; i++) {
		const struct xp_hot_thread *hot = &told->spot->hot[i];

		if (xp_cpu_share(input, told->inclusive ? hot->inclusive : hot->exclusive) >= told->least)
			tids[finding->n_tids++] = hot->tid;
	}
	finding->tids = tids;
	finding->tid = told->thread->tid;
}

/* Called by the start of the program or of a thread, wherever it is met: it was entered before the window and is not entered again. */
static bool starts_a_thread(const struct xp_triage_input *input, const struct xp_hotspot *spot)
{
	static const char *const starts[] = { "_start",	      "__libc_start_main", "__libc_start_call_main",
					      "start_thread", "__clone",	   "__clone3",
					      "clone3" };
	const struct xp_cpu_inventory *inventory = &input->cpu->inventory;
	bool found = false;

	for (size_t g = 0; g < inventory->n_stack_groups; g++) {
		const struct xp_stack_group *group = &inventory->stack_groups[g];

		for (size_t at = 0; at < group->n_frames; at++) {
			const char *caller = at + 1 < group->n_frames ? group->frames[at + 1]->symbol : NULL;
			bool start = false;

			if (!xp_same_function(group->frames[at], spot->frame))
				continue;
			for (size_t i = 0; i < XP_LEN(starts) && caller; i++)
				start |= !strcmp(starts[i], caller);
			if (!start)
				return false;
			found = true;
		}
	}
	return found;
}

/* A function of a library or an interpreter is hot on behalf of code that a reader can change; one of the program's own says that itself.
 */
static const struct xp_frame *caller_of(const struct xp_triage_input *input, const struct xp_cpu_told *told)
{
	const struct xp_hotspot *spot = told->spot;
	const struct xp_frame *line = told->inclusive ? NULL : spot->python_line;

	if (line && !xp_is_standard_library(line))
		return line;
	bool own = spot->frame->kind == XP_FRAME_PYTHON ? !xp_is_standard_library(spot->frame) : xp_own_frame(&spot->frame, 1) != NULL;
	const struct xp_frame *caller = own ? NULL : xp_own_caller(input, spot->frame, !told->inclusive);

	if (caller && xp_same_function(caller, spot->frame))
		caller = NULL;
	return caller ? caller : line;
}

struct xp_finding *xp_cpu_tell(const struct xp_triage_input *input, struct xp_findings *out, const struct xp_cpu_told *told)
{
	const struct xp_hotspot *spot = told->spot;
	uint64_t samples = told->inclusive ? told->thread->inclusive : told->thread->exclusive;
	xp_auto_builder name = { .limit = 200 }, words = { .limit = 200 };

	xp_frame_text(spot->frame, &name);
	struct xp_finding *finding = xp_finding_add(out, told->code, spot->frame->symbol ? spot->frame->symbol : name.data,
						    xp_cpu_share(input, samples), evidence_of(input, told));
	finding->window_share_interval_95 = xp_cpu_interval(input, samples);
	finding->confidence = XP_ESTIMATED;
	finding->in_copy = !told->inclusive && samples && told->thread->in_copy * 10 >= samples * MOST_TENTHS;
	finding->in_launch = !told->inclusive && samples && told->thread->in_launch * 10 >= samples * MOST_TENTHS;
	add_threads(input, told, finding, out->arena);
	if (spot->frame->kind != XP_FRAME_PYTHON && spot->frame->symbol)
		xp_short_function(spot->frame->symbol, &words);
	xp_finding_say(out, finding, "thread %s spent about %.0f ms of %.0f ms in %s%s", told->thread->name,
		       xp_cpu_share(input, samples) * (double)input->window_ns / 1e6, (double)input->window_ns / 1e6,
		       words.len ? words.data : name.data, told->inclusive ? " and what it calls" : "");
	xp_own_say(out, finding, ", called from ", caller_of(input, told));
	if (spot->entry_selector_hint && spot->return_selector_hint && !starts_a_thread(input, spot))
		xp_next_function(out, finding, &input->target, finding->subject, spot->entry_selector_hint, spot->return_selector_hint);
	else
		xp_next_cpu_samples(input, out, finding, told->thread->tid);
	return finding;
}
