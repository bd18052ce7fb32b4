/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's memory file: by the target's descriptor table, else, where the program closed its descriptors, by its mappings. */
#include "engine/agent_find.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <dirent.h>

#include "wire/agent.h"

#define LINK_TEXT "/memfd:" XP_AGENT_MEMFD_PREFIX

/* Of whatever version; what lies in the file tells. */
static bool is_agent(const char *text)
{
	return !strncmp(text, LINK_TEXT, strlen(LINK_TEXT)) && text[strlen(LINK_TEXT)] >= '0' && text[strlen(LINK_TEXT)] <= '9';
}

static bool links_to_agent(int directory, const char *name)
{
	char text[sizeof(LINK_TEXT) + 16] = "";
	ssize_t n = readlinkat(directory, name, text, sizeof(text) - 1);

	return n > 0 && is_agent(text);
}

/* The link opens the file anew where /proc lets us; the kernel's other way asks for the right to trace. */
static int open_it(const struct xp_target *target, int directory, const char *name, struct xp_err *reterr)
{
	int fd = openat(directory, name, O_RDWR | O_CLOEXEC), error = errno;

	if (fd >= 0)
		return fd;
	fd = (int)syscall(SYS_pidfd_getfd, xp_target_pidfd(target), atoi(name), 0);
	if (fd >= 0)
		return fd;
	xp_fail_sys(reterr, error == EACCES || error == EPERM ? error : errno, "pidfd_getfd", "agent memory of process %u",
		    xp_target_pid(target));
	return -2;
}

/* Cursor: number of the descriptor looked at last, plus 1. */
static int next_descriptor(struct xp_target *target, uint64_t *cursor, struct xp_err *reterr)
{
	int directory = xp_target_openat(target, "fd");
	DIR *list = directory < 0 ? NULL : fdopendir(directory);
	uint64_t best = UINT64_MAX;
	char name[24];
	int fd = -1;

	if (!list) {
		if (directory >= 0)
			close(directory);
		*cursor = UINT32_MAX;
		xp_fail_sys(reterr, directory < 0 ? -directory : errno, "opendir", "descriptors of process %u", xp_target_pid(target));
		return -2;
	}
	for (const struct dirent *entry = readdir(list); entry; entry = readdir(list)) {
		uint64_t number = strtoull(entry->d_name, NULL, 10);

		if (entry->d_name[0] != '.' && number >= *cursor && number < best && links_to_agent(dirfd(list), entry->d_name))
			best = number;
	}
	*cursor = best == UINT64_MAX ? UINT32_MAX : best + 1;
	snprintf(name, sizeof(name), "%llu", (unsigned long long)best);
	if (best != UINT64_MAX)
		fd = open_it(target, dirfd(list), name, reterr);
	closedir(list);
	return fd;
}

/* Cursor: beyond the descriptors, UINT32_MAX + index of the mapping. */
static int next_mapping(struct xp_target *target, uint64_t *cursor)
{
	const struct xp_maps *maps = xp_target_maps(target);

	for (uint64_t i = *cursor - UINT32_MAX; i < maps->n; i++) {
		char path[64];
		int fd;

		*cursor = UINT32_MAX + i + 1;
		if (!is_agent(maps->at[i].path) || maps->at[i].offset)
			continue;
		snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", xp_target_pid(target), (unsigned long long)maps->at[i].start,
			 (unsigned long long)maps->at[i].end);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0)
			return fd;
	}
	return -1;
}

int xp_agent_find_next(struct xp_target *target, uint64_t *cursor, struct xp_err *reterr)
{
	int fd = -1;

	if (*cursor < UINT32_MAX)
		fd = next_descriptor(target, cursor, reterr);
	return fd == -1 ? next_mapping(target, cursor) : fd;
}
