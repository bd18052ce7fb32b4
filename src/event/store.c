/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded event storage with interned side tables. State: everything a capture retains. */
#include "event/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct thread_note {
	uint32_t tid, ns_tid, ns_pid;
	char name[64];
};

struct process_note {
	uint32_t pid;
	struct xp_opt_u64 start_time;
};

/* A growing array; `at` moves when it grows. */
struct array {
	void *at;
	size_t n, cap, size;
};

struct xp_store {
	struct xp_arena *arena;
	uint64_t capacity, exempt;
	struct array events, details, args, sites, texts, threads, processes;
	struct xp_map text_index, site_index, thread_index;
};

static void *array_push(struct array *array)
{
	if (array->n == array->cap) {
		array->cap = array->cap ? array->cap * 2 : 64;
		array->at = realloc(array->at, array->cap * array->size);
		if (!array->at)
			abort();
	}
	void *slot = (char *)array->at + array->n++ * array->size;
	return memset(slot, 0, array->size);
}

static void *array_at(const struct array *array, size_t index)
{
	return (char *)array->at + index * array->size;
}

struct xp_store *xp_store_new(uint64_t capacity)
{
	struct xp_store *store = calloc(1, sizeof(*store));

	if (!store)
		abort();
	store->arena = xp_arena_new();
	store->capacity = capacity;
	store->events.size = sizeof(struct xp_event);
	store->details.size = sizeof(struct xp_event_detail);
	store->args.size = 6 * sizeof(uint64_t);
	store->sites.size = sizeof(struct xp_site);
	store->texts.size = sizeof(char *);
	store->threads.size = sizeof(struct thread_note);
	store->processes.size = sizeof(struct process_note);
	array_push(&store->texts); /* index 0: no text */
	return store;
}

void xp_store_free(struct xp_store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < store->details.n; i++) {
		struct xp_event_detail *detail = array_at(&store->details, i);

		json_decref(detail->attributes);
		json_decref(detail->arguments);
	}
	free(store->events.at);
	free(store->details.at);
	free(store->args.at);
	free(store->sites.at);
	free(store->texts.at);
	free(store->threads.at);
	free(store->processes.at);
	xp_map_done(&store->text_index);
	xp_map_done(&store->site_index);
	xp_map_done(&store->thread_index);
	xp_arena_free(store->arena);
	free(store);
}

bool xp_store_add(struct xp_store *store, const struct xp_event *event)
{
	if (store->events.n >= store->capacity + store->exempt || store->events.n >= UINT32_MAX)
		return false;
	*(struct xp_event *)array_push(&store->events) = *event;
	return true;
}

void xp_store_exempt(struct xp_store *store, uint64_t n)
{
	store->exempt += n;
}

uint32_t xp_store_detail_new(struct xp_store *store, struct xp_event_detail **ret_detail)
{
	*ret_detail = array_push(&store->details);
	return (uint32_t)(store->details.n - 1);
}

const struct xp_event_detail *xp_store_detail(const struct xp_store *store, const struct xp_event *event)
{
	return event->detail == XP_NO_DETAIL || event->flags & XP_EVF_ARGS ? NULL : array_at(&store->details, event->detail);
}

void xp_store_set_args(struct xp_store *store, struct xp_event *event, const uint64_t args[6])
{
	memcpy(array_push(&store->args), args, store->args.size);
	event->detail = (uint32_t)(store->args.n - 1);
	event->flags |= XP_EVF_ARGS;
}

const uint64_t *xp_store_args(const struct xp_store *store, const struct xp_event *event)
{
	if (event->flags & XP_EVF_ARGS)
		return array_at(&store->args, event->detail);
	const struct xp_event_detail *detail = event->type == XP_EV_SYSCALL_ENTRY ? xp_store_detail(store, event) : NULL;
	return detail && !detail->arguments ? detail->args : NULL;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

struct site_query {
	const struct xp_store *store;
	const struct xp_site *site;
};

static bool site_equal(uint64_t value, const void *arg)
{
	const struct site_query *query = arg;
	const struct xp_site *a = array_at(&query->store->sites, value), *b = query->site;

	return a->probe_kind == b->probe_kind && a->offset.set == b->offset.set && a->offset.v == b->offset.v &&
	       same_text(a->binary_path, b->binary_path) && same_text(a->build_id, b->build_id) && same_text(a->symbol, b->symbol) &&
	       same_text(a->symbol_demangled, b->symbol_demangled) && same_text(a->category, b->category) &&
	       same_text(a->provider, b->provider);
}

static uint64_t text_hash(const char *text, uint64_t seed)
{
	return text ? xp_hash_bytes(text, strlen(text), seed) : xp_hash_mix(seed);
}

uint32_t xp_store_site(struct xp_store *store, const struct xp_site *site)
{
	uint64_t key = text_hash(site->binary_path, (uint64_t)site->probe_kind ^ site->offset.v << 8);
	struct site_query query = { store, site };
	bool is_new;

	key = text_hash(site->symbol, text_hash(site->category, key));
	uint64_t *index = xp_map_at(&store->site_index, key, site_equal, &query, &is_new);
	if (is_new) {
		struct xp_site *slot = array_push(&store->sites);

		*index = store->sites.n - 1;
		*slot = *site;
		slot->binary_path = xp_arena_str(store->arena, site->binary_path);
		slot->build_id = xp_arena_str(store->arena, site->build_id);
		slot->symbol = xp_arena_str(store->arena, site->symbol);
		slot->symbol_demangled = xp_arena_str(store->arena, site->symbol_demangled);
		slot->category = xp_arena_str(store->arena, site->category);
		slot->provider = xp_arena_str(store->arena, site->provider);
	}
	return (uint32_t)*index;
}

const struct xp_site *xp_store_site_at(const struct xp_store *store, uint32_t index)
{
	return index < store->sites.n ? array_at(&store->sites, index) : NULL;
}

struct text_query {
	const struct xp_store *store;
	const char *text;
	size_t len;
};

static bool text_equal(uint64_t value, const void *arg)
{
	const struct text_query *query = arg;
	const char *known = xp_store_text(query->store, (uint32_t)value);

	return strlen(known) == query->len && !memcmp(known, query->text, query->len);
}

uint32_t xp_store_intern(struct xp_store *store, const char *text, size_t len)
{
	struct text_query query = { store, text, len };
	bool is_new;

	if (!text)
		return 0;
	query.len = len = strnlen(text, len);
	uint64_t *index = xp_map_at(&store->text_index, xp_hash_bytes(text, len, 0), text_equal, &query, &is_new);
	if (is_new) {
		*index = store->texts.n;
		*(char **)array_push(&store->texts) = xp_arena_dup(store->arena, text, len);
	}
	return (uint32_t)*index;
}

const char *xp_store_text(const struct xp_store *store, uint32_t index)
{
	return index < store->texts.n ? *(char *const *)array_at(&store->texts, index) : NULL;
}

uint16_t xp_store_process(struct xp_store *store, uint32_t pid, struct xp_opt_u64 start_time)
{
	for (size_t i = 0; i < store->processes.n; i++) {
		const struct process_note *known = array_at(&store->processes, i);

		if (known->pid == pid && known->start_time.set == start_time.set && known->start_time.v == start_time.v)
			return (uint16_t)i;
	}
	struct process_note *note = array_push(&store->processes);
	note->pid = pid;
	note->start_time = start_time;
	return (uint16_t)(store->processes.n - 1);
}

struct xp_opt_u64 xp_store_start_time(const struct xp_store *store, uint16_t process)
{
	const struct process_note *note = process < store->processes.n ? array_at(&store->processes, process) : NULL;

	return note ? note->start_time : (struct xp_opt_u64){ 0 };
}

void xp_store_thread(struct xp_store *store, uint32_t tid, const char *name, uint32_t ns_tid, uint32_t ns_pid)
{
	bool is_new;
	uint64_t *index = xp_map_at(&store->thread_index, tid, NULL, NULL, &is_new);

	if (is_new) {
		*index = store->threads.n;
		array_push(&store->threads);
	}
	struct thread_note *note = array_at(&store->threads, *index);
	note->tid = tid;
	note->ns_tid = ns_tid;
	note->ns_pid = ns_pid;
	strncpy(note->name, name, sizeof(note->name) - 1);
}

bool xp_store_thread_at(const struct xp_store *store, uint32_t tid, const char **ret_name, uint32_t *ret_ns_tid, uint32_t *ret_ns_pid)
{
	const uint64_t *index = xp_map_find(&store->thread_index, tid, NULL, NULL);

	if (!index)
		return false;
	const struct thread_note *note = array_at(&store->threads, *index);
	*ret_name = note->name;
	*ret_ns_tid = note->ns_tid;
	*ret_ns_pid = note->ns_pid;
	return true;
}

uint64_t xp_store_count(const struct xp_store *store)
{
	return store->events.n;
}

uint64_t xp_store_capacity(const struct xp_store *store)
{
	return store->capacity;
}

struct xp_event *xp_store_events(struct xp_store *store)
{
	return store->events.at;
}

struct xp_arena *xp_store_arena(struct xp_store *store)
{
	return store->arena;
}

static int by_time(const void *left, const void *right)
{
	const struct xp_event *a = left, *b = right;

	if (a->t_ns != b->t_ns)
		return a->t_ns < b->t_ns ? -1 : 1;
	return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

/* Captures arrive almost sorted; a sorted array costs one pass. glibc's qsort is a merge sort below its memory limit, but not above: */
/* equal (t_ns, sequence) pairs are made distinct first, so that stability does not depend on it. */
void xp_store_sort(struct xp_store *store)
{
	struct xp_event *events = store->events.at;
	size_t n = store->events.n;
	bool sorted = true, distinct = true;

	for (size_t i = 1; i < n && sorted; i++) {
		int order = by_time(&events[i - 1], &events[i]);

		sorted = order <= 0;
		distinct = distinct && order != 0;
	}
	if (!sorted) {
		for (size_t i = 0; i < n; i++)
			if (i && events[i].sequence <= events[i - 1].sequence)
				distinct = false;
		if (!distinct)
			for (size_t i = 0; i < n; i++)
				events[i].sequence = i;
		qsort(events, n, sizeof(*events), by_time);
	}
	for (size_t i = 0; i < n; i++)
		events[i].sequence = i;
}
