/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks as an indented tree for people, callers above callees. */
#ifndef XP_OUTPUT_STACK_TREE_H
#define XP_OUTPUT_STACK_TREE_H

#include "inventory/cpu_samples.h"

/*
 * Branches with at least `least` of all samples, most first, in at most max_lines lines. Frames that share all their samples with their
 * only callee stand with it on one line.
 */
void xp_stack_tree(const struct xp_cpu_samples *value, double least, unsigned max_lines, struct xp_text *out);

#endif
