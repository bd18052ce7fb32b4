/* SPDX-License-Identifier: Apache-2.0 */
/* PCRE2's DFA matcher with limits. State: the compiled pattern. */
#include "base/regex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/arena.h"
#include "base/text.h"

enum { PATTERN_MAX = 1024, WORKSPACE = 4096, MATCH_STEPS = 200000, HEAP_KIB = 4096 };

struct xp_regex {
	pcre2_code *code;
	pcre2_match_context *limits;
	pcre2_match_data *match;
};

/* (?= (?! (?<= (?<! and their verbose spellings; the DFA matcher would accept look-around, the contract does not. */
static bool looks_around(const char *pattern)
{
	static const char *const heads[] = { "(?=", "(?!", "(?<=", "(?<!", "(?*", "(?<*", "(*", "(?|" };
	bool in_class = false;

	for (const char *p = pattern; *p; p++) {
		if (*p == '\\' && p[1]) {
			p++;
		} else if (*p == '[' && !in_class) {
			in_class = true;
			if (p[1] == '^')
				p++;
			if (p[1] == ']')
				p++;
		} else if (*p == ']') {
			in_class = false;
		} else if (!in_class) {
			for (size_t i = 0; i < XP_LEN(heads); i++)
				if (!strncmp(p, heads[i], strlen(heads[i])))
					return true;
		}
	}
	return false;
}

static int refuse(struct xp_err *reterr, const char *pattern, const char *why)
{
	int rc = xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "the regular expression cannot be used: %s", why);

	xp_err_object(reterr, "%.300s", pattern);
	return rc;
}

/* Back references, recursion, callouts: the DFA matcher refuses them at the first match, so try one here. */
static int try_match(struct xp_regex *regex, const char *pattern, struct xp_err *reterr)
{
	int workspace[WORKSPACE];
	uint32_t references = 0;
	int rc = pcre2_dfa_match(regex->code, (PCRE2_SPTR) "x", 1, 0, 0, regex->match, regex->limits, workspace, WORKSPACE);

	pcre2_pattern_info(regex->code, PCRE2_INFO_BACKREFMAX, &references);
	if (references || rc == PCRE2_ERROR_DFA_UITEM || rc == PCRE2_ERROR_DFA_UCOND || rc == PCRE2_ERROR_DFA_RECURSE)
		return refuse(reterr, pattern, "back references, conditions and recursion are not supported");
	return 0;
}

int xp_regex_new(const char *pattern, struct xp_regex **ret_regex, struct xp_err *reterr)
{
	size_t len = strlen(pattern);
	int error;
	PCRE2_SIZE where;

	if (!len)
		return refuse(reterr, pattern, "it is empty");
	if (len > PATTERN_MAX)
		return refuse(reterr, pattern, "it is longer than 1024 bytes");
	if (looks_around(pattern))
		return refuse(reterr, pattern, "look-around and verbs are not supported");

	xp_auto(xp_regex_free) struct xp_regex *regex = calloc(1, sizeof(*regex));
	if (!regex)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "regular expression");
	regex->code = pcre2_compile((PCRE2_SPTR)pattern, len, PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C, &error, &where, NULL);
	if (!regex->code) {
		char why[160];

		pcre2_get_error_message(error, (PCRE2_UCHAR *)why, sizeof(why));
		return refuse(reterr, pattern, why);
	}
	regex->match = pcre2_match_data_create(1, NULL);
	regex->limits = pcre2_match_context_create(NULL);
	if (!regex->match || !regex->limits)
		return xp_fail_sys(reterr, ENOMEM, "pcre2_match_data_create", "regular expression");
	pcre2_set_match_limit(regex->limits, MATCH_STEPS);
	pcre2_set_heap_limit(regex->limits, HEAP_KIB);
	int rc = try_match(regex, pattern, reterr);
	if (rc)
		return rc;
	*ret_regex = xp_steal(&regex);
	return 0;
}

void xp_regex_free(struct xp_regex *regex)
{
	if (!regex)
		return;
	pcre2_code_free(regex->code);
	pcre2_match_data_free(regex->match);
	pcre2_match_context_free(regex->limits);
	free(regex);
}

int xp_regex_search(const struct xp_regex *regex, const char *text, size_t len, struct xp_err *reterr)
{
	int workspace[WORKSPACE];
	int rc = pcre2_dfa_match(regex->code, (PCRE2_SPTR)text, len, 0, PCRE2_DFA_SHORTEST, regex->match, regex->limits, workspace,
				 WORKSPACE);

	if (rc <= PCRE2_ERROR_UTF8_ERR1 && rc >= PCRE2_ERROR_UTF8_ERR21) {
		xp_auto(xp_arena_free) struct xp_arena *scratch = xp_arena_new();
		char *clean = xp_utf8_clean(scratch, text, len);

		rc = pcre2_dfa_match(regex->code, (PCRE2_SPTR)clean, strlen(clean), 0, PCRE2_DFA_SHORTEST, regex->match, regex->limits,
				     workspace, WORKSPACE);
	}
	if (rc >= 0)
		return 1;
	if (rc == PCRE2_ERROR_NOMATCH)
		return 0;
	return xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "the regular expression exceeds the match step limit on a %zu-byte text", len);
}
