// SPDX-License-Identifier: Apache-2.0
/* Field tables of DiscoveryResult. No state. */
#include "result/discovery.h"

static const struct xp_field candidate_fields[] = {
	XP_FIELD_OBJ(xp_candidate, target, &xp_target_id_record, "which process"),
	XP_FIELD(xp_candidate, parent_pid, U32, "its parent"),
	XP_FIELD(xp_candidate, executable, STR, "path as the process sees it"),
	XP_FIELD_STRS(xp_candidate, command_line, "arguments; secrets may be in them; long ones are cut and end in an ellipsis"),
	XP_FIELD_STRS(xp_candidate, gpu_uuids, "devices on which it holds a compute context, sorted"),
	XP_FIELD(xp_candidate, gpu_memory_bytes, OPT_U64, "its memory on all of them; null: the driver does not tell"),
	XP_FIELD_STRS(xp_candidate, mig_uuids, "MIG instances that it uses, sorted"),
	XP_FIELD(xp_candidate, nested_pid, OPT_U32, "its number in its own PID namespace; null: that is xprobe's"),
	XP_FIELD(xp_candidate, agent_loaded, BOOL, "maps xprobe's agent"),
	XP_FIELD(xp_candidate, thread_count, U32, "threads now"),
};
static const struct xp_record candidate_record =
	XP_RECORD("DiscoveryCandidate", xp_candidate, candidate_fields, "a process that holds a CUDA compute context");

static const struct xp_field fields[] = {
	XP_FIELD_CONST("schema_version", "2.0", "version of this record"),
	XP_FIELD_TRUE("ok", "the list was made"),
	XP_FIELD_OBJ(xp_discovery, root, &xp_target_id_record, "root of the process tree"),
	XP_FIELD(xp_discovery, limit, U64, "--limit"),
	XP_FIELD(xp_discovery, total_candidates, U64, "before the cut"),
	XP_FIELD(xp_discovery, truncated, BOOL, "more than limit"),
	XP_FIELD_LIST(xp_discovery, candidates, &candidate_record, "by pid"),
	XP_FIELD_LIST(xp_discovery, warnings, &xp_warning_record, "what the reader must know"),
};
const struct xp_record xp_discovery_record =
	XP_RECORD("DiscoveryResult", xp_discovery, fields, "processes of a tree that hold a CUDA compute context");
