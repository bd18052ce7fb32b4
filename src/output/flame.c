/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks -> one tree, cut to its heaviest nodes. In: stacks. Out: struct xp_flame. No state. */
#include "output/flame.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "inventory/cpu_samples.h"
#include "inventory/stack_text.h"

enum { NAME_BYTES = 256 };

const char *const xp_flame_kind_names[XP_FLAME_KIND_COUNT] = {
	[XP_FRAME_NATIVE] = "native",	[XP_FRAME_PYTHON] = "python",	[XP_FRAME_KERNEL] = "kernel", [XP_FRAME_JIT] = "jit",
	[XP_FRAME_UNKNOWN] = "unknown", [XP_FLAME_THREADS] = "threads", [XP_FLAME_WAIT] = "wait",
};

struct branch {
	uint32_t name;
	uint32_t child, sibling; /* 0: none; node 0 is the root */
	uint64_t value;
};

struct tree {
	struct xp_arena *work;
	struct xp_map by_frame, by_name, by_place;
	struct xp_flame_name *names;
	size_t n_names;
	struct branch *nodes;
	size_t n_nodes;
};

struct wanted {
	const struct tree *tree;
	const char *text;
	int kind;
};

static bool same_name(uint64_t value, const void *arg)
{
	const struct wanted *wanted = arg;
	const struct xp_flame_name *name = &wanted->tree->names[value];

	return name->kind == wanted->kind && !strcmp(name->text, wanted->text);
}

static uint32_t name_of(struct tree *tree, const char *text, const char *file, int kind)
{
	const struct wanted wanted = { tree, text, kind };
	bool new;
	uint64_t *at = xp_map_at(&tree->by_name, xp_hash_bytes(text, strlen(text), (uint64_t)kind), same_name, &wanted, &new);

	if (new) {
		tree->names[tree->n_names] = (struct xp_flame_name){ xp_arena_str(tree->work, text), file, kind };
		*at = tree->n_names++;
	}
	return (uint32_t)*at;
}

/* Frames are shared between stacks: each is put into words once. */
static uint32_t frame_name(struct tree *tree, const struct xp_frame *frame)
{
	uint64_t *known = xp_map_find(&tree->by_frame, (uintptr_t)frame, NULL, NULL);
	xp_auto_builder text = { 0 };
	bool new;

	if (known)
		return (uint32_t)*known;
	xp_frame_text(frame, &text);
	uint32_t name = name_of(tree, xp_utf8_cut(tree->work, text.data ? text.data : "", NAME_BYTES, NULL),
				frame->source_path ? frame->source_path : frame->module_path, frame->kind);
	*xp_map_at(&tree->by_frame, (uintptr_t)frame, NULL, NULL, &new) = name;
	return name;
}

static uint32_t step(struct tree *tree, uint32_t parent, uint32_t name, uint64_t value)
{
	bool new;
	uint64_t *at = xp_map_at(&tree->by_place, (uint64_t)parent << 32 | name, NULL, NULL, &new);

	if (new) {
		*at = tree->n_nodes++;
		tree->nodes[*at] = (struct branch){ .name = name, .sibling = tree->nodes[parent].child };
		tree->nodes[parent].child = (uint32_t)*at;
	}
	tree->nodes[*at].value += value;
	return (uint32_t)*at;
}

static void add(struct tree *tree, const struct xp_flame_stack *stack)
{
	uint32_t at = step(tree, 0, name_of(tree, xp_utf8_cut(tree->work, stack->threads, NAME_BYTES, NULL), NULL, XP_FLAME_THREADS),
			   stack->value);

	tree->nodes[0].value += stack->value;
	for (size_t i = stack->n_frames; i > 0; i--)
		at = step(tree, at, frame_name(tree, stack->frames[i - 1]), stack->value);
	if (stack->wait)
		step(tree, at, name_of(tree, stack->wait, NULL, XP_FLAME_WAIT), stack->value);
}

static int falling(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* The smallest value that a node may have: no callee outweighs its caller, so that what stays is a tree. */
static uint64_t threshold(const struct tree *tree, size_t max_nodes)
{
	uint64_t *values = xp_arena_array(tree->work, uint64_t, tree->n_nodes);

	if (tree->n_nodes - 1 <= max_nodes)
		return 1;
	for (size_t i = 1; i < tree->n_nodes; i++)
		values[i - 1] = tree->nodes[i].value;
	qsort(values, tree->n_nodes - 1, sizeof(*values), falling);
	return values[max_nodes] + 1;
}

struct child {
	uint32_t node;
	uint64_t value;
	const char *text;
};

static int heavier_first(const void *a, const void *b)
{
	const struct child *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return strcmp(x->text, y->text);
}

struct writing {
	const struct tree *tree;
	struct xp_arena *arena;
	uint64_t least;
	uint32_t *numbers; /* name of the tree -> name of the flame + 1 */
	struct xp_flame_name *names;
	struct xp_flame_node *nodes;
	struct xp_flame *flame;
};

static uint32_t final_name(struct writing *w, uint32_t name)
{
	const struct xp_flame_name *from = &w->tree->names[name];

	if (!w->numbers[name]) {
		w->names[w->flame->n_names] = (struct xp_flame_name){
			.text = xp_arena_str(w->arena, from->text),
			.file = from->file ? xp_utf8_cut(w->arena, from->file, NAME_BYTES, NULL) : NULL,
			.kind = from->kind,
		};
		w->numbers[name] = (uint32_t)++w->flame->n_names;
	}
	return w->numbers[name] - 1;
}

/* Depth is bounded by the longest stack: 512 frames. */
static void put_children(struct writing *w, uint32_t parent, uint32_t depth)
{
	const struct branch *nodes = w->tree->nodes;
	size_t n = 0;

	for (uint32_t i = nodes[parent].child; i; i = nodes[i].sibling)
		n += nodes[i].value >= w->least;
	if (!n)
		return;
	struct child *children = xp_arena_array(w->tree->work, struct child, n);
	n = 0;
	for (uint32_t i = nodes[parent].child; i; i = nodes[i].sibling)
		if (nodes[i].value >= w->least)
			children[n++] = (struct child){ i, nodes[i].value, w->tree->names[nodes[i].name].text };
	qsort(children, n, sizeof(*children), heavier_first);
	for (size_t i = 0; i < n; i++) {
		w->nodes[w->flame->n_nodes++] = (struct xp_flame_node){ .name = final_name(w, nodes[children[i].node].name),
									.depth = depth,
									.value = children[i].value };
		put_children(w, children[i].node, depth + 1);
	}
}

static struct xp_flame *finish(struct tree *tree, size_t max_nodes, struct xp_arena *arena)
{
	struct xp_flame *flame = xp_arena_new_of(arena, struct xp_flame);
	size_t kept = tree->n_nodes - 1 < max_nodes ? tree->n_nodes - 1 : max_nodes;
	struct writing w = {
		.tree = tree,
		.arena = arena,
		.least = threshold(tree, max_nodes),
		.numbers = xp_arena_array(tree->work, uint32_t, tree->n_names + 1),
		.names = xp_arena_array(arena, struct xp_flame_name, kept + 1),
		.nodes = xp_arena_array(arena, struct xp_flame_node, kept + 1),
		.flame = flame,
	};

	flame->total = tree->nodes[0].value;
	put_children(&w, 0, 0);
	flame->names = w.names;
	flame->nodes = w.nodes;
	flame->left_out = tree->n_nodes - 1 - flame->n_nodes;
	return flame;
}

struct xp_flame *xp_flame_build(const struct xp_flame_stack *stacks, size_t n, size_t max_nodes, struct xp_arena *arena)
{
	xp_auto(xp_arena_free) struct xp_arena *work = xp_arena_new();
	struct tree tree = { .work = work, .n_nodes = 1 };
	size_t most = 1;

	for (size_t i = 0; i < n; i++)
		most += stacks[i].n_frames + 2;
	tree.nodes = xp_arena_array(work, struct branch, most);
	tree.names = xp_arena_array(work, struct xp_flame_name, most);
	for (size_t i = 0; i < n; i++)
		if (stacks[i].value)
			add(&tree, &stacks[i]);
	struct xp_flame *flame = finish(&tree, max_nodes, arena);
	xp_map_done(&tree.by_frame);
	xp_map_done(&tree.by_name);
	xp_map_done(&tree.by_place);
	return flame;
}

struct xp_flame *xp_flame_of_samples(const struct xp_cpu_samples *value, size_t max_nodes, struct xp_arena *arena)
{
	const struct xp_cpu_inventory *inventory = &value->inventory;
	xp_auto(xp_arena_free) struct xp_arena *work = xp_arena_new();
	struct xp_flame_stack *stacks = xp_arena_array(work, struct xp_flame_stack, inventory->n_stack_groups + 1);

	for (size_t i = 0; i < inventory->n_stack_groups; i++) {
		const struct xp_stack_group *group = &inventory->stack_groups[i];

		stacks[i] = (struct xp_flame_stack){
			.threads = group->thread_name_pattern, .frames = group->frames, .n_frames = group->n_frames, .value = group->samples
		};
	}
	return xp_flame_build(stacks, inventory->n_stack_groups, max_nodes, arena);
}

struct xp_flame *xp_flame_of_waits(const struct xp_off_cpu_value *value, size_t max_nodes, struct xp_arena *arena)
{
	xp_auto(xp_arena_free) struct xp_arena *work = xp_arena_new();
	struct xp_flame_stack *stacks = xp_arena_array(work, struct xp_flame_stack, value->n_groups + 1);

	for (size_t i = 0; i < value->n_groups; i++) {
		const struct xp_off_cpu_group *group = &value->groups[i];

		stacks[i] = (struct xp_flame_stack){
			.threads = group->thread_name_pattern,
			.frames = group->frames,
			.n_frames = group->n_frames,
			.wait = group->syscall_name ? group->syscall_name : xp_block_reason_names[group->reason],
			.value = group->total_ns / 1000,
		};
	}
	return xp_flame_build(stacks, value->n_groups, max_nodes, arena);
}
