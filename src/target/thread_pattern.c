// SPDX-License-Identifier: Apache-2.0
/* Thread name -> name pattern. No state. */
#include "target/thread_pattern.h"

#include <string.h>

#include "base/text.h"

char *xp_thread_pattern(struct xp_arena *arena, const char *comm)
{
	char *pattern = xp_utf8_clean(arena, comm ? comm : "", comm ? strlen(comm) : 0), *to = pattern;

	for (const char *from = pattern; *from;) {
		size_t digits = strspn(from, "0123456789");

		*to++ = digits ? '#' : *from;
		from += digits ? digits : 1;
	}
	*to = '\0';
	return pattern;
}
