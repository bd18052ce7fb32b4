/* SPDX-License-Identifier: Apache-2.0 */
/* Selector head to family. In: text. Out: struct xp_endpoint. No state. */
#include "select/select.h"

#include <string.h>

static const struct xp_family *family_of(const char *text)
{
	size_t n, best_len = 0;
	const struct xp_family *const *all = xp_families(&n), *best = NULL;

	for (size_t i = 0; i < n; i++) {
		for (const char *const *head = all[i]->heads; *head; head++) {
			size_t len = strlen(*head);

			if (len > best_len && !strncmp(text, *head, len)) {
				best = all[i];
				best_len = len;
			}
		}
	}
	return best;
}

static int unknown(const char *text, struct xp_err *reterr)
{
	size_t n;
	const struct xp_family *const *all = xp_families(&n);
	int rc = xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "no selector family begins like that");

	xp_err_object(reterr, "%.300s", text);
	for (size_t i = 0; i < n; i++)
		xp_err_hint(reterr, "%s, for example %s", all[i]->grammar, all[i]->example);
	return rc;
}

int xp_select_parse(const char *text, struct xp_arena *arena, struct xp_endpoint *ret_endpoint, struct xp_err *reterr)
{
	struct xp_endpoint endpoint = { .cuda = { .memcpy_kind = -1 } };

	if (strlen(text) > XP_SELECTOR_MAX) {
		int rc = xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "the selector is longer than %d bytes", XP_SELECTOR_MAX);

		xp_err_object(reterr, "%.100s", text);
		return rc;
	}
	endpoint.family = family_of(text);
	if (!endpoint.family)
		return unknown(text, reterr);
	endpoint.selector = xp_arena_str(arena, text);
	int rc = endpoint.family->parse(endpoint.selector, arena, &endpoint, reterr);
	if (rc) {
		if (!reterr->object[0])
			xp_err_object(reterr, "%.300s", text);
		return rc;
	}
	*ret_endpoint = endpoint;
	return 0;
}
