/* SPDX-License-Identifier: Apache-2.0 */
/* Field table of AggregateInventoryResult (contract 10.7). No state. */
#include "inventory/gpu_activity.h"

const char *const xp_gpu_kind_names[XP_GPU_KIND_COUNT] = {
	[XP_GPU_KERNEL] = "kernel",
	[XP_GPU_MEMCPY] = "memcpy",
	[XP_GPU_MEMSET] = "memset",
};

static const struct xp_field duration_fields[] = {
	XP_FIELD(xp_gpu_duration, min, U64, "shortest"),
	XP_FIELD(xp_gpu_duration, mean, F64, "total / count"),
	XP_FIELD(xp_gpu_duration, max, U64, "longest"),
	XP_FIELD(xp_gpu_duration, total, U64, "sum"),
};
static const struct xp_record duration_record = XP_RECORD("GpuDuration", xp_gpu_duration, duration_fields, "time on the device, ns");

static const struct xp_field group_fields[] = {
	XP_FIELD_ENUM(xp_gpu_group, activity, xp_gpu_kind_names, "what the device did"),
	XP_FIELD(xp_gpu_group, name, STR, "kernel name as CUPTI gives it; null: copies and sets", .flags = XP_NULLABLE),
	XP_FIELD(xp_gpu_group, name_complete, OPT_BOOL, "false: only a prefix is known, longer names may share the group"),
	XP_FIELD(xp_gpu_group, device_id, OPT_U32, "null: not known"),
	XP_FIELD_ENUM(xp_gpu_group, memcpy_kind, xp_memcpy_kind_names, "direction; null: not a copy", .flags = XP_NULLABLE),
	XP_FIELD_ENUM(xp_gpu_group, src_memory, xp_memory_kind_names, "where a copy read; null: not a copy", .flags = XP_NULLABLE),
	XP_FIELD_ENUM(xp_gpu_group, dst_memory, xp_memory_kind_names, "where a copy wrote; null: not a copy", .flags = XP_NULLABLE),
	XP_FIELD(xp_gpu_group, start_selector_hint, STR, "ready selector of its starts"),
	XP_FIELD(xp_gpu_group, end_selector_hint, STR, "ready selector of its ends"),
	XP_FIELD(xp_gpu_group, count, U64, "activities; a batched copy counts its copies"),
	XP_FIELD_OBJ(xp_gpu_group, duration_ns, &duration_record, "how long they took"),
	XP_FIELD(xp_gpu_group, total_bytes, OPT_U64, "bytes moved or set; null: kernels"),
	XP_FIELD(xp_gpu_group, histogram_log2_ns, HISTOGRAM, "[b, n]: n activities took 2^b to 2^(b+1) ns"),
	XP_FIELD(xp_gpu_group, in_graph, U64, "activities that came from graphs"),
	XP_FIELD(xp_gpu_group, function, STR, "demangled function without template arguments; null: not a kernel", .flags = XP_NULLABLE),
};
static const struct xp_record group_record =
	XP_RECORD("GpuActivityGroup", xp_gpu_group, group_fields, "activities of one kind, name and device");

static const struct xp_field inventory_fields[] = {
	XP_FIELD(xp_gpu_inventory, name, STR, "--name", .flags = XP_NULLABLE),
	XP_FIELD(xp_gpu_inventory, start_selector, STR, "as given"),
	XP_FIELD(xp_gpu_inventory, end_selector, STR, "as given"),
	XP_FIELD_LIST(xp_gpu_inventory, groups, &group_record, "by total time falling, count falling, name"),
};
static const struct xp_record inventory_record =
	XP_RECORD("GpuActivityInventory", xp_gpu_inventory, inventory_fields, "GPU activities of the window");

static const struct xp_field collection_fields[] = {
	XP_FIELD_CONST("completeness", "complete", "an incomplete table is an error"),
	XP_FIELD(xp_gpu_collection, observed_activities, U64, "activities that the selectors took"),
	XP_FIELD(xp_gpu_collection, grouped_activities, U64, "of these booked in a group"),
	XP_FIELD(xp_gpu_collection, dropped_activities, U64, "of these lost"),
	XP_FIELD(xp_gpu_collection, group_capacity, U64, "groups that can be kept"),
	XP_FIELD(xp_gpu_collection, groups, U64, "groups found"),
	XP_FIELD(xp_gpu_collection, occupied_slots, U64, "places of the table in use"),
	XP_FIELD(xp_gpu_collection, table_utilization, F64, "occupied_slots / group_capacity"),
	XP_FIELD(xp_gpu_collection, groups_listed, U64, "groups in this document; all are in the artifact"),
	XP_FIELD(xp_gpu_collection, window_ns, U64, "length of the window"),
	XP_FIELD_LIST(xp_gpu_collection, sources, &xp_account_record, "where every record of each source went"),
	XP_FIELD_PTR(xp_gpu_collection, cuda, &xp_cuda_account_record, "what the CUDA side saw", .flags = XP_NULLABLE),
};
static const struct xp_record collection_record =
	XP_RECORD("GpuActivityCollection", xp_gpu_collection, collection_fields, "observed = grouped + dropped");

static const struct xp_field activity_fields[] = {
	XP_FIELD_CONST("schema_version", "3.0", "version of this record"),
	XP_FIELD_TRUE("ok", "always true"),
	XP_FIELD_AS(xp_gpu_activity, "session_id", head.session_id, STR, "session that made it"),
	{ .name = "status",
	  .doc = "how the window ended",
	  .kind = XP_KIND_ENUM,
	  .offset = offsetof(struct xp_gpu_activity, head.status),
	  .names = xp_status_names,
	  .n_names = XP_STATUS_COUNT },
	{ .name = "target",
	  .doc = "the process looked at",
	  .kind = XP_KIND_OBJ,
	  .offset = offsetof(struct xp_gpu_activity, head.target),
	  .sub = &xp_target_id_record },
	XP_FIELD_OBJ(xp_gpu_activity, inventory, &inventory_record, "the groups"),
	XP_FIELD_OBJ(xp_gpu_activity, collection, &collection_record, "what was seen and kept"),
	XP_FIELD_OBJ(xp_gpu_activity, quality, &xp_quality_record, "how far it can be trusted"),
	{ .name = "evidence",
	  .doc = "where the evidence is",
	  .kind = XP_KIND_OBJ,
	  .offset = offsetof(struct xp_gpu_activity, head.evidence),
	  .sub = &xp_evidence_record },
	{ .name = "cost",
	  .doc = "what it cost the target",
	  .kind = XP_KIND_PTR,
	  .flags = XP_NULLABLE,
	  .offset = offsetof(struct xp_gpu_activity, head.cost),
	  .sub = &xp_cost_record },
	{ .name = "warnings",
	  .doc = "contract 1.6",
	  .kind = XP_KIND_LIST,
	  .offset = offsetof(struct xp_gpu_activity, head.warnings),
	  .count_offset = offsetof(struct xp_gpu_activity, head.n_warnings),
	  .sub = &xp_warning_record },
};
const struct xp_record xp_gpu_activity_record =
	XP_RECORD("AggregateInventoryResult", xp_gpu_activity, activity_fields, "GPU activities of a window, by name");
