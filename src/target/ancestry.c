// SPDX-License-Identifier: Apache-2.0
/* The chain of parents. In: two identities. Out: below, elsewhere, or lost. No state. */
#include "target/ancestry.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "target/target_priv.h"

enum { MAX_STEPS = 4096, TRIES = 2 };

/* Parents, and whoever adopts a child, are older than it: a younger one got the number after the real one had ended. */
static enum xp_ancestry walk(const struct xp_target_id *root, const struct xp_target_id *child, xp_ancestor_read *read, void *arg)
{
	uint64_t younger = child->process_start_time;
	uint32_t pid = child->pid;

	for (unsigned i = 0; i < MAX_STEPS && pid; i++) {
		struct xp_ancestor at;

		if (!read(arg, pid, &at) || at.start_time > younger || (!i && at.start_time != younger))
			return XP_ANCESTRY_LOST;
		if (pid == root->pid)
			return at.start_time == root->process_start_time ? XP_BELOW : XP_ANCESTRY_LOST;
		younger = at.start_time;
		pid = at.parent;
	}
	return XP_ELSEWHERE;
}

enum xp_ancestry xp_ancestry_walk(const struct xp_target_id *root, const struct xp_target_id *child, xp_ancestor_read *read, void *arg)
{
	enum xp_ancestry found = XP_ANCESTRY_LOST;

	for (unsigned i = 0; i < TRIES && found == XP_ANCESTRY_LOST; i++)
		found = walk(root, child, read, arg);
	return found;
}

static bool read_proc(void *arg, uint32_t pid, struct xp_ancestor *ret_ancestor)
{
	char path[32], text[1024];
	struct xp_stat stat;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	xp_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (len <= 0)
		return false;
	text[len] = '\0';
	if (!xp_stat_parse(text, &stat))
		return false;
	*ret_ancestor = (struct xp_ancestor){ .parent = stat.ppid, .start_time = stat.start_time };
	return true;
}

enum xp_ancestry xp_ancestry_of(const struct xp_target_id *root, const struct xp_target_id *child)
{
	return xp_ancestry_walk(root, child, read_proc, NULL);
}
