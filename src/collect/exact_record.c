/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the probe engine -> events of the store. In: one record and its point. Out: a retained event, or one more that was not. */
#include <string.h>

#include "arch/x86_64/syscalls.h"
#include "collect/exact_priv.h"

static void fill_function(struct xp_event *event, const struct xp_rec_function *record, const struct xp_exact_point *meaning)
{
	/* A return probe runs behind the `ret`: the slot of the return address, which names the frame, is one word further down. */
	event->host.sp = record->sp - (record->hdr.flags & XP_REC_KERNEL_RETURN ? sizeof(uint64_t) : 0);
	event->host.key = record->key;
	event->flags |= XP_EVF_HAS_SP | (meaning->goroutine ? XP_EVF_GOROUTINE : 0);
}

static bool is_call(const struct xp_rec_hdr *record)
{
	return record->shape == XP_SHAPE_SYSCALL_ENTRY || record->shape == XP_SHAPE_SYSCALL_EXIT;
}

/* The site of a call that continues another one: its own name, so that a stored capture reads back as what it was. */
static uint32_t site_of_call(struct xp_store *store, uint32_t number)
{
	const struct xp_site site = { .probe_kind = XP_PROBE_SYSCALL, .symbol = xp_syscall_name(number) };

	return xp_store_site(store, &site);
}

/* Members that follow from the record's shape. A call without a point continues another one and is selected by nobody. */
static void fill_event(const struct xp_exact *exact, struct xp_event *event, uint32_t point, const struct xp_rec_hdr *record)
{
	const struct xp_exact_point *meaning = point < exact->n_points ? &exact->meanings[point] : NULL;

	*event = (struct xp_event){
		.t_ns = record->t_ns,
		.sequence = exact->observed,
		.pid = record->pid,
		.tid = record->tid,
		.cpu = record->cpu,
		.cpu_valid = true,
		.detail = XP_NO_DETAIL,
		.process = exact->process,
		.source = XP_SRC_EBPF,
		.clock = XP_CLOCK_HOST,
		.type = record->shape == XP_SHAPE_SYSCALL_ENTRY ? XP_EV_SYSCALL_ENTRY : XP_EV_SYSCALL_EXIT,
		.flags = XP_EVF_CONTINUES,
	};
	if (meaning) {
		event->type = (uint8_t)meaning->type;
		event->endpoints = meaning->endpoints;
		event->site = meaning->site;
		event->flags = 0;
	}
	if (is_call(record)) {
		event->syscall_nr = record->nr;
		event->site = meaning ? meaning->site : site_of_call(exact->store, record->nr);
	} else if (record->shape != XP_SHAPE_TRACEPOINT && meaning) {
		fill_function(event, (const struct xp_rec_function *)record, meaning);
	}
	if (record->shape == XP_SHAPE_SYSCALL_EXIT)
		event->host.result = ((const struct xp_rec_syscall_exit *)record)->result;
}

/* Side storage is taken only for events that are kept. */
static void keep_arguments(struct xp_store *store, struct xp_event *event, const struct xp_rec_syscall_entry *record)
{
	uint64_t args[XP_LEN(record->args)];

	memcpy(args, record->args, sizeof(args));
	xp_store_set_args(store, event, args);
}

static bool is_orphan(struct xp_exact *exact, const struct xp_event *event)
{
	bool orphan = false;

	for (unsigned i = 0; i < exact->plan->n_edges; i++)
		orphan |= xp_pair_counter_is_orphan(&exact->counters[i], event);
	return orphan;
}

void xp_exact_take(void *arg, uint32_t point, const struct xp_rec_hdr *record)
{
	struct xp_exact *exact = arg;
	struct xp_event event;

	fill_event(exact, &event, point, record);
	exact->observed++;
	if (is_orphan(exact, &event)) {
		xp_store_exempt(exact->store, 1);
		exact->exempted++;
	}
	if (xp_store_count(exact->store) >= xp_store_capacity(exact->store) + exact->exempted) {
		/* Nothing more can be kept: spare the target the rest at once. */
		if (!exact->full)
			xp_probes_switch(exact->probes, false);
		exact->full = true;
		return;
	}
	if (record->shape == XP_SHAPE_SYSCALL_ENTRY)
		keep_arguments(exact->store, &event, (const struct xp_rec_syscall_entry *)record);
	xp_store_add(exact->store, &event);
	for (unsigned i = 0; i < exact->plan->n_edges; i++)
		xp_pair_counter_take(&exact->counters[i], &event);
	xp_exact_threads_see(&exact->threads, event.tid);
}
