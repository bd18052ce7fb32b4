/* SPDX-License-Identifier: Apache-2.0 */
/* Bump allocation in growing chunks with a list of deferred releases. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct chunk {
	struct chunk *next;
	size_t used, size;
	_Alignas(16) unsigned char data[];
};

struct deferred {
	struct deferred *next;
	void (*fn)(void *);
	void *object;
};

struct xp_arena {
	struct chunk *chunks;
	struct deferred *deferred;
};

enum { FIRST_CHUNK = 16 * 1024, LARGEST_CHUNK = 1024 * 1024 };

static void *must(void *block)
{
	if (!block)
		abort();
	return block;
}

struct xp_arena *xp_arena_new(void)
{
	return must(calloc(1, sizeof(struct xp_arena)));
}

static void release(struct deferred *deferred, struct chunk *chunks)
{
	for (struct deferred *d = deferred; d; d = d->next)
		d->fn(d->object);
	for (struct chunk *c = chunks, *next; c; c = next) {
		next = c->next;
		free(c);
	}
}

void xp_arena_free(struct xp_arena *arena)
{
	if (!arena)
		return;
	release(arena->deferred, arena->chunks);
	free(arena);
}

void xp_arena_reset(struct xp_arena *arena)
{
	struct chunk *kept = arena->chunks;
	struct deferred *deferred = arena->deferred;

	/* The list of deferred releases lies in the chunks: run it before any of them goes. */
	arena->deferred = NULL;
	release(deferred, NULL);
	if (!kept)
		return;
	release(NULL, kept->next);
	kept->next = NULL;
	kept->used = 0;
}

static struct chunk *grow(struct xp_arena *arena, size_t bytes)
{
	size_t size = arena->chunks ? arena->chunks->size * 2 : FIRST_CHUNK;

	if (size > LARGEST_CHUNK)
		size = LARGEST_CHUNK;
	if (size < bytes)
		size = bytes;
	struct chunk *c = must(malloc(sizeof(*c) + size));
	c->used = 0;
	c->size = size;
	c->next = arena->chunks;
	arena->chunks = c;
	return c;
}

void *xp_arena_zalloc(struct xp_arena *arena, size_t bytes)
{
	if (bytes > SIZE_MAX / 2)
		abort();
	bytes = (bytes + 15) & ~(size_t)15;

	struct chunk *c = arena->chunks;
	if (!c || c->size - c->used < bytes)
		c = grow(arena, bytes);
	void *block = c->data + c->used;
	c->used += bytes;
	return memset(block, 0, bytes);
}

char *xp_arena_dup(struct xp_arena *arena, const char *text, size_t len)
{
	char *copy = xp_arena_zalloc(arena, len + 1);

	memcpy(copy, text, len);
	return copy;
}

char *xp_arena_str(struct xp_arena *arena, const char *text)
{
	return text ? xp_arena_dup(arena, text, strlen(text)) : NULL;
}

char *xp_arena_fmt(struct xp_arena *arena, const char *fmt, ...)
{
	va_list ap, measure;

	va_start(ap, fmt);
	va_copy(measure, ap);
	int len = vsnprintf(NULL, 0, fmt, measure);
	va_end(measure);
	if (len < 0)
		abort();
	char *text = xp_arena_zalloc(arena, (size_t)len + 1);
	vsnprintf(text, (size_t)len + 1, fmt, ap);
	va_end(ap);
	return text;
}

void xp_arena_defer(struct xp_arena *arena, void (*fn)(void *), void *object)
{
	struct deferred *d = xp_arena_zalloc(arena, sizeof(*d));

	d->fn = fn;
	d->object = object;
	d->next = arena->deferred;
	arena->deferred = d;
}
