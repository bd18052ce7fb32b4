// SPDX-License-Identifier: Apache-2.0
/* NVML's process numbers -> processes. In: the list, claims out of /proc. Out: struct xp_gpu_holders in the arena. No state. */
#include "engine/gpu_holders.h"

#include <stdlib.h>
#include <string.h>

struct choosing {
	const struct xp_nvml_list *list;
	const struct xp_gpu_claim *claims;
	size_t n_claims;
	xp_gpu_confirm *confirm;
	void *arg;
	struct xp_arena *arena;
	struct xp_gpu_holders *out;
	uint32_t *unknown;
};

/* The process that one entry means; false: none, or nobody can say which of several. */
static bool choose(const struct choosing *c, const struct xp_nvml_process *process, struct xp_target_id *ret_id)
{
	struct xp_opt_u32 minor = c->list->devices[process->device].minor;
	unsigned fits = 0;

	for (size_t i = 0; i < c->n_claims; i++) {
		const struct xp_gpu_claim *claim = &c->claims[i];
		struct xp_target_id id;

		if (claim->number != process->number || !c->confirm(c->arg, claim->pid, minor, &id))
			continue;
		*ret_id = id;
		if (claim->own)
			return true;
		fits++;
	}
	return fits == 1;
}

static void add_part(struct choosing *c, const struct xp_target_id *id, const struct xp_nvml_process *process)
{
	struct xp_gpu_holder *holder = NULL;

	for (size_t i = 0; i < c->out->n && !holder; i++)
		if (c->out->at[i].id.pid == id->pid)
			holder = &c->out->at[i];
	if (!holder) {
		holder = &c->out->at[c->out->n++];
		holder->id = *id;
	}
	/* Few processes use many devices: a list that grows by copying stays small. */
	struct xp_gpu_part *parts = xp_arena_array(c->arena, struct xp_gpu_part, holder->n_parts + 1);
	if (holder->n_parts)
		memcpy(parts, holder->parts, holder->n_parts * sizeof(*parts));
	parts[holder->n_parts++] = (struct xp_gpu_part){ process->device, process->mig, process->memory };
	holder->parts = parts;
}

static void add_unknown(struct choosing *c, uint32_t number)
{
	for (size_t i = 0; i < c->out->n_unknown; i++)
		if (c->unknown[i] == number)
			return;
	c->unknown[c->out->n_unknown++] = number;
}

static int by_pid(const void *a, const void *b)
{
	uint32_t x = ((const struct xp_gpu_holder *)a)->id.pid, y = ((const struct xp_gpu_holder *)b)->id.pid;

	return x < y ? -1 : x > y;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

void xp_gpu_holders_choose(const struct xp_nvml_list *list, const struct xp_gpu_claim *claims, size_t n_claims, xp_gpu_confirm *confirm,
			   void *arg, struct xp_arena *arena, struct xp_gpu_holders *ret_holders)
{
	struct choosing c = { list, claims, n_claims, confirm, arg, arena, ret_holders, NULL };

	*ret_holders = (struct xp_gpu_holders){ 0 };
	if (!list->n_processes)
		return;
	ret_holders->at = xp_arena_array(arena, struct xp_gpu_holder, list->n_processes);
	c.unknown = xp_arena_array(arena, uint32_t, list->n_processes);
	for (uint32_t i = 0; i < list->n_processes; i++) {
		struct xp_target_id id;

		if (choose(&c, &list->processes[i], &id))
			add_part(&c, &id, &list->processes[i]);
		else
			add_unknown(&c, list->processes[i].number);
	}
	qsort(ret_holders->at, ret_holders->n, sizeof(*ret_holders->at), by_pid);
	qsort(c.unknown, ret_holders->n_unknown, sizeof(*c.unknown), by_number);
	ret_holders->unknown = c.unknown;
}
