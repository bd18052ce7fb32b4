/* SPDX-License-Identifier: Apache-2.0 */
/* Function names of kernels: "void ns::scale<float>(float*, int)" is ns::scale. In: a name as CUPTI gives it. Out: text. No state. */
#include <string.h>

#include "elf/demangle.h"
#include "select/match.h"

/* Length of "operator" and its symbol at p, or 0: its < > ( ) - are letters of a name, not brackets. */
static size_t operator_len(const char *start, const char *p)
{
	static const char word[] = "operator";
	static const char *const symbols[] = { "()", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">" };
	size_t n = sizeof(word) - 1;

	if (strncmp(p, word, n) || (p > start && p[-1] != ':' && p[-1] != ' '))
		return 0;
	for (size_t i = 0; i < XP_LEN(symbols); i++)
		if (!strncmp(p + n, symbols[i], strlen(symbols[i])))
			return n + strlen(symbols[i]);
	return 0;
}

/*
 * Bytes of the bracketed part at p, brackets included; up to the end of the text when it is not closed. Inside < >, parts in
 * parentheses are stepped over: demanglers put an expression with a greater-than sign into them.
 */
static size_t bracket_len(const char *p, char open, char close)
{
	unsigned depth = 0, parentheses = 0;
	size_t i = 0;

	for (; p[i]; i++) {
		if (open == '<' && p[i] == '(')
			parentheses++;
		else if (open == '<' && p[i] == ')' && parentheses)
			parentheses--;
		else if (parentheses)
			continue;
		else if (p[i] == open)
			depth++;
		else if (p[i] == close && !(i && p[i - 1] == '-') && --depth == 0)
			return i + 1;
	}
	return i;
}

/* Copies the signature without template arguments; stops at the parameters. A blank outside brackets ends a return type. */
static void copy_name(const char *signature, struct xp_text *out)
{
	static const char anonymous[] = "(anonymous namespace)";
	size_t n;

	for (const char *p = signature; *p;) {
		if ((n = operator_len(signature, p)) || (!strncmp(p, anonymous, sizeof(anonymous) - 1) && (n = sizeof(anonymous) - 1)) ||
		    (*p == '{' && (n = bracket_len(p, '{', '}')))) {
			xp_text_add(out, p, n);
			p += n;
			p += *p == ' ' && p[1] == '<'; /* "operator< <int>" */
		} else if (*p == '<') {
			p += bracket_len(p, '<', '>');
		} else if (*p == '(') {
			return;
		} else if (*p == ' ') {
			out->len = 0;
			p++;
		} else {
			xp_text_char(out, *p++);
		}
	}
}

char *xp_kernel_function(struct xp_arena *arena, const char *kernel_name)
{
	const char *signature = xp_demangle(arena, kernel_name, strlen(kernel_name), false);
	xp_auto_builder out = { 0 };

	copy_name(signature ? signature : kernel_name, &out);
	return xp_arena_dup(arena, out.len ? out.data : kernel_name, out.len ? out.len : strlen(kernel_name));
}
