/* SPDX-License-Identifier: Apache-2.0 */
/* What the CUDA side of a capture saw. */
#ifndef XP_COLLECT_CUDA_ACCOUNT_H
#define XP_COLLECT_CUDA_ACCOUNT_H

#include "base/field.h"

/* Contract 15.1 `collection.cuda`. */
struct xp_cuda_account {
	uint64_t api_launches_seen, graph_launches_seen, activities_seen, invalid_time_records, in_flight_at_stop, predates_attach,
		launch_unknown, within_clock_error;
	uint32_t cupti_version, driver_version, agent_abi, contexts_seen;
	uint64_t agent_memory_bytes;
};
extern const struct xp_record xp_cuda_account_record; /* "CudaAccount" */

#endif
