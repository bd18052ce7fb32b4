/* SPDX-License-Identifier: Apache-2.0 */
/* One mechanism a file, one line in engine_list.def: what it brings in and which rights it needs. Inventories and plans name engines. */
#ifndef XP_ENGINE_ENGINE_H
#define XP_ENGINE_ENGINE_H

#include "base/field.h"

struct xp_engine {
	const char *name, *summary;
	const char *const *sources; /* names of its accounts (contract 15.1); NULL-terminated */
	unsigned needs;		    /* enum xp_need of target/rights.h */
};

#define XP_ENGINE(name) extern const struct xp_engine xp_engine_##name;
#include "engine/engine_list.def"
#undef XP_ENGINE

/* Every engine, sorted by name. */
const struct xp_engine *const *xp_engines(size_t *ret_n);

#endif
