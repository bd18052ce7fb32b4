/* SPDX-License-Identifier: Apache-2.0 */
/* The --input flags to a merged store. No state. */
#include "cmd/input.h"

#include <string.h>

#include "collect/collector.h"

bool xp_input_interrupted(void)
{
	return xp_interrupts() > 0;
}

int xp_input_from_flags(const struct xp_session *session, const struct xp_input_options *options, struct xp_store **ret_store,
			struct xp_input_summary *ret_summary, struct xp_err *reterr)
{
	const char **paths = xp_arena_array(session->arena, const char *, session->n_uses + 1);
	size_t n = 0;

	for (size_t i = 0; i < session->n_uses; i++)
		if (!strcmp(session->uses[i].flag->name, "--input"))
			paths[n++] = session->uses[i].text;
	if (!n)
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--input is required");
	return xp_input_read(paths, n, options, ret_store, ret_summary, reterr);
}
