/* SPDX-License-Identifier: Apache-2.0 */
/* Perf maps of JITs. In: the target's file, which it may be writing right now. Out: names of the asked addresses. No state. */
#include "elf/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/status.h"

enum { FILE_MAX = 64 << 20, NAME_MAX_BYTES = 4096 };

struct line {
	uint64_t start, size;
	const char *name;
	size_t name_len;
};

/* Digits up to a blank, with or without 0x; the place behind the blank, or NULL. */
static const char *take_number(const char *at, const char *end, uint64_t *ret_value)
{
	uint64_t value = 0;
	size_t n = 0;

	if (end - at > 2 && at[0] == '0' && (at[1] | 0x20) == 'x')
		at += 2;
	for (; at < end && xp_hex_digit(*at) >= 0; at++, n++)
		value = value << 4 | (uint64_t)xp_hex_digit(*at);
	*ret_value = value;
	return n && n <= 16 && at < end && *at == ' ' ? at + 1 : NULL;
}

static bool parse(const char *at, const char *end, struct line *ret_line)
{
	struct line line;

	at = take_number(at, end, &line.start);
	if (at)
		at = take_number(at, end, &line.size);
	if (!at || at == end || memchr(at, '\0', (size_t)(end - at)) || line.size > UINT64_MAX - line.start)
		return false;
	line.name = at;
	line.name_len = (size_t)(end - at);
	if (line.name_len > NAME_MAX_BYTES)
		line.name_len = NAME_MAX_BYTES;
	*ret_line = line;
	return true;
}

/* The first address at or behind `i` that has no name yet; paths are shortened on the way, so that all lines together cost little. */
static size_t next_open(size_t *open, size_t i)
{
	while (open[i] != i) {
		open[i] = open[open[i]];
		i = open[i];
	}
	return i;
}

static void offer(const struct line *line, const uint64_t *addresses, size_t n, size_t *open, struct xp_arena *arena,
		  struct xp_code_name *names)
{
	const char *name = NULL;

	for (size_t i = next_open(open, xp_first_from(addresses, n, line->start)); i < n && addresses[i] - line->start < line->size;
	     i = next_open(open, i)) {
		if (!name)
			name = xp_arena_dup(arena, line->name, line->name_len);
		names[i] = (struct xp_code_name){ .start = line->start, .name = name };
		open[i] = i + 1;
	}
}

/* Backwards: the first line met is the last one written, so each address is named once. A last line without its end is still being written.
 */
void xp_perf_map_resolve(const char *text, size_t size, const uint64_t *addresses, size_t n, struct xp_arena *arena,
			 struct xp_code_name *ret_names, struct xp_perf_map_account *account)
{
	xp_auto(xp_arena_free) struct xp_arena *scratch = xp_arena_new();
	size_t *open = xp_arena_array(scratch, size_t, n + 1);
	const char *end = text + size;
	struct line line;

	for (size_t i = 0; i <= n; i++)
		open[i] = i;
	memset(ret_names, 0, n * sizeof(*ret_names));
	while (end > text) {
		bool whole = end[-1] == '\n';
		const char *stop = whole ? end - 1 : end;
		const char *before = stop > text ? memrchr(text, '\n', (size_t)(stop - text)) : NULL;
		const char *start = before ? before + 1 : text;

		account->lines++;
		if (whole && parse(start, stop, &line))
			offer(&line, addresses, n, open, arena, ret_names);
		else
			account->broken++;
		end = start;
	}
}

/* O_PATH first: a pipe or device that lies there must not be opened. */
static int open_trusted(const struct xp_target *target, size_t *ret_size)
{
	xp_auto_err ignored = { 0 }; /* no status, no map */
	struct xp_process_status status;
	char path[64];
	struct stat st;

	if (xp_target_status(target, &status, &ignored) || !status.n_ns_pid)
		return -1;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", status.ns_pid[status.n_ns_pid - 1]);
	xp_auto_fd place = xp_target_path_open(target, path);
	if (place < 0 || fstat(place, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0 || st.st_size > FILE_MAX)
		return -1;
	if (st.st_uid && st.st_uid != status.uid[0] && st.st_uid != status.uid[1])
		return -1;
	*ret_size = (size_t)st.st_size;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	return open(path, O_RDONLY | O_CLOEXEC);
}

char *xp_perf_map_read(const struct xp_target *target, size_t *ret_size)
{
	size_t size = 0, len = 0;
	xp_auto_fd fd = open_trusted(target, &size);
	xp_auto_text text = fd >= 0 ? malloc(size) : NULL;

	while (text && len < size) {
		ssize_t n = read(fd, text + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break; /* it became shorter meanwhile: what was read counts */
		len += (size_t)n;
	}
	*ret_size = len;
	return xp_steal(&text);
}
