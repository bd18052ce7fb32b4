/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of API events that carry none: that of the only activity group with their correlation id. In: a match. State: the table. */
#include <stdlib.h>

#include "correlate/activity.h"
#include "correlate/exact.h"
#include "correlate/keys.h"

struct xp_contexts {
	struct xp_keys keys; /* (process, correlation id) of the API events in question */
	struct {
		uint32_t context;
		enum xp_context_found found;
	} *at;		     /* by key number */
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

static void note_activity(struct xp_contexts *contexts, const struct xp_match *match, uint32_t event)
{
	const struct xp_event *e = &match->events[event];

	if (!xp_is_activity(e->type) || e->flags & (XP_EVF_INVALID_TIME | XP_EVF_NO_CONTEXT | XP_EVF_LAUNCH_UNKNOWN) || !has_correlation(e))
		return;
	struct xp_key key = key_of(match, event);
	uint32_t number = xp_keys_find(&contexts->keys, &key);
	if (number == XP_KEY_ABSENT)
		return;
	if (contexts->at[number].found == XP_CONTEXT_NO_ACTIVITY) {
		contexts->at[number].context = e->gpu.context;
		contexts->at[number].found = XP_CONTEXT_ONE;
	} else if (contexts->at[number].context != e->gpu.context) {
		contexts->at[number].found = XP_CONTEXT_SEVERAL;
	}
}

struct xp_contexts *xp_contexts_new(const struct xp_match *match, bool *ret_ok)
{
	struct xp_contexts *contexts = calloc(1, sizeof(*contexts));

	*ret_ok = contexts != NULL;
	for (uint32_t i = 0; i < match->n && *ret_ok; i++) {
		struct xp_key key = key_of(match, i);

		if (lacks_context(match, i))
			*ret_ok = xp_keys_add(&contexts->keys, &key) != XP_KEY_ABSENT;
	}
	if (*ret_ok && contexts->keys.n) {
		contexts->at = calloc(contexts->keys.n, sizeof(*contexts->at));
		*ret_ok = contexts->at != NULL;
	}
	if (!*ret_ok || !contexts->keys.n) {
		xp_contexts_free(contexts);
		return NULL;
	}
	for (uint32_t number = 0; number < contexts->keys.n; number++)
		contexts->at[number].found = XP_CONTEXT_NO_ACTIVITY;
	for (uint32_t i = 0; i < match->n; i++)
		note_activity(contexts, match, i);
	return contexts;
}

void xp_contexts_free(struct xp_contexts *contexts)
{
	if (!contexts)
		return;
	xp_keys_done(&contexts->keys);
	free(contexts->at);
	free(contexts);
}

enum xp_context_found xp_contexts_of(const struct xp_contexts *contexts, const struct xp_match *match, uint32_t event, uint32_t *ret_context)
{
	struct xp_key key = key_of(match, event);
	uint32_t number = contexts ? xp_keys_find(&contexts->keys, &key) : XP_KEY_ABSENT;

	if (number == XP_KEY_ABSENT)
		return XP_CONTEXT_NO_ACTIVITY;
	*ret_context = contexts->at[number].context;
	return contexts->at[number].found;
}
