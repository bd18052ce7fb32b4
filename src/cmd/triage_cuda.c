// SPDX-License-Identifier: Apache-2.0
/* Before and after the CUDA sources of a triage. In: session, target. Out: struct xp_cuda_window, warnings. No state. */
#include "cmd/triage_cuda.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/agent_file.h"
#include "cmd/measure_cuda.h"
#include "cmd/measure_cupti.h"
#include "engine/cupti_find.h"

/*
 * A process with a CUDA context maps device files; one that only loaded libcuda does not. A child forked from such a process keeps the
 * mappings, though CUDA does not work in it: there the agent must ask, as it must where the target's view has no such files.
 */
static bool uses_no_device(const struct xp_target *target)
{
	const struct xp_maps *maps = xp_target_maps(target);
	char device[64];

	snprintf(device, sizeof(device), "/proc/%u/root/dev/nvidiactl", xp_target_pid(target));
	if (access(device, F_OK))
		return false;
	for (size_t i = 0; i < maps->n; i++)
		if (!strncmp(maps->at[i].path, "/dev/nvidia", strlen("/dev/nvidia")))
			return false;
	return true;
}

int xp_triage_cuda_check(struct xp_session *session, struct xp_target *target, struct xp_cuda_window *cuda, struct xp_err *reterr)
{
	struct xp_cupti_choice choice;

	*cuda = (struct xp_cuda_window){ .place = xp_agent_file_place(session) };
	if (uses_no_device(target))
		return xp_fail(reterr, XP_E_CUDA_CONTEXT_NOT_FOUND, "the target maps libcuda, but no GPU: it has no CUDA context");
	int rc = xp_cupti_find(target, (unsigned)xp_flag_u64(session, "--cuda-major", 0), session->arena, &choice, reterr);
	if (!rc)
		rc = xp_cupti_version_check(target, true, &choice, reterr);
	if (!rc)
		rc = xp_agent_check(target, &cuda->place, session->arena, &cuda->loaded, reterr);
	if (rc)
		return rc;
	if (xp_cuda_maps_profiler(target))
		xp_warn(&session->warnings, "TORCH_PROFILER_PRESENT", NULL,
			"the process maps torch.profiler; a profile that is first started during a capture has no GPU events until the "
			"process restarts");
	cuda->options = (struct xp_agent_options){
		.session = session->session_id,
		.cupti_path = choice.path,
		.cuda_major = choice.major,
		.records_only = xp_flag_on(session, "--records-only"),
		.deadline_ms = xp_flag_u64(session, "--timeout-ms", 0),
	};
	return 0;
}

void xp_triage_cuda_failed(struct xp_triage_source *sources, enum xp_source_id id)
{
	const struct xp_triage_source *kernels = &sources[XP_SOURCE_CUDA_KERNELS];
	struct xp_triage_source *source = &sources[id];

	if (id == XP_SOURCE_CUDA_COPIES && kernels->status == XP_SOURCE_UNAVAILABLE) {
		*source = *kernels;
		source->name = xp_source_names[id];
	}
	if (source->reason == XP_REASON_ABSENT)
		source->reason = XP_REASON_FAILED;
}

void xp_triage_cuda_warn(struct xp_session *session, const struct xp_cuda_window *cuda, const struct xp_cost *cost)
{
	struct xp_agent_facts facts = { .counters.graph_predates = cuda->all ? cuda->facts.counters.graph_predates : 0 };

	if (cuda->injected)
		xp_cuda_warn_injected(session, cuda->options.cuda_major, cuda->place.agent_path, cuda->options.cupti_path);
	if (cuda->all)
		facts.stall_ms = cuda->facts.stall_ms;
	facts.residual_ns_per_launch = cost->residual_ns_per_launch;
	xp_cuda_warn_effects(session, &facts);
}
