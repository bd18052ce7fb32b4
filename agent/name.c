/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, each once: the text goes into the shared name table, what the filters say of it stays here. CUPTI's pointers are only a hint,
 * since a reloaded module may put another name at the same address. State: xp_agent.names, of the agent's thread.
 */
#include "agent/work.h"

#include <string.h>

static char *region(void)
{
	return (char *)xp_agent.memory + XP_AGENT_NAMES_OFFSET;
}

int xp_agent_names_new(void)
{
	struct names *names = &xp_agent.names;

	if (!names->at) {
		names->at = xp_agent_map(AGENT_NAMES * sizeof(*names->at));
		names->buckets = xp_agent_map(AGENT_NAMES * sizeof(*names->buckets));
		names->cache = xp_agent_map(AGENT_NAME_CACHE * sizeof(*names->cache));
	}
	if (!names->at || !names->buckets || !names->cache)
		return xp_agent_say(XP_AGENT_NO_MEMORY, "mmap", 0, "name table");
	memset(names->buckets, 0, AGENT_NAMES * sizeof(*names->buckets));
	memset(names->cache, 0, AGENT_NAME_CACHE * sizeof(*names->cache));
	names->n = 0;
	names->used = 0;
	xp_agent.control->names_bytes = 0;
	xp_agent.control->names_count = 0;
	return XP_AGENT_OK;
}

bool xp_agent_accepts(const struct xp_agent_filter *filter, const char *text, size_t len)
{
	size_t n = strnlen(filter->name, sizeof(filter->name));

	switch (filter->match) {
	case XP_AGENT_MATCH_EXACT:
		return len == n && !memcmp(text, filter->name, n);
	case XP_AGENT_MATCH_PREFIX:
		return len >= n && !memcmp(text, filter->name, n);
	case XP_AGENT_MATCH_SUFFIX:
		return len >= n && !memcmp(text + len - n, filter->name, n);
	case XP_AGENT_MATCH_CONTAINS:
		return memmem(text, len, filter->name, n) != NULL;
	default:
		return true;
	}
}

static uint32_t filters_of(const char *text, size_t len)
{
	const struct xp_agent_request *request = &xp_agent.request;
	uint32_t bits = 0;

	for (unsigned i = 0; i < request->n_filters; i++)
		bits |= (uint32_t)xp_agent_accepts(&request->filters[i], text, len) << i;
	return bits;
}

static uint32_t hash(const char *text, size_t len)
{
	uint64_t h = len;

	for (; len >= 8; text += 8, len -= 8) {
		uint64_t word;

		memcpy(&word, text, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	for (; len; text++, len--)
		h = (h ^ (uint8_t)*text) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(h >> 40) & (AGENT_NAMES - 1);
}

static bool same(const struct name *name, const char *text, size_t len)
{
	return name->length == len && !memcmp(region() + name->at, text, len);
}

/* Index + 1 of a new name; 0: no room. */
static uint32_t add(const char *text, size_t len, uint32_t bucket)
{
	struct xp_agent_control *control = xp_agent.control;
	struct names *names = &xp_agent.names;
	uint64_t used = names->used, padded = (len + 7) & ~7ull;
	struct xp_capture_name *head = (struct xp_capture_name *)(region() + used);
	struct name *name = &names->at[names->n];

	if (names->n == AGENT_NAMES || used + sizeof(*head) + padded > XP_AGENT_NAMES_END - XP_AGENT_NAMES_OFFSET)
		return 0;
	*head = (struct xp_capture_name){ .id = names->n + 1, .length = (uint32_t)len };
	memset((char *)(head + 1) + padded - 8 * (padded > 0), 0, 8 * (padded > 0));
	memcpy(head + 1, text, len);
	*name = (struct name){
		.at = (uint32_t)(used + sizeof(*head)),
		.length = (uint32_t)len,
		.next = names->buckets[bucket],
	};
	names->buckets[bucket] = ++names->n;
	/* The tool reads what lies below names_bytes. */
	names->used = used + sizeof(*head) + padded;
	control->names_count = names->n;
	__atomic_store_n(&control->names_bytes, names->used, __ATOMIC_RELEASE);
	return names->n;
}

static uint32_t find(const char *text, size_t len, uint32_t bucket)
{
	for (uint32_t i = xp_agent.names.buckets[bucket]; i; i = xp_agent.names.at[i - 1].next)
		if (same(&xp_agent.names.at[i - 1], text, len))
			return i;
	return 0;
}

uint32_t xp_agent_name(const char *text, uint32_t *ret_filters, bool *ret_complete)
{
	size_t whole = strlen(text), len = whole < XP_AGENT_NAME_MAX ? whole : XP_AGENT_NAME_MAX;
	struct name_cache *cache = &xp_agent.names.cache[((uintptr_t)text >> 4) % AGENT_NAME_CACHE];
	uint32_t id = cache->text == text ? cache->name : 0;

	if (!id || !same(&xp_agent.names.at[id - 1], text, len)) {
		uint32_t bucket = hash(text, len);

		id = find(text, len, bucket);
		if (!id) {
			id = add(text, len, bucket);
			if (id)
				xp_agent.names.at[id - 1].filters = filters_of(text, whole);
		}
		*cache = (struct name_cache){ .text = text, .name = id };
	}
	*ret_complete = id && len < XP_AGENT_NAME_MAX;
	*ret_filters = id && whole == len ? xp_agent.names.at[id - 1].filters : filters_of(text, whole);
	if (!id)
		xp_agent.control->counters.names_dropped++;
	return id;
}
