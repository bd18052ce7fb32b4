/* SPDX-License-Identifier: Apache-2.0 */
/* Plan to ValidationResult. In: a plan with one edge. Out: a plain value. No state. */
#include "plan/validation.h"

#include <string.h>

#include "family/resolved_doc.h"

static bool has_issue(const struct xp_plan *plan, const char *label)
{
	for (size_t i = 0; i < plan->n_issues; i++)
		if (plan->issues[i].endpoint && !strcmp(plan->issues[i].endpoint, label))
			return true;
	return false;
}

static bool has_code(const struct xp_plan *plan, enum xp_err_code code)
{
	for (size_t i = 0; i < plan->n_issues; i++)
		if (plan->issues[i].err->code == code)
			return true;
	return false;
}

static bool is_right_missing(const struct xp_plan *plan)
{
	return plan->n_features > 0;
}

static const struct xp_linux_endpoint *describe_linux(const struct xp_endpoint *endpoint, struct xp_arena *arena)
{
	struct xp_linux_endpoint *out = xp_arena_new_of(arena, struct xp_linux_endpoint);
	const struct xp_resolved *resolved = endpoint->resolved;

	out->event_type = (int)endpoint->type;
	if (endpoint->syscall.name) {
		out->probe_kind = XP_PROBE_SYSCALL;
		out->category = "syscalls";
		out->name = endpoint->syscall.name;
		out->syscall_number = (struct xp_opt_u32)XP_SOME(endpoint->syscall.number);
	} else if (endpoint->tracepoint.name) {
		out->probe_kind = XP_PROBE_TRACEPOINT;
		out->category = endpoint->tracepoint.category;
		out->name = endpoint->tracepoint.name;
	} else {
		bool start = endpoint->type == XP_EV_PYTHON_GC_START;
		bool marker = resolved && resolved->usdt_provider;

		out->probe_kind = marker ? XP_PROBE_USDT : start ? XP_PROBE_UPROBE : XP_PROBE_URETPROBE;
		out->category = "python";
		out->name = start ? "gc__start" : "gc__done";
		out->binary_path = resolved ? resolved->binary_path : NULL;
		out->provider = marker ? resolved->usdt_provider : NULL;
	}
	return out;
}

static const struct xp_cuda_endpoint *describe_cuda(const struct xp_endpoint *endpoint, struct xp_arena *arena)
{
	struct xp_cuda_endpoint *out = xp_arena_new_of(arena, struct xp_cuda_endpoint);
	bool nvtx = endpoint->type == XP_EV_NVTX_RANGE_START || endpoint->type == XP_EV_NVTX_RANGE_END;

	out->event_type = (int)endpoint->type;
	out->api_domain = endpoint->cuda.domain == XP_API_NONE ? -1 : (int)endpoint->cuda.domain;
	out->api_name = endpoint->cuda.api_name;
	out->memcpy_kind = endpoint->cuda.memcpy_kind;
	if (nvtx)
		out->nvtx_name_regex = endpoint->cuda.pattern;
	else if (endpoint->cuda.on_function)
		out->kernel_function_regex = endpoint->cuda.pattern;
	else
		out->kernel_name_regex = endpoint->cuda.pattern;
	return out;
}

struct xp_validated_endpoint xp_validated_endpoint_make(const struct xp_plan *plan, unsigned index, const char *label)
{
	const struct xp_endpoint *endpoint = &plan->endpoints[index];
	struct xp_validated_endpoint out = {
		.selector = endpoint->selector,
		.source = endpoint->family->host ? 0 : 1,
		.event_type = (int)endpoint->type,
		.collectable = !has_issue(plan, label) && !is_right_missing(plan),
	};
	bool function = endpoint->type == XP_EV_HOST_FUNCTION_ENTRY || endpoint->type == XP_EV_HOST_FUNCTION_EXIT;

	if (!endpoint->family->host)
		out.cuda = describe_cuda(endpoint, plan->arena);
	else if (function)
		out.host = endpoint->resolved ? xp_resolved_doc_make(endpoint, xp_target_identity(plan->target), plan->arena) : NULL;
	else
		out.linux_endpoint = describe_linux(endpoint, plan->arena);
	return out;
}

static bool is_activity(const struct xp_endpoint *endpoint)
{
	return endpoint->family->needs & XP_NEED_ACTIVITY;
}

struct xp_requirements xp_requirements_of(const struct xp_plan *plan, const struct xp_endpoint *start, const struct xp_endpoint *end)
{
	unsigned needs = start->family->needs | end->family->needs;
	bool agent = needs & (XP_NEED_CALLBACK | XP_NEED_ACTIVITY | XP_NEED_NVTX);
	bool startup = needs & XP_NEED_NVTX && has_code(plan, XP_E_CUPTI_AGENT_NOT_LOADED);

	return (struct xp_requirements){
		.needs_ebpf = needs & (XP_NEED_BPF_UPROBE | XP_NEED_BPF_SYSCALL | XP_NEED_BPF_TRACEPOINT),
		.needs_cupti = needs & (XP_NEED_CALLBACK | XP_NEED_ACTIVITY),
		.needs_cupti_callback = needs & XP_NEED_CALLBACK,
		.needs_cupti_activity = needs & XP_NEED_ACTIVITY,
		.needs_nvtx = needs & XP_NEED_NVTX,
		.needs_clock_alignment = is_activity(start) != is_activity(end),
		.agent_activation = !agent		 ? XP_AGENT_NOT_REQUIRED
				    : startup		 ? XP_AGENT_STARTUP
				    : plan->agent_loaded ? XP_AGENT_LOADED
							 : XP_AGENT_INJECTION,
		.target_mutation = agent && !startup && !plan->agent_loaded,
	};
}

struct xp_advice xp_advice_of(const struct xp_endpoint *start, const struct xp_endpoint *end, struct xp_arena *arena)
{
	struct xp_recommendation found = xp_recommend(start, end);
	const char **names = xp_arena_array(arena, const char *, XP_POLICY_COUNT);

	memcpy(names, found.compatible_policies, found.n_compatible * sizeof(*names));
	return (struct xp_advice){
		.policy = found.policy,
		.reason = found.reason,
		.compatible_policies = names,
		.n_compatible_policies = found.n_compatible,
	};
}

static bool is_broad(const struct xp_endpoint *endpoint)
{
	bool kernel = endpoint->type == XP_EV_GPU_KERNEL_START || endpoint->type == XP_EV_GPU_KERNEL_END;

	return kernel && (!endpoint->cuda.pattern || !strcmp(endpoint->cuda.pattern, ".*"));
}

void xp_validation_warn(struct xp_plan *plan, const struct xp_requirements *requirements)
{
	bool broad = false;

	for (unsigned i = 0; i < plan->n_endpoints; i++)
		broad = broad || is_broad(&plan->endpoints[i]);
	if (broad)
		xp_warn(&plan->warnings, "BROAD_EVENT_SELECTOR", NULL,
			"the selector takes every kernel; a name~ filter makes the answer sharper");
	if (requirements->target_mutation)
		xp_warn(&plan->warnings, "TARGET_PROCESS_WILL_BE_MODIFIED", NULL, "measure would inject the agent into process %u",
			xp_target_pid(plan->target));
}

struct xp_validation xp_validation_make(struct xp_plan *plan)
{
	const struct xp_edge *edge = &plan->edges[0];
	const struct xp_endpoint *start = &plan->endpoints[edge->start], *end = &plan->endpoints[edge->end];
	struct xp_validation out = {
		.valid = plan->n_issues == 0,
		.target = *xp_target_identity(plan->target),
		.start = xp_validated_endpoint_make(plan, edge->start, "start"),
		.end = xp_validated_endpoint_make(plan, edge->end, edge->end == edge->start ? "start" : "end"),
		.match_policy = (int)edge->policy,
		.policy_recommendation = xp_advice_of(start, end, plan->arena),
		.requirements = xp_requirements_of(plan, start, end),
		.issues = plan->issues,
		.n_issues = plan->n_issues,
		.features = plan->features,
		.n_features = plan->n_features,
		.arena = plan->arena,
	};

	xp_validation_warn(plan, &out.requirements);
	out.warnings = plan->warnings.at;
	out.n_warnings = plan->warnings.n;
	return out;
}

static void cut_selectors(struct xp_validated_endpoint *endpoint, struct xp_arena *arena)
{
	enum { SELECTOR_BYTES = 1024 };

	if (strlen(endpoint->selector) <= SELECTOR_BYTES)
		return;
	endpoint->selector = xp_utf8_cut(arena, endpoint->selector, SELECTOR_BYTES, NULL);
	endpoint->host = endpoint->host ? xp_resolved_doc_cut(endpoint->host, SELECTOR_BYTES, arena) : NULL;
}

bool xp_validation_shrink(void *value)
{
	struct xp_validation *validation = value;

	if (validation->cut)
		return false;
	validation->cut = true;
	cut_selectors(&validation->start, validation->arena);
	cut_selectors(&validation->end, validation->arena);
	return true;
}
