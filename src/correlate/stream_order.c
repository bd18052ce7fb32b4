/* SPDX-License-Identifier: Apache-2.0 */
/* stream_order: GPU work of one CUDA stream, both sides in time order. No state. */
#include "correlate/activity.h"
#include "correlate/match.h"

static unsigned rank(const struct xp_endpoint *start, const struct xp_endpoint *end)
{
	return xp_is_activity(start->type) && xp_is_activity(end->type) ? XP_RANK_STREAM : XP_RANK_IMPOSSIBLE;
}

static const char *method(const struct xp_endpoint *start)
{
	return "cuda_stream_order";
}

static enum xp_keyed stream_key(const struct xp_match *match, uint32_t event, void *arg, struct xp_key *ret_key)
{
	const struct xp_event *e = &match->events[event];

	if (!xp_match_is_start(match, event) && !xp_match_is_end(match, event))
		return XP_KEY_NONE;
	if (e->flags & (XP_EVF_NO_DEVICE | XP_EVF_NO_CONTEXT | XP_EVF_NO_STREAM) || e->gpu.stream == XP_ID_UNKNOWN)
		return XP_KEY_MISSING;
	ret_key->part[0] = xp_match_identity(match, event);
	ret_key->part[1] = (uint64_t)e->gpu.device << 32 | e->gpu.context;
	ret_key->part[2] = e->gpu.stream;
	return XP_KEY_SET;
}

static bool pair_stream(struct xp_match *match, uint32_t *member, uint32_t n, void *arg)
{
	return xp_match_in_order(match, member, n);
}

static bool run(struct xp_match *match)
{
	struct xp_grouping by_stream = { .key = stream_key, .group = pair_stream };

	return xp_match_by_key(match, &by_stream);
}

const struct xp_policy xp_policy_stream_order = {
	.name = "stream_order",
	.reason = "cuda_stream_order",
	.confidence = XP_CONF_HIGH,
	.rank = rank,
	.method = method,
	.run = run,
};
