/* SPDX-License-Identifier: Apache-2.0 */
/* Shared pieces of the selector grammar. No state. */
#include "family/grammar.h"

/* ctype depends on the locale; a selector does not. */
static bool is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool xp_grammar_word(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!is_word_char(text[i]))
			return false;
	return len > 0;
}

int xp_grammar_refuse(struct xp_err *reterr, const char *selector, const char *grammar, const char *why)
{
	int rc = xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "the selector cannot be used: %s", why);

	xp_err_object(reterr, "%.300s", selector);
	xp_err_hint(reterr, "write it as %s", grammar);
	return rc;
}
