/* SPDX-License-Identifier: Apache-2.0 */
/* Strict number parsing. No state. */
#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool digits(const char *text, int base, uint64_t *ret_value)
{
	char *end;

	if (!*text)
		return false;
	for (const char *p = text; *p; p++)
		if (!(base == 16 ? isxdigit((unsigned char)*p) : isdigit((unsigned char)*p)))
			return false;
	errno = 0;
	unsigned long long value = strtoull(text, &end, base);
	if (errno || *end)
		return false;
	*ret_value = value;
	return true;
}

bool xp_parse_u64(const char *text, uint64_t *ret_value)
{
	return digits(text, 10, ret_value);
}

bool xp_parse_hex(const char *text, uint64_t *ret_value)
{
	return digits(text, 16, ret_value);
}

bool xp_parse_share(const char *text, double *ret_value)
{
	char *end;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return false;
	if (strspn(text, "0123456789.eE+-") != strlen(text))
		return false;
	double value = strtod(text, &end);
	if (*end || !isfinite(value) || value < 0)
		return false;
	*ret_value = value;
	return true;
}
