/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of the agent to the account of contract 15.1. No state. */
#include "collect/agent_cuda.h"

struct xp_cuda_account *xp_agent_cuda_account(const struct xp_agent_facts *facts, struct xp_arena *arena)
{
	const struct xp_agent_counters *counters = &facts->counters;
	struct xp_cuda_account *account = xp_arena_new_of(arena, struct xp_cuda_account);

	*account = (struct xp_cuda_account){
		.api_launches_seen = counters->api_launches,
		.graph_launches_seen = counters->graph_launches,
		.activities_seen = counters->activities_seen,
		.invalid_time_records = counters->invalid_times,
		.in_flight_at_stop = counters->in_flight,
		.predates_attach = counters->graph_predates,
		.launch_unknown = counters->launch_unknown,
		.cupti_version = facts->identity.cupti_version,
		.driver_version = facts->identity.driver_version,
		.agent_abi = XP_CAPTURE_ABI_5,
		.contexts_seen = (uint32_t)counters->contexts,
		.agent_memory_bytes = counters->memory_bytes,
	};
	return account;
}
