/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a JSON document: rejected with a reason, or accepted and written again as text that is accepted too. */
#include <stdlib.h>

#include "fuzz.h"

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[160] = "";
	json_t *value = xp_json_parse((const char *)data, size, why, sizeof(why));

	if (!value) {
		if (!why[0])
			abort();
		return 0;
	}
	xp_auto_builder out = { 0 };
	struct xp_json json = { .out = &out };
	xp_json_value(&json, value);
	json_t *again = xp_json_parse(out.data, out.len, why, sizeof(why));
	if (!again)
		abort();
	json_decref(again);
	json_decref(value);
	return 0;
}
