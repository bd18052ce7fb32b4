/* SPDX-License-Identifier: Apache-2.0 */
/* Parsers of /proc/PID/{status,cgroup,cmdline} and of its links. In: text. Out: plain values. No state. */
#include "target/status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/text.h"
#include "target/target_priv.h"

enum { ARGUMENTS_LIMIT = 1024 * 1024 };

/* Decimal numbers behind "\nName:"; how many were read. A name in the file holds no line end (the kernel escapes it). */
static size_t numbers(const char *text, const char *name, uint32_t *ret_values, size_t max)
{
	const char *p = strstr(text, name);
	size_t n = 0;

	for (p = p ? p + strlen(name) : ""; n < max;) {
		char *end;

		p += strspn(p, " \t");
		if (*p < '0' || *p > '9')
			break;
		ret_values[n++] = (uint32_t)strtoul(p, &end, 10);
		p = end;
	}
	return n;
}

bool xp_status_parse(const char *text, struct xp_process_status *ret_status)
{
	struct xp_process_status s = { 0 };
	const char *state = strstr(text, "\nState:\t");

	if (!state || !state[8] || numbers(text, "\nUid:", s.uid, 4) != 4 || numbers(text, "\nGid:", s.gid, 4) != 4 ||
	    numbers(text, "\nTracerPid:", &s.tracer_pid, 1) != 1 || numbers(text, "\nThreads:", &s.threads, 1) != 1)
		return false;
	s.state = state[8];
	s.n_ns_pid = numbers(text, "\nNSpid:", s.ns_pid, XP_LEN(s.ns_pid));
	numbers(text, "\nSeccomp:", &s.seccomp, 1); /* absent in kernels built without it: no filter */
	*ret_status = s;
	return true;
}

int xp_target_status(const struct xp_target *target, struct xp_process_status *ret_status, struct xp_err *reterr)
{
	char text[16384]; /* the longest lines are cpu and memory masks */
	ssize_t len = xp_target_read(target, "status", text, sizeof(text));

	if (len <= 0)
		return xp_target_fail(target, len ? (int)-len : ESRCH, "read", "status", reterr);
	return xp_status_parse(text, ret_status) ? 0 : xp_fail_call(reterr, XP_E_INTERNAL, 0, "parse", "/proc/%u/status", target->id.pid);
}

/* "cpu,cpuacct" -> a list; in place. */
static void split(char *text, struct xp_arena *arena, struct xp_cgroup_line *line)
{
	size_t n = *text != '\0';

	for (const char *p = text; *p; p++)
		n += *p == ',';
	const char **list = xp_arena_array(arena, const char *, n ? n : 1);
	size_t i = 0;
	for (char *word = text, *next; word && i < n; word = next) {
		next = strchr(word, ',');
		if (next)
			*next++ = '\0';
		list[i++] = word;
	}
	line->controllers = list;
	line->n_controllers = i;
}

void xp_cgroup_lines(char *text, struct xp_arena *arena, struct xp_cgroup_line **ret_lines, size_t *ret_n)
{
	size_t n = 1, used = 0;

	for (const char *p = text; *p; p++)
		n += *p == '\n';
	struct xp_cgroup_line *lines = xp_arena_array(arena, struct xp_cgroup_line, n);
	for (char *line = text, *next; line && *line; line = next) {
		char *end;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		/* id:controllers:path; the path may hold colons itself. */
		unsigned long id = strtoul(line, &end, 10);
		char *colon = *end == ':' ? strchr(end + 1, ':') : NULL;
		if (!colon)
			continue;
		*colon = '\0';
		lines[used].hierarchy_id = (uint32_t)id;
		lines[used].path = colon + 1;
		split(end + 1, arena, &lines[used++]);
	}
	*ret_lines = lines;
	*ret_n = used;
}

int xp_target_arguments(const struct xp_target *target, struct xp_arena *arena, const char ***ret_words, size_t *ret_n,
			struct xp_err *reterr)
{
	char *text = xp_arena_zalloc(arena, ARGUMENTS_LIMIT);
	ssize_t len = xp_target_read(target, "cmdline", text, ARGUMENTS_LIMIT);
	size_t n = 0, i = 0;

	if (len < 0)
		return xp_target_fail(target, (int)-len, "read", "cmdline", reterr);
	/* A process that has overwritten its arguments may leave no NUL at the end; the buffer has one. */
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(text + at) + 1)
		n++;
	const char **words = xp_arena_array(arena, const char *, n ? n : 1);
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(text + at) + 1)
		words[i++] = text + at;
	*ret_words = words;
	*ret_n = n;
	return 0;
}

const char *xp_target_link(const struct xp_target *target, const char *relative, struct xp_arena *arena)
{
	char text[4096];
	ssize_t len = readlinkat(xp_target_view(target), relative, text, sizeof(text));

	return xp_arena_dup(arena, text, len > 0 ? (size_t)len : 0);
}
