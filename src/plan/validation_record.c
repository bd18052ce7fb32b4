/* SPDX-License-Identifier: Apache-2.0 */
/* Field tables of ValidationResult and its parts (contract 10.4). No state. */
#include "family/resolved_doc.h"
#include "plan/validation.h"

static const char *const source_names[] = { "host", "cuda" };
static const char *const api_domain_names[] = {
	[XP_API_NONE] = NULL,
	[XP_API_DRIVER] = "driver_api",
	[XP_API_RUNTIME] = "runtime_api",
};

const char *const xp_activation_names[XP_ACTIVATION_COUNT] = {
	[XP_AGENT_NOT_REQUIRED] = "not_required",
	[XP_AGENT_LOADED] = "already_loaded",
	[XP_AGENT_INJECTION] = "injection_required",
	[XP_AGENT_STARTUP] = "startup_required",
};

static const struct xp_field linux_fields[] = {
	XP_FIELD_ENUM(xp_linux_endpoint, event_type, xp_event_type_names, "type of its events"),
	XP_FIELD_ENUM(xp_linux_endpoint, probe_kind, xp_probe_kind_names, "how it is collected"),
	XP_FIELD(xp_linux_endpoint, category, STR, "syscalls, python, or the tracepoint's category"),
	XP_FIELD(xp_linux_endpoint, name, STR, "system call, marker or tracepoint"),
	XP_FIELD(xp_linux_endpoint, syscall_number, OPT_U32, "null: not a system call"),
	XP_FIELD(xp_linux_endpoint, binary_path, STR, "file of the marker; null: none", .flags = XP_NULLABLE),
	XP_FIELD(xp_linux_endpoint, provider, STR, "USDT provider; null: none", .flags = XP_NULLABLE),
};
static const struct xp_record linux_record =
	XP_RECORD("LinuxEndpoint", xp_linux_endpoint, linux_fields, "an endpoint that is a system call, tracepoint or interpreter marker");

static const struct xp_field cuda_fields[] = {
	XP_FIELD_ENUM(xp_cuda_endpoint, event_type, xp_event_type_names, "type of its events"),
	XP_FIELD_ENUM(xp_cuda_endpoint, api_domain, api_domain_names, "null: not an API call", .flags = XP_NULLABLE),
	XP_FIELD(xp_cuda_endpoint, api_name, STR, "folded API name; null: not an API call", .flags = XP_NULLABLE),
	XP_FIELD(xp_cuda_endpoint, kernel_name_regex, STR, "null: no filter on the kernel name", .flags = XP_NULLABLE),
	XP_FIELD(xp_cuda_endpoint, nvtx_name_regex, STR, "null: not an NVTX range", .flags = XP_NULLABLE),
	XP_FIELD_ENUM(xp_cuda_endpoint, memcpy_kind, xp_memcpy_kind_names, "null: any direction, or not a copy", .flags = XP_NULLABLE),
	XP_FIELD(xp_cuda_endpoint, kernel_function_regex, STR, "null: no filter on the function", .flags = XP_NULLABLE),
	XP_FIELD_STRS(xp_cuda_endpoint, callback_names, "API calls that @launch stands for; null: one named call or none",
		      .flags = XP_NULL_WHEN_EMPTY),
};
static const struct xp_record cuda_record = XP_RECORD("CudaEndpoint", xp_cuda_endpoint, cuda_fields, "an endpoint that CUPTI collects");

static const struct xp_field endpoint_fields[] = {
	XP_FIELD(xp_validated_endpoint, selector, STR, "as given"),
	XP_FIELD_ENUM(xp_validated_endpoint, source, source_names, "where its events come from"),
	XP_FIELD_ENUM(xp_validated_endpoint, event_type, xp_event_type_names, "type of its events"),
	XP_FIELD(xp_validated_endpoint, collectable, BOOL, "no issue stands against it"),
	XP_FIELD_PTR(xp_validated_endpoint, host, &xp_resolved_doc_record, "function probes; null: another kind", .flags = XP_NULLABLE),
	{ .name = "linux",
	  .doc = "system calls, tracepoints, interpreter markers; null: another kind",
	  .kind = XP_KIND_PTR,
	  .flags = XP_NULLABLE,
	  .offset = offsetof(struct xp_validated_endpoint, linux_endpoint),
	  .sub = &linux_record },
	XP_FIELD_PTR(xp_validated_endpoint, cuda, &cuda_record, "CUDA; null: another kind", .flags = XP_NULLABLE),
};
const struct xp_record xp_validated_endpoint_record = XP_RECORD("ValidatedEndpoint", xp_validated_endpoint, endpoint_fields,
								"a selector after resolution; exactly one of host, linux, cuda is set");

static const struct xp_field advice_fields[] = {
	XP_FIELD_ENUM(xp_advice, policy, xp_policy_names, "the first compatible policy"),
	XP_FIELD(xp_advice, reason, STR, "why it comes first"),
	XP_FIELD_STRS(xp_advice, compatible_policies, "every policy that is possible for the pair, best first"),
};
const struct xp_record xp_advice_record = XP_RECORD("PolicyRecommendation", xp_advice, advice_fields, "contract 9; the caller chooses");

static const struct xp_field requirement_fields[] = {
	XP_FIELD(xp_requirements, needs_ebpf, BOOL, "BPF programs are needed"),
	XP_FIELD(xp_requirements, needs_cupti, BOOL, "CUPTI is needed"),
	XP_FIELD(xp_requirements, needs_cupti_callback, BOOL, "CUPTI callbacks are needed"),
	XP_FIELD(xp_requirements, needs_cupti_activity, BOOL, "CUPTI activities are needed"),
	XP_FIELD(xp_requirements, needs_nvtx, BOOL, "NVTX hooks are needed"),
	XP_FIELD(xp_requirements, needs_clock_alignment, BOOL, "exactly one endpoint is a GPU activity"),
	XP_FIELD_ENUM(xp_requirements, agent_activation, xp_activation_names, "what has to happen to the agent"),
	XP_FIELD(xp_requirements, target_mutation, BOOL, "measure would modify the target process"),
};
const struct xp_record xp_requirements_record =
	XP_RECORD("Requirements", xp_requirements, requirement_fields, "what a measurement of this pair needs");

static const struct xp_field issue_fields[] = {
	XP_FIELD(xp_plan_issue, code, STR, "error code that measure would end with"),
	XP_FIELD(xp_plan_issue, message, STR, "one sentence for people"),
	XP_FIELD(xp_plan_issue, endpoint, STR, "start or end; null: not about one endpoint", .flags = XP_NULLABLE),
};
const struct xp_record xp_plan_issue_record = XP_RECORD("ValidationIssue", xp_plan_issue, issue_fields, "a reason why this cannot run now");

static const struct xp_field validation_fields[] = {
	XP_FIELD_CONST("schema_version", "2.0", "version of this record"),
	XP_FIELD_TRUE("ok", "always true"),
	XP_FIELD(xp_validation, valid, BOOL, "no issue; callers must stop on false"),
	XP_FIELD_OBJ(xp_validation, target, &xp_target_id_record, "the process looked at"),
	XP_FIELD_OBJ(xp_validation, start, &xp_validated_endpoint_record, "start endpoint"),
	XP_FIELD_OBJ(xp_validation, end, &xp_validated_endpoint_record, "end endpoint"),
	XP_FIELD_ENUM(xp_validation, match_policy, xp_policy_names, "policy as given"),
	XP_FIELD_OBJ(xp_validation, policy_recommendation, &xp_advice_record, "what the pair allows"),
	XP_FIELD_OBJ(xp_validation, requirements, &xp_requirements_record, "what the pair needs"),
	XP_FIELD_LIST(xp_validation, issues, &xp_plan_issue_record, "one a reason"),
	XP_FIELD_LIST(xp_validation, features, &xp_feature_record, "every missing right, as tried"),
	XP_FIELD_LIST(xp_validation, warnings, &xp_warning_record, "contract 1.6"),
};
const struct xp_record xp_validation_record =
	XP_RECORD("ValidationResult", xp_validation, validation_fields, "whether a pair can be measured, and how");
