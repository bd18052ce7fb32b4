/* SPDX-License-Identifier: Apache-2.0 */
/* The table of engines. No state. */
#include "engine/engine.h"

static const struct xp_engine *const engines[] = {
#define XP_ENGINE(name) &xp_engine_##name,
#include "engine/engine_list.def"
#undef XP_ENGINE
	NULL,
};

const struct xp_engine *const *xp_engines(size_t *ret_n)
{
	*ret_n = XP_LEN(engines) - 1;
	return engines;
}
