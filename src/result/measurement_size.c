/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps results short: what an exemplar repeats or what its artifact tells as well is left out, in this order, while the document is
 * larger than wanted. In: a measurement. Out: the same, smaller. No state.
 */
#include <string.h>

#include "result/measurement.h"

/* Names of exemplars become shorter in these steps when even the hard budget is at stake. */
static const size_t name_steps[] = { 128, 64 };

/* Behind that, selectors as long as a program's longest symbols: the caller has them whole. */
static const size_t selector_steps[] = { 2048, 512 };

static struct xp_event_host_doc *own_host(struct xp_event_doc *doc, struct xp_arena *arena)
{
	struct xp_event_host_doc *host = xp_arena_new_of(arena, struct xp_event_host_doc);

	*host = *doc->host;
	doc->host = host;
	return host;
}

/* A system call's registers stay where they explain most: with the slow calls. */
static void leave_registers(struct xp_measurement *value, unsigned rank, struct xp_event_doc *doc)
{
	if (doc->host && rank < XP_RANK_P99)
		own_host(doc, value->arena)->n_arguments = 0;
}

/* `target` tells it for all. */
static void leave_start_time(struct xp_measurement *value, unsigned rank, struct xp_event_doc *doc)
{
	if (value->target && doc->process_start_time.set && doc->process_start_time.v == value->target->process_start_time)
		doc->process_start_time.set = false;
}

/* The slowest pair's start keeps it; it is the same file in all. */
static void leave_build_id(struct xp_measurement *value, unsigned rank, struct xp_event_doc *doc)
{
	const struct xp_event_doc *kept = &value->evidence.exemplars[XP_RANK_MAX].start;

	if (doc != kept && doc->host && doc->host->build_id && kept->host && kept->host->build_id &&
	    !strcmp(doc->host->build_id, kept->host->build_id))
		own_host(doc, value->arena)->build_id = NULL;
}

/* The pair's selectors name it, and the artifact has it whole. */
static void leave_path(struct xp_measurement *value, unsigned rank, struct xp_event_doc *doc)
{
	const struct xp_event_doc *kept = &value->evidence.exemplars[XP_RANK_MAX].start;

	if (doc != kept && doc->host && doc->host->binary_path && kept->host && kept->host->binary_path &&
	    !strcmp(doc->host->binary_path, kept->host->binary_path))
		own_host(doc, value->arena)->binary_path = NULL;
}

static void (*const repetitions[])(struct xp_measurement *value, unsigned rank, struct xp_event_doc *doc) = {
	leave_registers,
	leave_start_time,
	leave_build_id,
	leave_path,
};

static size_t size_of(const struct xp_measurement *value)
{
	xp_auto_builder out = { 0 };
	struct xp_json json = { .out = &out };

	xp_record_write(&json, &xp_measurement_record, value, false);
	return out.len + 1; /* the final line feed */
}

void xp_measurement_slim(struct xp_measurement *value)
{
	for (size_t step = 0; step < XP_LEN(repetitions) && size_of(value) > XP_SLIM_RESULT; step++) {
		for (unsigned rank = 0; rank < value->evidence.n_exemplars; rank++) {
			repetitions[step](value, rank, &value->evidence.exemplars[rank].start);
			repetitions[step](value, rank, &value->evidence.exemplars[rank].end);
		}
	}
}

static bool cut_selector(const char **selector, size_t max, struct xp_arena *arena)
{
	if (strlen(*selector) <= max)
		return false;
	*selector = xp_utf8_cut(arena, *selector, max, NULL);
	return true;
}

static bool cut_selectors(struct xp_measurement *measurement)
{
	bool cut = false;

	for (size_t i = 0; i < XP_LEN(selector_steps) && !cut; i++) {
		cut = cut_selector(&measurement->measurement.start_selector, selector_steps[i], measurement->arena);
		cut |= cut_selector(&measurement->measurement.end_selector, selector_steps[i], measurement->arena);
	}
	return cut;
}

bool xp_measurement_shrink(void *value)
{
	struct xp_measurement *measurement = value;
	size_t max = 0;

	for (size_t i = 0; i < XP_LEN(name_steps) && !max; i++)
		if (name_steps[i] < measurement->name_max)
			max = name_steps[i];
	if (!max)
		return cut_selectors(measurement);
	measurement->name_max = max;
	for (size_t i = 0; i < measurement->evidence.n_exemplars; i++) {
		xp_event_doc_cut(&measurement->evidence.exemplars[i].start, max, measurement->arena);
		xp_event_doc_cut(&measurement->evidence.exemplars[i].end, max, measurement->arena);
	}
	return true;
}
