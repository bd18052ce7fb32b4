/* SPDX-License-Identifier: Apache-2.0 */
/* What the inventory modes of measure and validate share. */
#ifndef XP_CMD_INVENTORY_RUN_H
#define XP_CMD_INVENTORY_RUN_H

#include "cmd/measure.h"
#include "inventory/inventory.h"

/* The inventory whose mode switch `flag` is. INVALID_ARGUMENT: none in this build. */
int xp_inventory_of_flag(const char *flag, const struct xp_inventory_kind **ret_kind, struct xp_err *reterr);
/* `name~REGEX` of --threads and of specs; NULL text leaves the request alone. The regex lives in the arena. INVALID_EVENT_SELECTOR. */
int xp_inventory_threads(const char *text, struct xp_arena *arena, struct xp_inventory_request *request, struct xp_err *reterr);
/* The request that the command line asks for. */
int xp_inventory_flags(const struct xp_session *session, struct xp_inventory_request *request, struct xp_err *reterr);

struct xp_cpu_spec;
struct xp_output;
struct xp_syscalls_spec;
/* Types by the record's table, then the bounds of contract 6.2. */
int xp_syscalls_spec_read(const json_t *document, struct xp_arena *arena, struct xp_syscalls_spec *ret_spec, struct xp_err *reterr);
int xp_cpu_spec_read(const json_t *document, struct xp_arena *arena, struct xp_cpu_spec *ret_spec, struct xp_err *reterr);

struct xp_inventory_run {
	const struct xp_inventory_kind *kind;
	struct xp_inventory_request request;
	struct xp_target_id target;
	bool identity_given;
	double max_cost;
	const struct xp_output *output; /* of --events-out; NULL: none */
	const char *events_out;
};
/* Tells in the error where the capture was kept; artifact NULL: nowhere. */
void xp_inventory_kept(struct xp_err *failure, const struct xp_artifact *artifact);
/* --events-out and --format, where the mode takes them; the destination is checked. */
int xp_inventory_output(const struct xp_session *session, struct xp_inventory_run *run, struct xp_err *reterr);
/* One window on one target; fills session->value and record. The value's first member is its struct xp_document. */
int xp_inventory_measure(struct xp_session *session, const struct xp_inventory_run *run, struct xp_err *reterr);
/* The same by a spec, of which run holds target and request; what else it needs comes from the flags beside the spec. threads: NULL all. */
int xp_inventory_of_spec(struct xp_session *session, const char *flag, const char *threads, struct xp_inventory_run *run,
			 struct xp_err *reterr);

#endif
