/* SPDX-License-Identifier: Apache-2.0 */
/* tracepoint:CATEGORY:NAME, fired by a thread of the target. In: text, tracefs, the kernel's type information. Out: category and name. No
 * state. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "family/family.h"
#include "family/grammar.h"

#define GRAMMAR "tracepoint:CATEGORY:NAME"

enum { CANDIDATES_MAX = 20, NAME_BYTES = 512 };

static const char *const tracefs_roots[] = { "/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events", NULL };

static int parse(const char *text, struct xp_arena *arena, struct xp_endpoint *ep, struct xp_err *reterr)
{
	const char *category = text + strlen("tracepoint:");
	const char *colon = strchr(category, ':');

	if (!colon)
		return xp_grammar_refuse(reterr, text, GRAMMAR, "it has no name");
	if (!xp_grammar_word(category, colon - category) || !xp_grammar_word(colon + 1, strlen(colon + 1)))
		return xp_grammar_refuse(reterr, text, GRAMMAR, "category and name must be letters, digits and underscores");
	ep->type = XP_EV_TRACEPOINT;
	ep->boundary = XP_AT_ENTRY;
	ep->tracepoint.category = xp_arena_dup(arena, category, colon - category);
	ep->tracepoint.name = xp_arena_str(arena, colon + 1);
	return 0;
}

static int is_tracepoint(const struct dirent *entry)
{
	return entry->d_type == DT_DIR && entry->d_name[0] != '.';
}

/* Tracepoints of the category that share the first word of the wanted name, by name, as ready selectors. */
static json_t *candidates(int category_fd, const struct xp_endpoint *ep)
{
	size_t common = strcspn(ep->tracepoint.name, "_");
	struct dirent **entries = NULL;
	json_t *list = json_array();
	int n = scandirat(category_fd, ".", &entries, is_tracepoint, alphasort);

	for (int i = 0; i < n; i++) {
		if (json_array_size(list) < CANDIDATES_MAX && !strncmp(entries[i]->d_name, ep->tracepoint.name, common))
			json_array_append_new(list, json_sprintf("tracepoint:%s:%s", ep->tracepoint.category, entries[i]->d_name));
		free(entries[i]);
	}
	free(entries);
	return list;
}

/* Takes `near`. */
static int absent(const struct xp_endpoint *ep, const char *what, json_t *near, struct xp_err *reterr)
{
	int rc = xp_fail(reterr, XP_E_SYMBOL_NOT_FOUND, "the running kernel has no tracepoint %s", what);

	xp_err_object(reterr, "%s", ep->selector);
	xp_err_detail(reterr, "candidates", near);
	xp_err_hint(reterr, "the running kernel lists its tracepoints in /sys/kernel/tracing/available_events");
	return rc;
}

/* SYMBOL_NOT_FOUND when this tracefs knows that it is absent; *ret_known false: it is not mounted or not readable. */
static int look_up(const char *root, const struct xp_endpoint *ep, bool *ret_known, struct xp_err *reterr)
{
	struct stat st;

	*ret_known = false;
	xp_auto_fd events = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (events < 0)
		return 0;
	xp_auto_fd category = openat(events, ep->tracepoint.category, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (category < 0 && errno != ENOENT && errno != ENOTDIR)
		return 0;
	*ret_known = true;
	if (category < 0)
		return absent(ep, "category of that name", NULL, reterr);

	/* A tracepoint is a directory; `enable` and `filter` beside it are files. */
	int rc = fstatat(category, ep->tracepoint.name, &st, 0);
	if (rc < 0 && errno != ENOENT) {
		*ret_known = false;
		return 0;
	}
	if (rc == 0 && S_ISDIR(st.st_mode))
		return 0;
	return absent(ep, "of that name in the category", candidates(category, ep), reterr);
}

/* Does a file of type information name this tracepoint? The kernel has a typedef btf_trace_NAME for each but those of system calls. */
static bool names(int folder_fd, const char *file, const char *name)
{
	char text[NAME_BYTES];
	struct stat st;
	int len = snprintf(text, sizeof(text), "btf_trace_%s", name);
	xp_auto_fd fd = openat(folder_fd, file, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) || len >= (int)sizeof(text))
		return true;
	size_t size = (size_t)st.st_size, at = 0;
	ssize_t n = 1;
	xp_auto(xp_free) void *bytes = malloc(size + 1);

	/* The kernel gives a page at a time. */
	for (; bytes && at < size && n > 0; at += n > 0 ? (size_t)n : 0)
		n = pread(fd, (char *)bytes + at, size - at, (off_t)at);
	return !bytes || at < size || memmem(bytes, at, text, (size_t)len + 1);
}

/*
 * Without tracefs: whether the type information of kernel and modules has no such tracepoint. What has none may have any; a kernel built
 * without modules has no list of them.
 */
static bool untyped(const char *folder, const char *modules, const char *name)
{
	xp_auto_fd types = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	FILE *list = fopen(modules, "re");
	bool found = types < 0 || (!list && errno != ENOENT) || names(types, "vmlinux", name);
	char line[NAME_BYTES];

	while (!found && list && fgets(line, sizeof(line), list)) {
		line[strcspn(line, " \n")] = '\0';
		found = names(types, line, name);
	}
	if (list)
		fclose(list);
	return !found;
}

/* Where neither a tracefs nor type information knows, the kernel says at attach whether the tracepoint exists. */
static int resolve_in(const char *const *roots, struct xp_endpoint *ep, struct xp_err *reterr)
{
	bool known = false;

	for (; *roots && !known; roots++) {
		int rc = look_up(*roots, ep, &known, reterr);
		if (rc)
			return rc;
	}
	if (known || !strcmp(ep->tracepoint.category, "syscalls") || !untyped("/sys/kernel/btf", "/proc/modules", ep->tracepoint.name))
		return 0;
	return absent(ep, "of that name", NULL, reterr);
}

static int resolve(struct xp_endpoint *ep, struct xp_target *target, const struct xp_resolve_options *options, struct xp_arena *arena,
		   struct xp_err *reterr)
{
	return resolve_in(tracefs_roots, ep, reterr);
}

static const char *const heads[] = { "tracepoint:", NULL };

const struct xp_family xp_family_tracepoint = {
	.name = "tracepoint",
	.heads = heads,
	.grammar = GRAMMAR,
	.summary = "kernel tracepoint that fires in a thread of the target",
	.example = "tracepoint:sched:sched_switch",
	.event_types = "tracepoint",
	.needs = XP_NEED_BPF_TRACEPOINT,
	.host = true,
	.parse = parse,
	.resolve = resolve,
};
