/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of API events that carry none: that of the only activity group with their correlation id. In: a match. State: the table. */
#include <stdlib.h>

#include "correlate/activity.h"
#include "correlate/exact.h"
#include "correlate/keys.h"

struct group {
	uint32_t context;
	enum xp_context_found found;
};

struct xp_contexts {
	uint32_t *group_of; /* by event: number of its (process, correlation id); only set for the events in question */
	struct group *groups;
};

static bool has_correlation(const struct xp_event *event)
{
	return !(event->flags & XP_EVF_NO_CORRELATION) && event->gpu.correlation != XP_ID_UNKNOWN;
}

static struct xp_key key_of(const struct xp_match *match, uint32_t event)
{
	return (struct xp_key){ { xp_match_identity(match, event), match->events[event].gpu.correlation, 0 } };
}

static bool lacks_context(const struct xp_match *match, uint32_t event)
{
	const struct xp_event *e = &match->events[event];
	bool selected = xp_match_is_start(match, event) || xp_match_is_end(match, event);

	return selected && xp_is_api(e->type) && e->flags & XP_EVF_NO_CONTEXT && has_correlation(e);
}

static bool any_lacks_context(const struct xp_match *match)
{
	for (uint32_t i = 0; i < match->n; i++)
		if (lacks_context(match, i))
			return true;
	return false;
}

static bool number_events(const struct xp_match *match, struct xp_keys *keys, uint32_t *group_of)
{
	for (uint32_t i = 0; i < match->n; i++) {
		if (!lacks_context(match, i))
			continue;
		struct xp_key key = key_of(match, i);
		group_of[i] = xp_keys_add(keys, &key);
		if (group_of[i] == XP_KEY_ABSENT)
			return false;
	}
	return true;
}

/* Activities whose launch is not known are of no group: their id says nothing. */
static void note_activity(const struct xp_match *match, uint32_t event, const struct xp_keys *keys, struct group *groups)
{
	const struct xp_event *e = &match->events[event];

	if (!xp_is_activity(e->type) || e->flags & (XP_EVF_INVALID_TIME | XP_EVF_NO_CONTEXT | XP_EVF_LAUNCH_UNKNOWN) || !has_correlation(e))
		return;
	struct xp_key key = key_of(match, event);
	uint32_t number = xp_keys_find(keys, &key);
	if (number == XP_KEY_ABSENT)
		return;
	if (groups[number].found == XP_CONTEXT_NO_ACTIVITY)
		groups[number] = (struct group){ e->gpu.context, XP_CONTEXT_ONE };
	else if (groups[number].context != e->gpu.context)
		groups[number].found = XP_CONTEXT_SEVERAL;
}

static bool fill(const struct xp_match *match, struct xp_contexts *contexts)
{
	struct xp_keys keys = { 0 };

	contexts->group_of = malloc((size_t)match->n * sizeof(*contexts->group_of));
	if (!contexts->group_of || !number_events(match, &keys, contexts->group_of)) {
		xp_keys_done(&keys);
		return false;
	}
	contexts->groups = calloc(keys.n, sizeof(*contexts->groups));
	for (uint32_t i = 0; i < match->n && contexts->groups; i++)
		note_activity(match, i, &keys, contexts->groups);
	xp_keys_done(&keys);
	return contexts->groups != NULL;
}

struct xp_contexts *xp_contexts_new(const struct xp_match *match, bool *ret_ok)
{
	*ret_ok = true;
	if (!any_lacks_context(match))
		return NULL;
	struct xp_contexts *contexts = calloc(1, sizeof(*contexts));
	*ret_ok = contexts && fill(match, contexts);
	if (*ret_ok)
		return contexts;
	xp_contexts_free(contexts);
	return NULL;
}

void xp_contexts_free(struct xp_contexts *contexts)
{
	if (!contexts)
		return;
	free(contexts->group_of);
	free(contexts->groups);
	free(contexts);
}

enum xp_context_found xp_contexts_of(const struct xp_contexts *contexts, uint32_t event, uint32_t *ret_context)
{
	const struct group *group = &contexts->groups[contexts->group_of[event]];

	*ret_context = group->context;
	return group->found;
}
