/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a selector: refused with INVALID_EVENT_SELECTOR and a sentence, or parsed into an endpoint of some family. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#include "select/select.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto_err err = { 0 };
	struct xp_endpoint endpoint = { 0 };
	char *text = xp_arena_dup(arena, (const char *)data, size);

	if (xp_select_parse(text, arena, &endpoint, &err)) {
		if (err.code != XP_E_INVALID_EVENT_SELECTOR || !err.message[0])
			abort();
	} else if (!endpoint.selector || strcmp(endpoint.selector, text) != 0 || !endpoint.family) {
		abort();
	}
	return 0;
}
