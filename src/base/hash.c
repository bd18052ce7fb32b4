/* SPDX-License-Identifier: Apache-2.0 */
/* Linear probing at most half full. State: the slots. */
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* Finaliser of the splitmix64 generator: every input bit reaches every output bit. */
uint64_t xp_hash_mix(uint64_t key)
{
	key += 0x9e3779b97f4a7c15ull;
	key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9ull;
	key = (key ^ (key >> 27)) * 0x94d049bb133111ebull;
	return key ^ (key >> 31);
}

uint64_t xp_hash_bytes(const void *bytes, size_t len, uint64_t seed)
{
	const unsigned char *p = bytes;
	uint64_t hash = xp_hash_mix(seed ^ len), word;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&word, p, 8);
		hash = xp_hash_mix(hash ^ word);
	}
	word = 0;
	memcpy(&word, p, len);
	return xp_hash_mix(hash ^ word);
}

static struct xp_map_slot *probe(struct xp_map_slot *slots, size_t cap, uint64_t key, bool (*equal)(uint64_t, const void *),
				 const void *arg)
{
	for (size_t i = xp_hash_mix(key) & (cap - 1);; i = (i + 1) & (cap - 1))
		if (!slots[i].used || (slots[i].key == key && (!equal || equal(slots[i].value, arg))))
			return &slots[i];
}

static void grow(struct xp_map *map)
{
	size_t cap = map->cap ? map->cap * 2 : 64;
	struct xp_map_slot *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		abort();
	for (size_t i = 0; i < map->cap; i++) {
		if (!map->slots[i].used)
			continue;
		size_t to = xp_hash_mix(map->slots[i].key) & (cap - 1);
		while (slots[to].used)
			to = (to + 1) & (cap - 1);
		slots[to] = map->slots[i];
	}
	free(map->slots);
	map->slots = slots;
	map->cap = cap;
}

uint64_t *xp_map_at(struct xp_map *map, uint64_t key, bool (*equal)(uint64_t, const void *), const void *arg, bool *ret_new)
{
	if ((map->n + 1) * 2 > map->cap)
		grow(map);
	struct xp_map_slot *slot = probe(map->slots, map->cap, key, equal, arg);
	if (ret_new)
		*ret_new = !slot->used;
	if (!slot->used) {
		*slot = (struct xp_map_slot){ .key = key, .used = true };
		map->n++;
	}
	return &slot->value;
}

uint64_t *xp_map_find(const struct xp_map *map, uint64_t key, bool (*equal)(uint64_t, const void *), const void *arg)
{
	if (!map->cap)
		return NULL;
	struct xp_map_slot *slot = probe(map->slots, map->cap, key, equal, arg);
	return slot->used ? &slot->value : NULL;
}

void xp_map_clear(struct xp_map *map)
{
	if (map->cap)
		memset(map->slots, 0, map->cap * sizeof(*map->slots));
	map->n = 0;
}

void xp_map_done(struct xp_map *map)
{
	free(map->slots);
	memset(map, 0, sizeof(*map));
}
