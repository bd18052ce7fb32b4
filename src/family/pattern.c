/* SPDX-License-Identifier: Apache-2.0 */
/* Reduction of regular expressions to exact, prefix, suffix and contains, and matching of names. No state. */
#include "family/pattern.h"

#include <string.h>

#include "base/regex.h"

static bool is_punctuation(char c)
{
	return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

/* Takes the leading LIT off *p into `out` (XP_LITERAL_MAX + 1 bytes); false when it is empty, too long or ends in a lone backslash. */
static bool take_literal(const char **p, char *out)
{
	size_t len = 0;

	while (**p && !strchr(".^$*+?()[]{}|", **p)) {
		if (**p == '\\' && !is_punctuation((*p)[1]))
			return false;
		if (**p == '\\')
			(*p)++;
		if (len == XP_LITERAL_MAX)
			return false;
		out[len++] = *(*p)++;
	}
	out[len] = '\0';
	return len > 0;
}

/* Takes `text` off *p. */
static bool take(const char **p, const char *text)
{
	size_t len = strlen(text);

	if (strncmp(*p, text, len) != 0)
		return false;
	*p += len;
	return true;
}

/* The table of contract 8.4. A quantifier behind a literal binds to its last character and leaves a rest, so it never reduces. */
enum xp_name_match xp_pattern_reduce(const char *pattern, struct xp_arena *arena, const char **ret_literal)
{
	char literal[XP_LITERAL_MAX + 1];
	const char *p = pattern;

	*ret_literal = NULL;
	if (!strcmp(pattern, ".*"))
		return XP_MATCH_ANY;

	bool from_start = take(&p, "^");
	bool any_before = !from_start && take(&p, ".*");
	if (!take_literal(&p, literal))
		return XP_MATCH_REGEX;
	bool any_behind = take(&p, ".*");
	bool to_end = !any_behind && take(&p, "$");
	if (*p)
		return XP_MATCH_REGEX;

	*ret_literal = xp_arena_str(arena, literal);
	if (from_start)
		return to_end ? XP_MATCH_EXACT : XP_MATCH_PREFIX;
	if (to_end)
		return XP_MATCH_SUFFIX;
	/* `LIT.*` is not in the table: who writes it means a prefix as often as contains, so it stays a plain expression. */
	if (any_behind && !any_before) {
		*ret_literal = NULL;
		return XP_MATCH_REGEX;
	}
	return XP_MATCH_CONTAINS;
}

static void free_regex(void *regex)
{
	xp_regex_free(regex);
}

int xp_pattern_parse(struct xp_endpoint *ep, const char *pattern, struct xp_arena *arena, struct xp_err *reterr)
{
	struct xp_regex *regex;
	const char *literal;
	enum xp_name_match match = xp_pattern_reduce(pattern, arena, &literal);
	int rc = xp_regex_new(pattern, &regex, reterr);

	if (rc)
		return rc;
	if (match == XP_MATCH_ANY)
		xp_regex_free(regex);
	else
		xp_arena_defer(arena, free_regex, regex);
	ep->cuda.pattern = xp_arena_str(arena, pattern);
	ep->cuda.match = match;
	ep->cuda.literal = literal;
	ep->cuda.regex = match == XP_MATCH_ANY ? NULL : regex;
	return 0;
}

int xp_pattern_match(const struct xp_endpoint *ep, const char *name, size_t len, struct xp_err *reterr)
{
	const char *literal = ep->cuda.literal;
	size_t n = literal ? strlen(literal) : 0;

	switch (ep->cuda.match) {
	case XP_MATCH_ANY:
		return 1;
	case XP_MATCH_EXACT:
		return len == n && !memcmp(name, literal, n);
	case XP_MATCH_PREFIX:
		return len >= n && !memcmp(name, literal, n);
	case XP_MATCH_SUFFIX:
		return len >= n && !memcmp(name + len - n, literal, n);
	case XP_MATCH_CONTAINS:
		return memmem(name, len, literal, n) != NULL;
	case XP_MATCH_REGEX:
		return xp_regex_search(ep->cuda.regex, name, len, reterr);
	}
	return 0;
}
