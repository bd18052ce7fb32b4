/* SPDX-License-Identifier: Apache-2.0 */
/* Any JSON document as a measurement spec: refused with one of the two codes of contract 10.2, or read. */
#include <stdlib.h>

#include "fuzz.h"

#include "plan/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[160];
	json_t *document = xp_json_parse((const char *)data, size, why, sizeof(why));

	if (!document)
		return 0;
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto_err err = { 0 };
	struct xp_measurement_spec spec;
	int rc = xp_measurement_spec_read(document, arena, &spec, &err);
	if (rc && (err.code != XP_E_INVALID_EVENT_SELECTOR && err.code != XP_E_SESSION_LIMIT_EXCEEDED &&
		   err.code != XP_E_INVALID_CORRELATION_POLICY))
		abort();
	if (!rc && (!spec.start_selector || !spec.end_selector || !spec.timeout_ms))
		abort();
	json_decref(document);
	return 0;
}
