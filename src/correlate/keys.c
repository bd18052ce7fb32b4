/* SPDX-License-Identifier: Apache-2.0 */
/* Open-addressing set of keys with dense numbers. In: keys. Out: numbers. State: the set. */
#include "correlate/keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { FIRST_BUCKETS = 1024 };

/* Ids are often handed out one by one: eight that follow each other share a cache line of buckets. */
static uint32_t hash(const struct xp_key *key)
{
	uint64_t block = xp_hash_mix(key->part[0] ^ xp_hash_mix(key->part[1] >> 3 ^ xp_hash_mix(key->part[2] >> 3)));

	return (uint32_t)block << 3 | ((key->part[1] ^ key->part[2]) & 7);
}

/* The bucket that holds the key, or the free one where it belongs. */
static uint32_t *bucket_of(const struct xp_keys *keys, const struct xp_key *key)
{
	for (uint32_t i = hash(key) & keys->mask;; i = (i + 1) & keys->mask) {
		uint32_t number = keys->bucket[i];

		if (!number || !memcmp(&keys->at[number - 1], key, sizeof(*key)))
			return &keys->bucket[i];
	}
}

/* Buckets stay at most three quarters full. */
static bool grow_buckets(struct xp_keys *keys)
{
	size_t n = keys->bucket ? ((size_t)keys->mask + 1) * 2 : FIRST_BUCKETS;

	free(keys->bucket);
	keys->bucket = calloc(n, sizeof(*keys->bucket));
	if (!keys->bucket)
		return false;
	keys->mask = (uint32_t)(n - 1);
	for (uint32_t i = 0; i < keys->n; i++)
		*bucket_of(keys, &keys->at[i]) = i + 1;
	return true;
}

static bool grow_keys(struct xp_keys *keys)
{
	uint32_t cap = keys->cap ? keys->cap + keys->cap / 2 : FIRST_BUCKETS;
	struct xp_key *at = realloc(keys->at, (size_t)cap * sizeof(*at));

	if (!at)
		return false;
	keys->at = at;
	keys->cap = cap;
	return true;
}

uint32_t xp_keys_add(struct xp_keys *keys, const struct xp_key *key)
{
	if (!keys->bucket || keys->n >= (keys->mask + (size_t)1) / 4 * 3)
		if (!grow_buckets(keys))
			return XP_KEY_ABSENT;
	uint32_t *bucket = bucket_of(keys, key);

	if (!*bucket) {
		if (keys->n == keys->cap && !grow_keys(keys))
			return XP_KEY_ABSENT;
		keys->at[keys->n++] = *key;
		*bucket = keys->n;
	}
	return *bucket - 1;
}

uint32_t xp_keys_find(const struct xp_keys *keys, const struct xp_key *key)
{
	uint32_t number = keys->bucket ? *bucket_of(keys, key) : 0;

	return number ? number - 1 : XP_KEY_ABSENT;
}

void xp_keys_done(struct xp_keys *keys)
{
	free(keys->at);
	free(keys->bucket);
	memset(keys, 0, sizeof(*keys));
}
