/* SPDX-License-Identifier: Apache-2.0 */
/* Open-addressing map from a 64-bit key to a 64-bit value. Keys that hash text pass collisions back to the caller through `equal`. */
#ifndef XP_BASE_HASH_H
#define XP_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xp_map_slot {
	uint64_t key, value;
	bool used;
};

/* Zero-initialised is empty. */
struct xp_map {
	struct xp_map_slot *slots;
	size_t n, cap;
};

/*
 * Slot of `key`, inserted with value 0 when it was not there (*ret_new tells). `equal` (may be NULL: keys are the identity) decides
 * whether a slot of the same key is really the same thing. Valid until the next insertion.
 */
uint64_t *xp_map_at(struct xp_map *map, uint64_t key, bool (*equal)(uint64_t value, const void *arg), const void *arg, bool *ret_new);
/* NULL when absent. */
uint64_t *xp_map_find(const struct xp_map *map, uint64_t key, bool (*equal)(uint64_t value, const void *arg), const void *arg);
void xp_map_clear(struct xp_map *map); /* keeps the memory */
void xp_map_done(struct xp_map *map);

uint64_t xp_hash_mix(uint64_t key);
uint64_t xp_hash_bytes(const void *bytes, size_t len, uint64_t seed);

#endif
