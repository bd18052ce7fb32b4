// SPDX-License-Identifier: Apache-2.0
/* Which directory holds a process's cpu group. In: /proc texts below a root. Out: a directory that lists the pid. No state. */
#include "inventory/cgroup_find.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inventory/cgroup.h"

enum { MAX_TEXT = 4 * 1024 * 1024 };

/* One group line of /proc/PID/cgroup and where to look for it. */
struct wanted {
	int version;
	const char *path;
};

/* Whole text file, bounded; NULL with errno. */
static char *read_text(struct xp_arena *arena, const char *path)
{
	FILE *file = fopen(path, "re");
	xp_auto_builder text = { .limit = MAX_TEXT };
	char chunk[8192];
	size_t got;

	if (!file)
		return NULL;
	while ((got = fread(chunk, 1, sizeof(chunk), file)) > 0)
		xp_text_add(&text, chunk, got);
	int failure = ferror(file) ? errno : 0;
	fclose(file);
	errno = failure;
	return failure ? NULL : xp_arena_dup(arena, text.data ? text.data : "", text.len);
}

/* "cpu" among comma-separated words. */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; p; p = strchr(p, ',')) {
		if (*p == ',')
			p++;
		if (!strncmp(p, word, len) && (p[len] == ',' || p[len] == '\0'))
			return true;
	}
	return false;
}

/* The v1 line that carries cpu wins over "0::": in a hybrid set-up the v2 tree exists without a cpu controller. Cuts `text` up. */
static bool find_line(char *text, struct wanted *ret_wanted)
{
	bool found = false;
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		list++;
		if (has_word(list, "cpu")) {
			*ret_wanted = (struct wanted){ .version = XP_CGROUP_V1, .path = path };
			return true;
		}
		if (!*list && !strncmp(line, "0:", 2)) {
			*ret_wanted = (struct wanted){ .version = XP_CGROUP_V2, .path = path };
			found = true;
		}
	}
	return found;
}

/* mountinfo writes blanks and backslashes as \ooo. In place. */
static char *unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from;) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] && from[3]) {
			*to++ = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
	return text;
}

/* One line of mountinfo: the root within the file system, the mount point; true when it is a mount of the wanted hierarchy. */
static bool parse_mount(char *line, const struct wanted *wanted, char **ret_root, char **ret_point)
{
	char *dash = strstr(line, " - "), *rest = NULL;

	if (!dash)
		return false;
	*dash = '\0';
	strtok_r(line, " ", &rest);
	strtok_r(NULL, " ", &rest);
	strtok_r(NULL, " ", &rest);
	*ret_root = strtok_r(NULL, " ", &rest);
	*ret_point = strtok_r(NULL, " ", &rest);
	char *type = strtok_r(dash + 3, " ", &rest);
	strtok_r(NULL, " ", &rest);
	char *options = strtok_r(NULL, " ", &rest);
	if (!*ret_point || !type || !options)
		return false;
	unescape(*ret_root);
	unescape(*ret_point);
	return wanted->version == XP_CGROUP_V2 ? !strcmp(type, "cgroup2") : !strcmp(type, "cgroup") && has_word(options, "cpu");
}

/* `path` with the mount's root taken off its front; "" when the root is no prefix (a namespace): then the mount itself is tried. */
static const char *below_root(const char *path, const char *root)
{
	size_t len = strcmp(root, "/") ? strlen(root) : 0;

	if (strncmp(path, root, len) || (path[len] != '/' && path[len] != '\0'))
		return "";
	return strcmp(path + len, "/") ? path + len : "";
}

static bool lists(const char *file, uint32_t pid)
{
	FILE *stream = fopen(file, "re");
	char line[32];
	bool found = false;

	while (stream && !found && fgets(line, sizeof(line), stream))
		found = strtoul(line, NULL, 10) == pid;
	if (stream)
		fclose(stream);
	return found;
}

bool xp_cgroup_has(const char *directory, uint32_t pid)
{
	static const char *const files[] = { "cgroup.procs", "tasks", "cgroup.threads" };

	for (size_t i = 0; i < XP_LEN(files); i++) {
		char path[4200];

		snprintf(path, sizeof(path), "%s/%s", directory, files[i]);
		if (lists(path, pid))
			return true;
	}
	return false;
}

/* Looks through a mountinfo text for a mount whose directory lists the pid. Cuts `text` up. Counts the mounts that it tried. */
static bool try_mounts(char *text, const struct wanted *wanted, const char *prefix, uint32_t pid, struct xp_arena *arena,
		       struct xp_cgroup_place *ret_place, unsigned *tried)
{
	char *rest = NULL, *root, *point;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (!parse_mount(line, wanted, &root, &point))
			continue;
		char *mount = xp_arena_fmt(arena, "%s%s", prefix, point);
		char *directory = xp_arena_fmt(arena, "%s%s", mount, below_root(wanted->path, root));

		++*tried;
		if (!xp_cgroup_has(directory, pid))
			continue;
		*ret_place = (struct xp_cgroup_place){
			.version = wanted->version,
			.path = wanted->path,
			.directory = directory,
			.mount_len = strlen(mount),
			.hidden_above = strcmp(root, "/") != 0,
		};
		return true;
	}
	return false;
}

static int unseen(struct xp_err *reterr, const char *path, const char *why)
{
	int rc = xp_fail_call(reterr, XP_E_UNSUPPORTED_TARGET, ENOENT, "open", "%s", path);

	xp_err_say(reterr, "%s: %s", path, why);
	return rc;
}

int xp_cgroup_find(const char *root, uint32_t pid, struct xp_arena *arena, struct xp_cgroup_place *ret_place, struct xp_err *reterr)
{
	char *text = read_text(arena, xp_arena_fmt(arena, "%s/proc/%u/cgroup", root, pid));
	struct wanted wanted;
	unsigned tried = 0;

	if (!text && errno == ENOENT)
		return unseen(reterr, xp_arena_fmt(arena, "/proc/%u/cgroup", pid), "the kernel has no control groups");
	if (!text)
		return xp_fail_sys(reterr, errno, "open", "/proc/%u/cgroup", pid);
	if (!find_line(text, &wanted))
		return unseen(reterr, xp_arena_fmt(arena, "/proc/%u/cgroup", pid), "no line names a group of the cpu controller");
	if (!strncmp(wanted.path, "/..", 3))
		return unseen(reterr, wanted.path, "the target's group lies outside of xprobe's cgroup namespace");

	const char *const mounts[][2] = {
		{ "self", root },
		{ xp_arena_fmt(arena, "%u", pid), xp_arena_fmt(arena, "%s/proc/%u/root", root, pid) },
	};
	for (size_t i = 0; i < XP_LEN(mounts); i++) {
		text = read_text(arena, xp_arena_fmt(arena, "%s/proc/%s/mountinfo", root, mounts[i][0]));
		if (text && try_mounts(text, &wanted, mounts[i][1], pid, arena, ret_place, &tried))
			return 0;
	}
	return unseen(reterr, wanted.path, tried ? "no mounted group directory lists the target" : "its hierarchy is not mounted in view");
}
