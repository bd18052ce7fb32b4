// SPDX-License-Identifier: Apache-2.0
/* One bounded walk over /proc finds who descends from whom. In: a pid. Out: nodes. Owns its arrays. */
#include "engine/proc_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/proc_parse.h"

struct seen {
	uint32_t pid;
	bool below;
	struct xp_proc_stat stat;
};

struct xp_tree *xp_tree_new(uint32_t root)
{
	xp_auto(xp_tree_free) struct xp_tree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return NULL;
	tree->root = root;
	tree->nodes = calloc(XP_TREE_MAX_NODES, sizeof(*tree->nodes));
	return tree->nodes ? xp_steal(&tree) : NULL;
}

void xp_tree_free(struct xp_tree *tree)
{
	if (!tree)
		return;
	free(tree->nodes);
	free(tree);
}

static bool read_stat(uint32_t pid, struct xp_proc_stat *ret_stat)
{
	char path[40], buf[1024];

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	xp_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);
	if (got <= 0)
		return false;
	buf[got] = '\0';
	return xp_parse_proc_stat(buf, ret_stat);
}

uint32_t xp_tree_parent(uint32_t pid)
{
	struct xp_proc_stat stat;

	return read_stat(pid, &stat) ? stat.ppid : 0;
}

/* CPU time of a whole process by its own clock; 0 when it is gone. */
static uint64_t process_cpu(uint32_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid((pid_t)pid, &clock) || clock_gettime(clock, &used))
		return 0;
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static int by_pid(const void *a, const void *b)
{
	uint32_t x = ((const struct seen *)a)->pid, y = ((const struct seen *)b)->pid;

	return x < y ? -1 : x > y;
}

/* Every process of /proc, by pid; malloc'd. */
static struct seen *scan(size_t *ret_n, bool *ret_complete)
{
	DIR *dir = opendir("/proc");
	struct seen *all = NULL;
	size_t n = 0, cap = 0;
	struct dirent *entry;

	*ret_complete = dir != NULL;
	while (dir && (entry = readdir(dir))) {
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (!pid)
			continue;
		if (n == cap) {
			size_t more = cap ? cap * 2 : 256;
			struct seen *bigger = cap < XP_TREE_MAX_SCAN ? realloc(all, more * sizeof(*all)) : NULL;

			if (!bigger) {
				*ret_complete = false;
				break;
			}
			all = bigger;
			cap = more;
		}
		all[n] = (struct seen){ .pid = pid };
		if (read_stat(pid, &all[n].stat))
			n++;
	}
	if (dir)
		closedir(dir);
	if (n)
		qsort(all, n, sizeof(*all), by_pid);
	*ret_n = n;
	return all;
}

/* Marks who has root among its ancestors: repeated passes, each one generation or more, until nothing changes. */
static void mark_below(struct seen *all, size_t n, uint32_t root)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (size_t i = 0; i < n; i++) {
			struct seen key = { .pid = all[i].stat.ppid };
			const struct seen *parent = all[i].below ? NULL : bsearch(&key, all, n, sizeof(*all), by_pid);

			if (all[i].below || all[i].pid == root)
				continue;
			if (all[i].stat.ppid == root || (parent && parent->below))
				all[i].below = changed = true;
		}
	}
}

static struct xp_tree_node *find_node(struct xp_tree *tree, const struct seen *seen)
{
	for (size_t i = 0; i < tree->n; i++)
		if (tree->nodes[i].pid == seen->pid && tree->nodes[i].start_ticks == seen->stat.start_ticks)
			return &tree->nodes[i];
	return NULL;
}

static void add_node(struct xp_tree *tree, const struct seen *seen, bool started)
{
	tree->total++;
	if (tree->n == XP_TREE_MAX_NODES)
		return;
	struct xp_tree_node *node = &tree->nodes[tree->n++];

	*node = (struct xp_tree_node){
		.pid = seen->pid, .ppid = seen->stat.ppid, .start_ticks = seen->stat.start_ticks, .started = started
	};
	memcpy(node->comm, seen->stat.comm, sizeof(node->comm));
	node->last_ns = process_cpu(node->pid);
	node->base_ns = started ? 0 : node->last_ns;
}

void xp_tree_begin(struct xp_tree *tree)
{
	struct xp_proc_stat root;
	size_t n;
	struct seen *all = scan(&n, &tree->complete);

	if (read_stat(tree->root, &root))
		tree->base_reaped_ticks = tree->reaped_ticks = root.child_ticks;
	mark_below(all, n, tree->root);
	for (size_t i = 0; i < n; i++)
		if (all[i].below)
			add_node(tree, &all[i], false);
	free(all);
}

void xp_tree_rebase(struct xp_tree *tree)
{
	struct xp_proc_stat root;

	if (read_stat(tree->root, &root))
		tree->base_reaped_ticks = tree->reaped_ticks = root.child_ticks;
	for (size_t i = 0; i < tree->n; i++) {
		uint64_t now = process_cpu(tree->nodes[i].pid);

		if (now)
			tree->nodes[i].base_ns = tree->nodes[i].last_ns = now;
	}
}

void xp_tree_end(struct xp_tree *tree)
{
	struct xp_proc_stat root;
	bool complete;
	size_t n, old = tree->n;
	struct seen *all = scan(&n, &complete);

	tree->complete &= complete;
	if (read_stat(tree->root, &root))
		tree->reaped_ticks = root.child_ticks;
	mark_below(all, n, tree->root);
	for (size_t i = 0; i < old; i++)
		tree->nodes[i].ended = tree->nodes[i].gone = true;
	for (size_t i = 0; i < n; i++) {
		struct xp_tree_node *node = all[i].below ? find_node(tree, &all[i]) : NULL;

		if (node) {
			uint64_t now = process_cpu(node->pid);

			node->gone = false;
			node->ended = all[i].stat.state == 'Z';
			node->last_ns = now > node->last_ns ? now : node->last_ns;
		} else if (all[i].below) {
			add_node(tree, &all[i], true);
		}
	}
	free(all);
}

uint64_t xp_tree_cpu_ns(const struct xp_tree *tree)
{
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK), alive = 0, gone_base = 0;
	uint64_t reaped = (tree->reaped_ticks - tree->base_reaped_ticks) * tick_ns;

	for (size_t i = 0; i < tree->n; i++) {
		const struct xp_tree_node *node = &tree->nodes[i];

		alive += node->last_ns - node->base_ns;
		if (node->gone)
			gone_base += node->base_ns;
	}
	return alive + (reaped > gone_base ? reaped - gone_base : 0);
}
