/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for keys: each distinct key gets the next number from 0. */
#ifndef XP_CORRELATE_KEYS_H
#define XP_CORRELATE_KEYS_H

#include "correlate/match.h"

#define XP_KEY_ABSENT UINT32_MAX

/* Zero-initialised is empty. */
struct xp_keys {
	struct xp_key *at;
	uint32_t n, cap;
	uint32_t *bucket; /* number + 1; 0 = free */
	uint32_t mask;
};

/* Number of the key, which is added when it is new. XP_KEY_ABSENT: out of memory. */
uint32_t xp_keys_add(struct xp_keys *keys, const struct xp_key *key);
/* XP_KEY_ABSENT when it was never added. */
uint32_t xp_keys_find(const struct xp_keys *keys, const struct xp_key *key);
void xp_keys_done(struct xp_keys *keys);

#endif
