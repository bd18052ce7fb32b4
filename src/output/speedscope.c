/* SPDX-License-Identifier: Apache-2.0 */
/* CPU samples as a speedscope file: one sampled profile per thread name. In: struct xp_cpu_samples. Out: JSON text. No state. */
#include <string.h>

#include "base/hash.h"
#include "inventory/cpu_samples.h"
#include "inventory/stack_text.h"
#include "output/output.h"

static const char schema[] = "https://www.speedscope.app/file-format-schema.json";

/* Numbers of frames in shared.frames, in the order of first use. */
struct numbering {
	struct xp_map of; /* frame -> number */
	const struct xp_frame **frames;
	size_t n;
};

static uint64_t number_of(struct numbering *numbering, const struct xp_frame *frame)
{
	bool new;
	uint64_t *at = xp_map_at(&numbering->of, (uintptr_t)frame, NULL, NULL, &new);

	if (new) {
		numbering->frames[numbering->n] = frame;
		*at = numbering->n++;
	}
	return *at;
}

static void number_all(struct numbering *numbering, const struct xp_cpu_inventory *inventory, const struct xp_off_cpu_value *blocked)
{
	for (size_t i = 0; blocked && i < blocked->n_groups; i++)
		for (size_t f = 0; f < blocked->groups[i].n_frames; f++)
			number_of(numbering, blocked->groups[i].frames[f]);
	for (size_t i = 0; i < inventory->n_stack_groups; i++)
		for (size_t f = 0; f < inventory->stack_groups[i].n_frames; f++)
			number_of(numbering, inventory->stack_groups[i].frames[f]);
}

static void put_text(struct xp_json *json, const char *key, const char *text)
{
	xp_json_key(json, key);
	xp_json_str(json, text);
}

static void put_frames(struct xp_json *json, const struct numbering *numbering)
{
	xp_json_key(json, "shared");
	xp_json_begin(json, '{');
	xp_json_key(json, "frames");
	xp_json_begin(json, '[');
	for (size_t i = 0; i < numbering->n; i++) {
		const struct xp_frame *frame = numbering->frames[i];
		const char *file = frame->source_path ? frame->source_path : frame->module_path;
		xp_auto_builder name = { 0 };

		xp_frame_text(frame, &name);
		xp_json_begin(json, '{');
		put_text(json, "name", frame->symbol ? frame->symbol : name.data);
		if (file)
			put_text(json, "file", file);
		if (frame->line.set) {
			xp_json_key(json, "line");
			xp_json_u64(json, frame->line.v);
		}
		xp_json_end(json, '}');
	}
	xp_json_end(json, ']');
	xp_json_end(json, '}');
}

/* The groups of one name pattern; returns their samples. */
static uint64_t put_samples(struct xp_json *json, struct numbering *numbering, const struct xp_cpu_inventory *inventory,
			    const char *pattern)
{
	uint64_t total = 0;

	xp_json_key(json, "samples");
	xp_json_begin(json, '[');
	for (size_t i = 0; i < inventory->n_stack_groups; i++) {
		const struct xp_stack_group *group = &inventory->stack_groups[i];

		if (strcmp(group->thread_name_pattern, pattern) != 0)
			continue;
		total += group->samples;
		xp_json_begin(json, '[');
		for (size_t f = group->n_frames; f > 0; f--)
			xp_json_u64(json, number_of(numbering, group->frames[f - 1]));
		xp_json_end(json, ']');
	}
	xp_json_end(json, ']');
	return total;
}

static void put_weights(struct xp_json *json, const struct xp_cpu_inventory *inventory, const char *pattern)
{
	xp_json_key(json, "weights");
	xp_json_begin(json, '[');
	for (size_t i = 0; i < inventory->n_stack_groups; i++)
		if (!strcmp(inventory->stack_groups[i].thread_name_pattern, pattern))
			xp_json_u64(json, inventory->stack_groups[i].samples);
	xp_json_end(json, ']');
}

static void put_profile(struct xp_json *json, struct numbering *numbering, const struct xp_cpu_inventory *inventory, const char *pattern)
{
	xp_json_begin(json, '{');
	put_text(json, "type", "sampled");
	put_text(json, "name", pattern);
	put_text(json, "unit", "none");
	xp_json_key(json, "startValue");
	xp_json_u64(json, 0);
	uint64_t total = put_samples(json, numbering, inventory, pattern);
	put_weights(json, inventory, pattern);
	xp_json_key(json, "endValue");
	xp_json_u64(json, total);
	xp_json_end(json, '}');
}

/* Blocked stacks of all threads, us; blocks without a stack have no frame to show. */
static void put_blocked(struct xp_json *json, struct numbering *numbering, const struct xp_off_cpu_value *blocked)
{
	uint64_t total = 0;

	xp_json_begin(json, '{');
	put_text(json, "type", "sampled");
	put_text(json, "name", "blocked");
	put_text(json, "unit", "microseconds");
	xp_json_key(json, "startValue");
	xp_json_u64(json, 0);
	xp_json_key(json, "samples");
	xp_json_begin(json, '[');
	for (size_t i = 0; i < blocked->n_groups; i++) {
		xp_json_begin(json, '[');
		for (size_t f = blocked->groups[i].n_frames; f > 0; f--)
			xp_json_u64(json, number_of(numbering, blocked->groups[i].frames[f - 1]));
		xp_json_end(json, ']');
	}
	xp_json_end(json, ']');
	xp_json_key(json, "weights");
	xp_json_begin(json, '[');
	for (size_t i = 0; i < blocked->n_groups; i++) {
		xp_json_u64(json, blocked->groups[i].total_ns / 1000);
		total += blocked->groups[i].total_ns / 1000;
	}
	xp_json_end(json, ']');
	xp_json_key(json, "endValue");
	xp_json_u64(json, total);
	xp_json_end(json, '}');
}

/* Patterns in the order of their largest group. */
static void put_profiles(struct xp_json *json, struct numbering *numbering, const struct xp_cpu_inventory *inventory,
			 const struct xp_off_cpu_value *blocked)
{
	xp_json_key(json, "profiles");
	xp_json_begin(json, '[');
	for (size_t i = 0; i < inventory->n_stack_groups; i++) {
		const char *pattern = inventory->stack_groups[i].thread_name_pattern;
		size_t first = 0;

		while (strcmp(inventory->stack_groups[first].thread_name_pattern, pattern) != 0)
			first++;
		if (first == i)
			put_profile(json, numbering, inventory, pattern);
	}
	if (blocked)
		put_blocked(json, numbering, blocked);
	xp_json_end(json, ']');
}

static int write_speedscope(const struct xp_output_input *input, const struct xp_sink *sink, struct xp_err *reterr)
{
	const struct xp_cpu_samples *value = input->value;
	xp_auto(xp_arena_free) struct xp_arena *work = xp_arena_new();
	size_t n = value->n_frames;

	for (size_t i = 0; value->off_cpu && i < value->off_cpu->n_groups; i++)
		n += value->off_cpu->groups[i].n_frames;
	struct numbering numbering = { .frames = xp_arena_array(work, const struct xp_frame *, n + 1) };
	xp_auto_builder text = { 0 };
	struct xp_json json = { .out = &text };

	number_all(&numbering, &value->inventory, value->off_cpu);
	xp_json_begin(&json, '{');
	put_text(&json, "$schema", schema);
	put_text(&json, "name", value->inventory.name ? value->inventory.name : input->session_id);
	put_text(&json, "exporter", "xprobe");
	put_frames(&json, &numbering);
	put_profiles(&json, &numbering, &value->inventory, value->off_cpu);
	xp_json_end(&json, '}');
	xp_text_char(&text, '\n');
	xp_map_done(&numbering.of);
	return sink->write(sink->arg, text.data, text.len, reterr);
}

const struct xp_output xp_output_speedscope = {
	.name = "speedscope",
	.summary = "speedscope JSON, one profile per thread name",
	.takes = XP_TAKES_CPU_SAMPLES,
	.write = write_speedscope,
};
