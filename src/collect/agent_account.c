/* SPDX-License-Identifier: Apache-2.0 */
/* Where every record of the agent went (contract 15.1). In: its counters and ours. Out: accounts. No state. */
#include "collect/agent_exact_priv.h"

static void add_reason(struct xp_account *account, struct xp_arena *arena, const char *name, uint64_t n)
{
	enum { MOST = 2 };

	if (!n)
		return;
	if (!account->dropped_reasons)
		account->dropped_reasons = xp_arena_array(arena, struct xp_count, MOST);
	account->dropped_reasons[account->n_dropped_reasons++] = (struct xp_count){ .name = name, .n = n };
	account->dropped += n;
}

static bool is_api(const struct xp_endpoint *endpoint)
{
	return endpoint->type == XP_EV_CUDA_API_ENTRY || endpoint->type == XP_EV_CUDA_API_EXIT;
}

/* Told by the calling threads, as NVTX ranges are too. */
static bool is_callback(const struct xp_endpoint *endpoint)
{
	return is_api(endpoint) || endpoint->type == XP_EV_NVTX_RANGE_START || endpoint->type == XP_EV_NVTX_RANGE_END;
}

static bool uses(const struct xp_agent_exact *exact, bool callbacks)
{
	for (unsigned i = 0; i < exact->plan->n_endpoints; i++)
		if (xp_agent_serves(&exact->plan->endpoints[i]) && is_callback(&exact->plan->endpoints[i]) == callbacks)
			return true;
	return false;
}

/* Calls among the delivered whose exit did not come: entries and exits of one selector are counted against each other. */
static uint64_t open_calls(const struct xp_agent_exact *exact)
{
	const struct xp_event *events = xp_store_events(exact->store);
	uint64_t open = 0;

	for (unsigned e = 0; e < exact->plan->n_edges; e++) {
		const struct xp_edge *edge = &exact->plan->edges[e];
		uint64_t starts = 0, ends = 0;

		if (exact->plan->endpoints[edge->start].type != XP_EV_CUDA_API_ENTRY ||
		    exact->plan->endpoints[edge->end].type != XP_EV_CUDA_API_EXIT)
			continue;
		for (uint64_t i = 0; i < xp_store_count(exact->store); i++) {
			starts += events[i].endpoints >> edge->start & 1;
			ends += events[i].endpoints >> edge->end & 1;
		}
		open += starts > ends ? starts - ends : 0;
	}
	return open;
}

struct xp_account *xp_agent_exact_accounts(const struct xp_agent_exact *exact, struct xp_arena *arena, size_t *ret_n)
{
	const struct xp_agent_counters *c = &exact->capture.counters;
	struct xp_account *accounts = xp_arena_array(arena, struct xp_account, 2), *account = accounts;

	if (uses(exact, true)) {
		*account = (struct xp_account){ .source = "cupti_callback", .delivered = exact->callbacks };
		add_reason(account, arena, "agent_buffer", c->callback_dropped + (uses(exact, false) ? 0 : exact->lost));
		account->still_open = open_calls(exact);
		account->emitted = account->delivered + account->dropped;
		account++;
	}
	if (uses(exact, false)) {
		*account = (struct xp_account){
			.source = "cupti_activity",
			.delivered = exact->activities,
			.filtered = c->filtered + exact->filtered,
		};
		add_reason(account, arena, "agent_buffer", c->activity_dropped + exact->lost);
		add_reason(account, arena, "cupti_buffer", c->cupti_dropped);
		account->emitted = account->delivered + account->dropped + account->filtered;
		account++;
	}
	*ret_n = (size_t)(account - accounts);
	return accounts;
}
