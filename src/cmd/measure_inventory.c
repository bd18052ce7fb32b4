/* SPDX-License-Identifier: Apache-2.0 */
/* `measure --syscall-aggregate` and its like, by flags or by spec. No state. */
#include "cmd/inventory_run.h"

#include <string.h>

#include "inventory/syscalls_spec.h"

int xp_measure_inventory(struct xp_session *session, const char *flag, struct xp_err *reterr)
{
	const struct xp_flag_use *cost = xp_flag_find(session, "--max-cost");
	struct xp_inventory_run run = { .max_cost = cost ? cost->share : 0.05 };
	int rc = xp_inventory_of_flag(flag, &run.kind, reterr);

	if (!rc)
		rc = xp_measure_pid(session, &run.target.pid, reterr);
	if (!rc)
		rc = xp_inventory_flags(session, &run.request, reterr);
	if (!rc)
		rc = xp_inventory_output(session, &run, reterr);
	return rc ? rc : xp_inventory_measure(session, &run, reterr);
}

int xp_syscalls_spec_read(const json_t *document, struct xp_arena *arena, struct xp_syscalls_spec *ret_spec, struct xp_err *reterr)
{
	struct xp_syscalls_spec spec;
	int rc = xp_record_read(&xp_syscalls_spec_record, document, arena, XP_E_INVALID_EVENT_SELECTOR, &spec, reterr);

	if (!rc)
		rc = xp_spec_bound("timeout_ms", spec.timeout_ms, 1, 3600000, reterr);
	if (!rc)
		rc = xp_spec_bound("duration_ms", spec.duration_ms, 1, spec.timeout_ms, reterr);
	if (!rc)
		rc = xp_spec_bound("max_groups", spec.max_groups, 1, 1048576, reterr);
	if (!rc)
		rc = xp_spec_bound("max_inflight", spec.max_inflight, 1, 65536, reterr);
	if (!rc && spec.name)
		rc = xp_spec_bound("name", strlen(spec.name), 0, 256, reterr);
	if (!rc)
		*ret_spec = spec;
	return rc;
}

int xp_measure_syscall_spec(struct xp_session *session, const json_t *document, struct xp_err *reterr)
{
	struct xp_inventory_run run = { 0 };
	struct xp_syscalls_spec spec;
	int rc = xp_syscalls_spec_read(document, session->arena, &spec, reterr);

	if (rc)
		return rc;
	run.target = spec.target;
	run.request = (struct xp_inventory_request){
		.name = spec.name,
		.duration_ms = spec.duration_ms,
		.timeout_ms = spec.timeout_ms,
		.max_groups = spec.max_groups,
		.max_inflight = spec.max_inflight,
	};
	return xp_inventory_of_spec(session, "--syscall-aggregate", spec.threads, &run, reterr);
}
