/* SPDX-License-Identifier: Apache-2.0 */
/* Field table of the CUDA account (contract 15.1). No state. */
#include "collect/cuda_account.h"

static const struct xp_field cuda_fields[] = {
	XP_FIELD(xp_cuda_account, api_launches_seen, U64, "kernel launches by API callbacks"),
	XP_FIELD(xp_cuda_account, graph_launches_seen, U64, "graph launches by API callbacks"),
	XP_FIELD(xp_cuda_account, activities_seen, U64, "activity records of any kind"),
	XP_FIELD(xp_cuda_account, invalid_time_records, U64, "records excluded because their times are impossible"),
	XP_FIELD(xp_cuda_account, in_flight_at_stop, U64, "launches without a record when collection stopped"),
	XP_FIELD(xp_cuda_account, predates_attach, U64, "launches of graphs built before the agent came"),
	XP_FIELD(xp_cuda_account, launch_unknown, U64, "activities without a launch to link to"),
	XP_FIELD(xp_cuda_account, within_clock_error, U64,
		 "pairs lost because the activity seems to begin before its launch, within the clock error"),
	XP_FIELD(xp_cuda_account, cupti_version, U32, "version CUPTI tells"),
	XP_FIELD(xp_cuda_account, driver_version, U32, "CUDA version of the driver"),
	XP_FIELD(xp_cuda_account, agent_abi, U32, "version of the capture records"),
	XP_FIELD(xp_cuda_account, contexts_seen, U32, "CUDA contexts"),
	XP_FIELD(xp_cuda_account, agent_memory_bytes, U64,
		 "the most memory that the agent takes of the process for this capture; 0: offline"),
};
const struct xp_record xp_cuda_account_record =
	XP_RECORD("CudaAccount", xp_cuda_account, cuda_fields, "what the CUDA side saw, contract 15.1");
