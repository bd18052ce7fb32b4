/* SPDX-License-Identifier: Apache-2.0 */
/* MeasurementSpec (contract 10.2) as a value, and reading of spec files of every kind. */
#ifndef XP_PLAN_SPEC_H
#define XP_PLAN_SPEC_H

#include "plan/plan.h"

struct xp_measurement_spec {
	const char *name;
	struct xp_target_id target;
	const char *start_selector, *end_selector;
	int match_policy; /* enum xp_policy_id */
	struct xp_opt_u64 samples, duration_ms;
	uint64_t timeout_ms;
	struct xp_opt_u64 max_events;
	int measurement_mode; /* enum xp_measurement_mode, -1: absent = exact */
	struct xp_opt_u64 max_groups;
	struct xp_opt_f64 max_cost;
	struct xp_opt_bool allow_cxx_return, records_only;
};
enum xp_measurement_mode { XP_MODE_EXACT, XP_MODE_AGGREGATE, XP_MODE_COUNT };
extern const struct xp_record xp_measurement_spec_record; /* "MeasurementSpec", closed */

enum xp_spec_kind { XP_SPEC_MEASUREMENT, XP_SPEC_GRAPH, XP_SPEC_CPU, XP_SPEC_SYSCALLS, XP_SPEC_KIND_COUNT };

/*
 * Reads a regular file of at most 1 MiB and tells its kind by its keys. *ret_document is an owned reference.
 * TRACE_EXPORT_FAILED: unreadable; INVALID_EVENT_SELECTOR: not JSON, or of no known kind.
 */
int xp_spec_load(const char *path, enum xp_spec_kind *ret_kind, json_t **ret_document, struct xp_err *reterr);
/* One bound against its limits; SESSION_LIMIT_EXCEEDED with details.limit. */
int xp_spec_bound(const char *name, uint64_t value, uint64_t min, uint64_t max, struct xp_err *reterr);
/* The same for a share, 0 to 1. */
int xp_spec_share(const char *name, double value, struct xp_err *reterr);
/* Types by the record's table, then the bounds of contract 6.2. */
int xp_measurement_spec_read(const json_t *document, struct xp_arena *arena, struct xp_measurement_spec *ret_spec, struct xp_err *reterr);

#endif
