// SPDX-License-Identifier: Apache-2.0
/* NVML's list and a process tree -> DiscoveryResult. In: the list, /proc. Out: the value and its warnings. No state. */
#include "result/discovery.h"

#include <stdlib.h>
#include <string.h>

#include "engine/gpu_holders.h"
#include "target/ancestry.h"
#include "target/program.h"
#include "target/status.h"

enum { MAX_TOLD_PIDS = 64 };

/* What a command line may take: at first, then as often as the document is above its budget. */
static const struct {
	size_t words, bytes; /* bytes: of each word */
} room[] = { { 64, 1024 }, { 16, 256 }, { 6, 128 }, { 3, 64 } };

/* Numbers that lead to no process, as far as they are told. */
struct missing {
	json_t *pids;
	uint64_t count;
};

static void miss(struct missing *missing, uint32_t pid)
{
	if (missing->count++ < MAX_TOLD_PIDS)
		json_array_append_new(missing->pids, json_integer(pid));
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts and leaves each text once. */
static void tidy(const char **texts, size_t *n)
{
	size_t kept = 0;

	qsort(texts, *n, sizeof(*texts), by_text);
	for (size_t i = 0; i < *n; i++)
		if (!kept || strcmp(texts[kept - 1], texts[i]) != 0)
			texts[kept++] = texts[i];
	*n = kept;
}

static void fill_devices(struct xp_candidate *c, const struct xp_gpu_holder *holder, const struct xp_nvml_list *list,
			 struct xp_arena *arena)
{
	uint64_t memory = 0;
	bool told = true;

	c->gpu_uuids = xp_arena_array(arena, const char *, holder->n_parts);
	c->mig_uuids = xp_arena_array(arena, const char *, holder->n_parts);
	for (size_t i = 0; i < holder->n_parts; i++) {
		const struct xp_gpu_part *part = &holder->parts[i];
		const struct xp_nvml_device *device = &list->devices[part->device];

		c->gpu_uuids[c->n_gpu_uuids++] = device->uuid;
		if (part->mig >= 0)
			c->mig_uuids[c->n_mig_uuids++] = device->migs[part->mig].uuid;
		told &= part->memory.set;
		memory += part->memory.v;
	}
	tidy(c->gpu_uuids, &c->n_gpu_uuids);
	tidy(c->mig_uuids, &c->n_mig_uuids);
	if (told)
		c->gpu_memory_bytes = (struct xp_opt_u64)XP_SOME(memory);
}

static void cut_words(struct xp_candidate *c, unsigned cuts, struct xp_arena *arena)
{
	size_t n = c->n_command_line < room[cuts].words ? c->n_command_line : room[cuts].words;
	const char **words = xp_arena_array(arena, const char *, n + 1);

	for (size_t i = 0; i < n; i++)
		words[i] = xp_utf8_cut(arena, c->command_line[i], room[cuts].bytes, NULL);
	if (n < c->n_command_line)
		words[n - 1] = "\xe2\x80\xa6";
	c->command_line = words;
	c->n_command_line = n;
}

bool xp_discovery_shrink(void *value)
{
	struct xp_discovery *d = value;

	if (d->cuts + 1 == XP_LEN(room))
		return false;
	d->cuts++;
	for (size_t i = 0; i < d->n_candidates; i++)
		cut_words(&d->candidates[i], d->cuts, d->arena);
	return true;
}

/* What /proc tells of one holder. False: it ended, or may not be inspected. */
static bool fill_process(struct xp_candidate *c, const struct xp_target_id *id, struct xp_arena *arena)
{
	xp_auto(xp_target_close) struct xp_target *target = NULL;
	struct xp_process_status status;
	struct xp_program program;
	struct xp_stat stat;
	const char **words;
	size_t n_words;
	xp_auto_err err = { 0 };

	if (xp_target_open(id->pid, id, &target, &err) || xp_target_stat(target, 0, &stat, &err) ||
	    xp_target_status(target, &status, &err) || xp_target_arguments(target, arena, &words, &n_words, &err))
		return false;
	xp_program_read(target, arena, &program);
	c->target = *xp_target_identity(target);
	c->parent_pid = stat.ppid;
	c->executable = program.executable;
	c->command_line = words;
	c->n_command_line = n_words;
	cut_words(c, 0, arena);
	c->agent_loaded = program.agent;
	c->thread_count = status.threads;
	if (status.n_ns_pid > 1)
		c->nested_pid = (struct xp_opt_u32)XP_SOME(status.ns_pid[status.n_ns_pid - 1]);
	return !xp_target_check(target, &err);
}

static void warn_missing(struct missing *missing, const struct xp_nvml_list *list, bool cut, struct xp_warnings *warnings)
{
	missing->count += list->processes_lost;
	if (missing->count || cut)
		xp_warn(warnings, "NVML_PROCESS_UNAVAILABLE",
			json_pack("{s:O,s:I}", "pids", missing->pids, "count", (json_int_t)missing->count),
			"%llu process ids of NVML lead to no CUDA process that can be seen here: they are of another container, ended, or "
			"may not "
			"be inspected",
			(unsigned long long)missing->count);
	json_decref(missing->pids);
}

static void warn_devices(const struct xp_nvml_list *list, struct xp_warnings *warnings)
{
	for (uint32_t i = 0; i < list->n_devices; i++) {
		const struct xp_nvml_device *device = &list->devices[i];
		const struct xp_nvml_fault *fault = device->fault.kind ? &device->fault : &device->list_fault;

		if (fault->kind)
			xp_warn(warnings, "NVML_DEVICE_UNAVAILABLE",
				json_pack("{s:I,s:s,s:i}", "index", (json_int_t)i, "call", fault->call, "status", fault->status),
				"GPU %u does not tell its processes: %s gave status %d", i, fault->call, fault->status);
	}
	if (list->devices_lost)
		xp_warn(warnings, "NVML_DEVICE_UNAVAILABLE", json_pack("{s:I}", "count", (json_int_t)list->devices_lost),
			"%u GPUs beyond %d were not asked", list->devices_lost, XP_NVML_MAX_DEVICES);
}

struct xp_discovery *xp_discovery_build(const struct xp_target *root, const struct xp_nvml_list *list, uint64_t limit,
					struct xp_warnings *warnings, struct xp_arena *arena)
{
	struct xp_discovery *d = xp_arena_new_of(arena, struct xp_discovery);
	struct missing missing = { .pids = json_array() };
	struct xp_gpu_holders holders;

	xp_gpu_holders_find(list, arena, &holders);
	d->root = *xp_target_identity(root);
	d->limit = limit;
	d->arena = arena;
	d->candidates = xp_arena_array(arena, struct xp_candidate, holders.n ? holders.n : 1);
	for (size_t i = 0; i < holders.n_unknown; i++)
		miss(&missing, holders.unknown[i]);
	for (size_t i = 0; i < holders.n; i++) {
		const struct xp_gpu_holder *holder = &holders.at[i];
		struct xp_candidate candidate = { 0 };
		enum xp_ancestry where = xp_ancestry_of(&d->root, &holder->id);

		if (where == XP_ELSEWHERE)
			continue;
		if (where == XP_ANCESTRY_LOST || !fill_process(&candidate, &holder->id, arena)) {
			miss(&missing, holder->id.pid);
			continue;
		}
		fill_devices(&candidate, holder, list, arena);
		d->candidates[d->total_candidates++] = candidate;
	}
	d->n_candidates = d->total_candidates < limit ? d->total_candidates : limit;
	d->truncated = d->n_candidates < d->total_candidates;
	warn_devices(list, warnings);
	warn_missing(&missing, list, holders.cut, warnings);
	return d;
}
