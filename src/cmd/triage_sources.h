/* SPDX-License-Identifier: Apache-2.0 */
/* Which inventory feeds which source of a triage, and how its value reaches the rules. */
#ifndef XP_CMD_TRIAGE_SOURCES_H
#define XP_CMD_TRIAGE_SOURCES_H

#include "inventory/inventory.h"
#include "target/rights.h"
#include "triage/input.h"

struct xp_triage_feed {
	const char *inventory;	    /* name in the list of inventories; NULL: none yet, `absent` says so */
	const char *artifact;	    /* file in the private folder */
	enum xp_feature_id feature; /* the right it needs */
	const char *absent;	    /* detail when this build has no such inventory */
	bool cuda;		    /* makes sense only for a target that maps libcuda */
	/*
	 * Hands the finished value to the rules and its doubts to the source. False: it is incomplete, no rule may use it and the source
	 * counts as out of capacity.
	 */
	bool (*take)(void *value, struct xp_triage_input *input, struct xp_triage_source *source, struct xp_arena *arena);
	/* Fills the document head of values that have one; NULL: the value has none. */
	void (*head)(void *value, const struct xp_document *head);
};

/* By enum xp_source_id. */
extern const struct xp_triage_feed xp_triage_feeds[XP_SOURCE_COUNT];
/* NULL when the build has none. */
const struct xp_inventory_kind *xp_triage_inventory(enum xp_source_id id);
/* What the target is, as its mappings tell. */
bool xp_triage_maps_cuda(const struct xp_target *target);
bool xp_triage_maps_python(const struct xp_target *target);
/* The source without an inventory: not_cuda or absent. */
struct xp_triage_source xp_triage_source_absent(enum xp_source_id id, const struct xp_target *target);

#endif
