/* SPDX-License-Identifier: Apache-2.0 */
/* `measure --spec` of a CpuSamplingSpec. In: the document. Out: the run that it asks for. No state. */
#include <string.h>

#include "cmd/inventory_run.h"
#include "inventory/cpu_samples_spec.h"

int xp_cpu_spec_read(const json_t *document, struct xp_arena *arena, struct xp_cpu_spec *ret_spec, struct xp_err *reterr)
{
	struct xp_cpu_spec spec;
	int rc = xp_record_read(&xp_cpu_spec_record, document, arena, XP_E_INVALID_EVENT_SELECTOR, &spec, reterr);

	if (rc)
		return rc;
	const struct {
		const char *name;
		uint64_t value, min, max;
	} bounds[] = {
		{ "timeout_ms", spec.timeout_ms, 1, 3600000 },
		{ "duration_ms", spec.duration_ms, 1, spec.timeout_ms },
		{ "frequency_hz", spec.frequency_hz, 1, 10000 },
		{ "max_samples", spec.max_samples, 1, 10000000 },
		{ "max_groups", spec.max_groups, 1, 1048576 },
		{ "stack_depth", spec.stack_depth, 1, 512 },
		{ "max_threads", spec.max_threads, 1, 65536 },
		{ "min_block_us", spec.min_block_us.set ? spec.min_block_us.v : 1, 1, 10000000 },
		{ "name", spec.name ? strlen(spec.name) : 0, 0, 256 },
	};
	for (size_t i = 0; i < XP_LEN(bounds) && !rc; i++)
		rc = xp_spec_bound(bounds[i].name, bounds[i].value, bounds[i].min, bounds[i].max, reterr);
	if (!rc && spec.min_block_us.set && !(spec.off_cpu.set && spec.off_cpu.v))
		rc = xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "min_block_us goes with off_cpu: true");
	if (!rc)
		*ret_spec = spec;
	return rc;
}

int xp_measure_cpu_spec(struct xp_session *session, const json_t *document, struct xp_err *reterr)
{
	struct xp_inventory_run run = { 0 };
	struct xp_cpu_spec spec;
	int rc = xp_cpu_spec_read(document, session->arena, &spec, reterr);

	if (rc)
		return rc;
	run.target = spec.target;
	run.request = (struct xp_inventory_request){
		.name = spec.name,
		.duration_ms = spec.duration_ms,
		.timeout_ms = spec.timeout_ms,
		.max_groups = spec.max_groups,
		.max_samples = spec.max_samples,
		.max_threads = spec.max_threads,
		.frequency_hz = spec.frequency_hz,
		.stack_depth = spec.stack_depth,
		.off_cpu = spec.off_cpu.set && spec.off_cpu.v,
		.min_block_us = spec.min_block_us.v,
	};
	return xp_inventory_of_spec(session, "--cpu-sample", spec.threads, &run, reterr);
}
