/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/maps -> struct xp_maps: names decoded, deleted files told from files that are merely named so. */
#include "target/target_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

/* A process at the default vm.max_map_count (65,530) prints 10 MB; anything above this is refused, never cut silently. */
enum { MAPS_LIMIT = 256 * 1024 * 1024 };
static const char deleted_suffix[] = " (deleted)";

/* Reads hexadecimal digits that end at `stop`; returns the place behind it. */
static const char *take_hex(const char *p, char stop, uint64_t *ret_value)
{
	char *end;

	if (!p || !((*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f')))
		return NULL;
	errno = 0;
	*ret_value = strtoull(p, &end, 16);
	return errno || *end != stop ? NULL : end + 1;
}

/* The kernel writes a line end in a name as \012; nothing else is escaped. In place. */
static void decode(char *path)
{
	char *out = path;

	for (const char *p = path; *p;) {
		if (!strncmp(p, "\\012", 4)) {
			*out++ = '\n';
			p += 4;
		} else {
			*out++ = *p++;
		}
	}
	*out = '\0';
}

/* start-end perms offset major:minor inode   path */
static bool parse_line(char *line, struct xp_mapping *m)
{
	uint64_t major, minor;
	char *end;
	const char *p = take_hex(line, '-', &m->start);

	p = take_hex(p, ' ', &m->end);
	if (!p || m->end < m->start || strnlen(p, 5) < 5 || p[4] != ' ')
		return false;
	m->read = p[0] == 'r';
	m->write = p[1] == 'w';
	m->exec = p[2] == 'x';
	m->shared = p[3] == 's';
	p = take_hex(p + 5, ' ', &m->offset);
	p = take_hex(p, ':', &major);
	p = take_hex(p, ' ', &minor);
	if (!p || *p < '0' || *p > '9')
		return false;
	m->dev_major = (uint32_t)major;
	m->dev_minor = (uint32_t)minor;
	errno = 0;
	m->inode = strtoull(p, &end, 10);
	if (errno)
		return false;
	while (*end == ' ')
		end++;
	decode(end);
	m->path = end;
	return true;
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (const char *p = text; (p = strchr(p, '\n')); p++)
		n++;
	return n;
}

bool xp_maps_parse(char *text, struct xp_arena *arena, struct xp_maps *ret_maps)
{
	size_t n = 0;
	struct xp_mapping *at = xp_arena_array(arena, struct xp_mapping, count_lines(text));

	for (char *line = text, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		if (!end)
			return false;
		*end = '\0';
		if (!parse_line(line, &at[n]))
			return false;
		n++;
	}
	*ret_maps = (struct xp_maps){ .n = n, .at = at };
	return true;
}

/* A name with a line end reads like one that holds the four characters \\012; the link in map_files, where it may be read, is never
 * escaped. */
static void settle_escapes(const struct xp_target *target, struct xp_arena *arena, struct xp_mapping *m)
{
	char relative[64], link[4096];

	if (!m->inode || !strchr(m->path, '\n'))
		return;
	snprintf(relative, sizeof(relative), "map_files/%lx-%lx", (unsigned long)m->start, (unsigned long)m->end);
	ssize_t len = readlinkat(xp_target_view(target), relative, link, sizeof(link));
	if (len > 0 && (size_t)len < sizeof(link))
		m->path = xp_arena_dup(arena, link, (size_t)len);
}

/*
 * The suffix is part of the name when the file with that very name is the mapped one; else the kernel added it. The text of the link in
 * map_files carries the same suffix, so only the file itself decides.
 */
static void judge_deleted(const struct xp_target *target, struct xp_arena *arena, struct xp_mapping *m)
{
	size_t len = strlen(m->path), suffix = sizeof(deleted_suffix) - 1;
	struct stat st;

	if (len < suffix || strcmp(m->path + len - suffix, deleted_suffix))
		return;
	xp_auto_fd fd = m->path[0] == '/' ? xp_target_path_open(target, m->path) : -ENOENT;
	if (fd >= 0 && !fstat(fd, &st) && xp_target_same_file(target, m, &st))
		return;
	m->path = xp_arena_dup(arena, m->path, len - suffix);
	m->deleted = true;
}

static int read_text(const struct xp_target *target, struct xp_text *text, struct xp_err *reterr)
{
	char chunk[64 * 1024];
	xp_auto_fd fd = xp_target_openat(target, "maps");

	if (fd < 0)
		return xp_target_fail(target, -fd, "open", "maps", reterr);
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return xp_target_fail(target, errno, "read", "maps", reterr);
		if (!n)
			break;
		xp_text_add(text, chunk, (size_t)n);
	}
	if (text->cut) {
		xp_fail_call(reterr, XP_E_RESOURCE_LIMIT, 0, "read", "/proc/%u/maps", target->id.pid);
		xp_err_say(reterr, "process %u has more than %u MiB of mappings to list", target->id.pid, MAPS_LIMIT >> 20);
		return -XP_E_RESOURCE_LIMIT;
	}
	return 0;
}

int xp_target_read_maps(const struct xp_target *target, struct xp_arena *arena, struct xp_maps *ret_maps, struct xp_err *reterr)
{
	xp_auto_builder text = { .limit = MAPS_LIMIT };
	struct xp_maps maps;
	int rc = read_text(target, &text, reterr);

	if (rc)
		return rc;
	if (!xp_maps_parse(xp_arena_dup(arena, text.len ? text.data : "", text.len), arena, &maps))
		return xp_fail_call(reterr, XP_E_INTERNAL, 0, "parse", "/proc/%u/maps", target->id.pid);
	struct xp_mapping *at = (struct xp_mapping *)maps.at; /* made above, not handed out yet */
	for (size_t i = 0; i < maps.n; i++) {
		settle_escapes(target, arena, &at[i]);
		judge_deleted(target, arena, &at[i]);
	}
	*ret_maps = maps;
	return 0;
}

const struct xp_maps *xp_target_maps(const struct xp_target *target)
{
	return &target->maps;
}

int xp_target_maps_refresh(struct xp_target *target, struct xp_err *reterr)
{
	int rc = xp_target_renew_view(target, reterr);

	return rc ? rc : xp_target_read_maps(target, target->arena, &target->maps, reterr);
}

const struct xp_mapping *xp_maps_find(const struct xp_maps *maps, uint64_t address)
{
	size_t low = 0, high = maps->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (maps->at[mid].end <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low < maps->n && maps->at[low].start <= address ? &maps->at[low] : NULL;
}
