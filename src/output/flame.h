/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks merged into one bounded tree, callers above callees: what a flame graph shows. */
#ifndef XP_OUTPUT_FLAME_H
#define XP_OUTPUT_FLAME_H

#include "inventory/stack.h"

struct xp_cpu_samples;
struct xp_off_cpu_value;

/* Kinds of boxes: enum xp_frame_kind, and the two that no frame is. */
enum { XP_FLAME_THREADS = XP_FRAME_KIND_COUNT, XP_FLAME_WAIT, XP_FLAME_KIND_COUNT };
extern const char *const xp_flame_kind_names[XP_FLAME_KIND_COUNT];

struct xp_flame_stack {
	const char *threads;		      /* name pattern: the outermost box */
	const struct xp_frame *const *frames; /* leaf first */
	size_t n_frames;
	const char *wait; /* what the innermost frame waits in; NULL: it runs */
	uint64_t value;
};

struct xp_flame_name {
	const char *text, *file; /* file NULL: none */
	int kind;
};

struct xp_flame_node {
	uint32_t name, depth; /* depth 0: threads */
	uint64_t value;	      /* of all stacks through it */
};

/* Nodes lie in the order callers, callees, heavier branches first; names are those of the nodes, in the order of their first use. */
struct xp_flame {
	const struct xp_flame_name *names;
	size_t n_names;
	const struct xp_flame_node *nodes;
	size_t n_nodes;
	uint64_t total;
	size_t left_out; /* nodes of thin branches beyond max_nodes; their time is their callers' own */
};

/* At most max_nodes (at least 1). Texts are valid UTF-8 of at most 256 bytes; everything lives in the arena. */
struct xp_flame *xp_flame_build(const struct xp_flame_stack *stacks, size_t n, size_t max_nodes, struct xp_arena *arena);
/* Values are samples. */
struct xp_flame *xp_flame_of_samples(const struct xp_cpu_samples *value, size_t max_nodes, struct xp_arena *arena);
/* Values are us; the innermost box is the call, or the reason of the wait. */
struct xp_flame *xp_flame_of_waits(const struct xp_off_cpu_value *value, size_t max_nodes, struct xp_arena *arena);

#endif
