/* SPDX-License-Identifier: Apache-2.0 */
/* A look at the thread names of a target before the window. In: /proc. Out: 0 or the error with candidates. No state. */
#include "inventory/thread_filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/regex.h"
#include "target/thread_pattern.h"

enum { MAX_CANDIDATES = 20 };

struct named {
	const char *name_pattern;
	uint32_t threads;
};

/* Whether any thread's name matches now; collects the names' patterns for the error's candidates. */
static int count_matches(struct xp_target *target, const struct xp_regex *regex, struct xp_arena *arena, size_t *ret_matches,
			 struct named **ret_patterns, size_t *ret_n, struct xp_err *reterr)
{
	uint32_t *tids;
	size_t n, patterns = 0;
	int error = xp_target_threads(target, arena, &tids, &n, reterr);

	if (error)
		return error;
	struct named *groups = xp_arena_array(arena, struct named, n + 1);
	*ret_matches = 0;
	for (size_t i = 0; i < n; i++) {
		xp_auto_err gone = { 0 };
		struct xp_stat stat;

		if (xp_target_stat(target, tids[i], &stat, &gone))
			continue; /* ended meanwhile */
		int found = xp_regex_search(regex, stat.comm, strlen(stat.comm), reterr);
		if (found < 0)
			return found;
		*ret_matches += (size_t)found;
		char *pattern = xp_thread_pattern(arena, stat.comm);
		size_t at = 0;
		while (at < patterns && strcmp(groups[at].name_pattern, pattern))
			at++;
		groups[at].name_pattern = pattern;
		groups[at].threads++;
		patterns += at == patterns;
	}
	*ret_patterns = groups;
	*ret_n = patterns;
	return 0;
}

static int most_frequent_first(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->threads != y->threads)
		return x->threads > y->threads ? -1 : 1;
	return strcmp(x->name_pattern, y->name_pattern);
}

/* Contract 6.8: a pattern that no thread has at arm time is a mistake of the caller, answered with the names that there are. */
int xp_thread_filter_check(const struct xp_inventory_request *request, struct xp_target *target, struct xp_arena *arena,
			   struct xp_err *reterr)
{
	struct named *patterns;
	size_t matches, n;
	int error = count_matches(target, request->threads, arena, &matches, &patterns, &n, reterr);

	if (error || matches)
		return error;
	qsort(patterns, n, sizeof(*patterns), most_frequent_first);
	json_t *candidates = json_array();
	for (size_t i = 0; i < n && i < MAX_CANDIDATES; i++)
		json_array_append_new(candidates, xp_json_text(patterns[i].name_pattern));
	error = xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "no thread of the target has a name that matches name~%s",
			request->threads_pattern);
	xp_err_detail(reterr, "candidates", candidates);
	return error;
}
