/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of stacks. In: stack groups. Out: text. No state. */
#include "output/stack_tree.h"

#include <stdlib.h>

#include "inventory/stack_text.h"
#include "output/human.h"

enum { SHARE_COLUMNS = 7, STEP = 2, MAX_INDENT = 40 };

struct node {
	const struct xp_frame *frame; /* NULL: the root */
	uint64_t samples;
	struct node *child, *next; /* children: a list, most samples first once sorted */
};

struct tree {
	struct xp_arena *arena;
	uint64_t total, least;
	unsigned lines;
	struct xp_text *out;
};

static struct node *child_of(struct tree *tree, struct node *parent, const struct xp_frame *frame)
{
	struct node *child = parent->child;

	while (child && child->frame != frame)
		child = child->next;
	if (child)
		return child;
	child = xp_arena_new_of(tree->arena, struct node);
	child->frame = frame;
	child->next = parent->child;
	parent->child = child;
	return child;
}

static void add(struct tree *tree, struct node *root, const struct xp_stack_group *group)
{
	struct node *node = root;

	root->samples += group->samples;
	for (size_t i = group->n_frames; i > 0; i--) {
		node = child_of(tree, node, group->frames[i - 1]);
		node->samples += group->samples;
	}
}

/* The child with most samples that is worth a line, taken out of the list. */
static struct node *take_largest(struct tree *tree, struct node *parent)
{
	struct node **best = NULL;

	for (struct node **at = &parent->child; *at; at = &(*at)->next)
		if ((*at)->samples >= tree->least && (!best || (*at)->samples > (*best)->samples))
			best = at;
	if (!best)
		return NULL;
	struct node *found = *best;
	*best = found->next;
	return found;
}

/* Puts the frame, and behind it the chain of only callees with the same samples; returns the last of them. */
static struct node *put_chain(struct tree *tree, struct node *node, size_t indent)
{
	size_t left = indent + SHARE_COLUMNS, column = left;

	for (bool first = true;; first = false, node = node->child) {
		xp_auto_builder text = { .limit = 400 };

		xp_frame_text(node->frame, &text);
		size_t room = XP_REPORT_COLUMNS - column;
		if (!first && text.len + 3 > room) {
			xp_text_fmt(tree->out, "\n%*s", (int)left, "");
			tree->lines--;
			column = left;
		}
		if (!first) {
			xp_text_str(tree->out, "> ");
			column += 2;
		}
		column += xp_human_text(tree->out, text.data ? text.data : "?", XP_REPORT_COLUMNS - column - 1);
		if (!node->child || node->child->next || node->child->samples != node->samples || !tree->lines)
			return node;
		xp_text_char(tree->out, ' ');
		column++;
	}
}

static void put(struct tree *tree, struct node *parent, size_t indent)
{
	for (struct node *node; tree->lines && (node = take_largest(tree, parent));) {
		tree->lines--;
		xp_text_fmt(tree->out, "%5.1f%% %*s", (double)node->samples / (double)tree->total * 100, (int)indent, "");
		node = put_chain(tree, node, indent);
		xp_text_char(tree->out, '\n');
		put(tree, node, indent + STEP < MAX_INDENT ? indent + STEP : indent);
	}
}

void xp_stack_tree(const struct xp_cpu_samples *value, double least, unsigned max_lines, struct xp_text *out)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	uint64_t total = value->collection.observed_samples, bound = (uint64_t)(least * (double)total + 0.5);
	struct tree tree = { .arena = arena, .total = total, .least = bound ? bound : 1, .lines = max_lines, .out = out };
	struct node root = { 0 };

	for (size_t i = 0; i < value->inventory.n_stack_groups; i++)
		add(&tree, &root, &value->inventory.stack_groups[i]);
	put(&tree, &root, 0);
}
