/* SPDX-License-Identifier: Apache-2.0 */
/* Descendants of one process and the CPU time they used between two looks. */
#ifndef XP_ENGINE_PROC_TREE_H
#define XP_ENGINE_PROC_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

enum { XP_TREE_MAX_SCAN = 16384, XP_TREE_MAX_NODES = 1024 };

struct xp_tree_node {
	uint32_t pid, ppid;
	char comm[64];
	uint64_t start_ticks;
	uint64_t base_ns, last_ns; /* process CPU clock at the first and the last look */
	bool started, ended;
	bool gone; /* ended, and its parent was credited with its time */
};

struct xp_tree {
	uint32_t root;
	struct xp_tree_node *nodes; /* XP_TREE_MAX_NODES places */
	size_t n;
	uint32_t total;				  /* descendants, also those without a place */
	bool complete;				  /* the walk did not stop at XP_TREE_MAX_SCAN processes */
	uint64_t base_reaped_ticks, reaped_ticks; /* CPU time of the root's children that were waited for */
};

/* The parent of a process now; 0: it is gone. */
uint32_t xp_tree_parent(uint32_t pid);

/* NULL when memory is short. */
struct xp_tree *xp_tree_new(uint32_t root);
void xp_tree_free(struct xp_tree *tree);
XP_DEFINE_AUTO(struct xp_tree *, xp_tree_free);

/* Finds the descendants in /proc and takes their base. */
void xp_tree_begin(struct xp_tree *tree);
/* Takes the base anew, without another walk: the window opens later than the walk was made. */
void xp_tree_rebase(struct xp_tree *tree);
/* Finds them again: newcomers begin at 0, leavers keep their base. */
void xp_tree_end(struct xp_tree *tree);
/* Σ over those alive at the end, plus what the root was credited for children that ended, less their base. */
uint64_t xp_tree_cpu_ns(const struct xp_tree *tree);

#endif
