/* SPDX-License-Identifier: Apache-2.0 */
/* Demangling through libiberty, with the limits that hostile names ask for. In: a table name. Out: a signature. No state. */
#include "elf/demangle.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/cleanup.h"

enum { MAX_NAME = 4096 };

bool xp_is_mangled(const char *name, size_t len)
{
	return len > 2 && name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

/* libiberty wants NUL-terminated text, and table names may carry a version suffix. */
static char *demangle(const char *name, size_t len, bool keep_hash)
{
	char copy[MAX_NAME + 1];

	if (!xp_is_mangled(name, len) || len > MAX_NAME)
		return NULL;
	memcpy(copy, name, len);
	copy[len] = '\0';
	return cplus_demangle(copy, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI | (keep_hash ? DMGL_VERBOSE : 0));
}

const char *xp_demangle(struct xp_arena *arena, const char *name, size_t len, bool keep_hash)
{
	xp_auto_text text = demangle(name, len, keep_hash);

	return xp_arena_str(arena, text);
}

/* "…::h" and 16 hexadecimal digits; v0 names carry the hash of each crate in brackets. */
static bool has_hash(const char *signature, bool v0)
{
	size_t len = strlen(signature);

	if (v0)
		return strchr(signature, '[');
	if (len < 20 || strncmp(signature + len - 19, "::h", 3))
		return false;
	return strspn(signature + len - 16, "0123456789abcdef") == 16;
}

bool xp_demangles_to(const char *name, size_t len, const char *signature)
{
	xp_auto_text text = demangle(name, len, false);

	if (!text)
		return false;
	if (!strcmp(text, signature))
		return true;
	if (!has_hash(signature, name[1] == 'R'))
		return false;
	xp_auto_text hashed = demangle(name, len, true);
	return hashed && !strcmp(hashed, signature);
}

/* Skips a bracketed part backwards; `at` points behind its closing bracket. */
static const char *skip_back(const char *from, const char *at, char open, char close)
{
	int depth = 0;

	while (at > from) {
		at--;
		depth += *at == close;
		depth -= *at == open;
		if (!depth)
			return at;
	}
	return from;
}

const char *xp_signature_base(const char *signature, size_t *ret_len)
{
	const char *end = strrchr(signature, ')');

	end = end ? skip_back(signature, end + 1, '(', ')') : signature + strlen(signature);
	if (end > signature && end[-1] == '>' && !(end - signature > 9 && !strncmp(end - 9, "operator", 8)))
		end = skip_back(signature, end, '<', '>');
	const char *start = end;

	while (start > signature && (isalnum((unsigned char)start[-1]) || strchr("_~$", start[-1])))
		start--;
	*ret_len = (size_t)(end - start);
	return start;
}
