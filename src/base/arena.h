/* SPDX-License-Identifier: Apache-2.0 */
/* One arena a command: results, names and tables live until it is freed, so plain values may point anywhere into it. */
#ifndef XP_BASE_ARENA_H
#define XP_BASE_ARENA_H

#include <stddef.h>

#include "base/cleanup.h"

struct xp_arena;

struct xp_arena *xp_arena_new(void);
/* Accepts NULL. Runs the deferred functions in reverse order first. */
void xp_arena_free(struct xp_arena *arena);
XP_DEFINE_AUTO(struct xp_arena *, xp_arena_free);

/* Runs the deferred functions and makes every block invalid, but keeps the newest chunk: for work that repeats, such as one event a line.
 */
void xp_arena_reset(struct xp_arena *arena);

/* Zeroed, aligned for any type, owned by the arena. Never NULL: out of memory ends the program through abort(), as an assertion would. */
void *xp_arena_zalloc(struct xp_arena *arena, size_t bytes);
#define xp_arena_new_of(arena, type) ((type *)xp_arena_zalloc((arena), sizeof(type)))
#define xp_arena_array(arena, type, n) ((type *)xp_arena_zalloc((arena), sizeof(type) * (size_t)(n)))

char *xp_arena_dup(struct xp_arena *arena, const char *text, size_t len);
/* NULL gives NULL. */
char *xp_arena_str(struct xp_arena *arena, const char *text);
char *xp_arena_fmt(struct xp_arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Calls fn(object) when the arena is freed: for json_t references, descriptors and the like. */
void xp_arena_defer(struct xp_arena *arena, void (*fn)(void *), void *object);

#endif
