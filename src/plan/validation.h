/* SPDX-License-Identifier: Apache-2.0 */
/* ValidationResult (contract 10.4) out of a plan. */
#ifndef XP_PLAN_VALIDATION_H
#define XP_PLAN_VALIDATION_H

#include "plan/plan.h"

struct xp_resolved_doc;

struct xp_linux_endpoint {
	int event_type, probe_kind;
	const char *category, *name;
	struct xp_opt_u32 syscall_number;
	const char *binary_path, *provider;
};

struct xp_cuda_endpoint {
	int event_type, api_domain; /* api_domain -1: null */
	const char *api_name, *kernel_name_regex, *nvtx_name_regex;
	int memcpy_kind;
	const char *kernel_function_regex;
	const char *const *callback_names;
	size_t n_callback_names;
};

struct xp_validated_endpoint {
	const char *selector;
	int source, event_type;
	bool collectable;
	const struct xp_resolved_doc *host;
	const struct xp_linux_endpoint *linux_endpoint;
	const struct xp_cuda_endpoint *cuda;
};
extern const struct xp_record xp_validated_endpoint_record;

enum xp_activation { XP_AGENT_NOT_REQUIRED, XP_AGENT_LOADED, XP_AGENT_INJECTION, XP_AGENT_STARTUP, XP_ACTIVATION_COUNT };
extern const char *const xp_activation_names[XP_ACTIVATION_COUNT];

struct xp_requirements {
	bool needs_ebpf, needs_cupti, needs_cupti_callback, needs_cupti_activity, needs_nvtx, needs_clock_alignment;
	int agent_activation;
	bool target_mutation;
};
extern const struct xp_record xp_requirements_record;

struct xp_advice {
	int policy;
	const char *reason;
	const char *const *compatible_policies;
	size_t n_compatible_policies;
};
extern const struct xp_record xp_advice_record; /* "PolicyRecommendation" */

struct xp_validation {
	bool valid;
	struct xp_target_id target;
	struct xp_validated_endpoint start, end;
	int match_policy;
	struct xp_advice policy_recommendation;
	struct xp_requirements requirements;
	const struct xp_plan_issue *issues;
	size_t n_issues;
	const struct xp_feature *features;
	size_t n_features;
	const struct xp_warning *warnings;
	size_t n_warnings;
	/* Behind the document. */
	struct xp_arena *arena;
	bool cut;
};
extern const struct xp_record xp_validation_record; /* "ValidationResult" */
/* {code, message, endpoint} */
extern const struct xp_record xp_plan_issue_record;

/* Describes one endpoint; collectable: no issue names it. */
struct xp_validated_endpoint xp_validated_endpoint_make(const struct xp_plan *plan, unsigned index, const char *label);
struct xp_advice xp_advice_of(const struct xp_endpoint *start, const struct xp_endpoint *end, struct xp_arena *arena);
struct xp_requirements xp_requirements_of(const struct xp_plan *plan, const struct xp_endpoint *start, const struct xp_endpoint *end);
/* Adds BROAD_EVENT_SELECTOR and TARGET_PROCESS_WILL_BE_MODIFIED to the plan where they apply. */
void xp_validation_warn(struct xp_plan *plan, const struct xp_requirements *requirements);
/* The result of a plan with one edge. May add warnings to the plan (BROAD_EVENT_SELECTOR, TARGET_PROCESS_WILL_BE_MODIFIED). */
struct xp_validation xp_validation_make(struct xp_plan *plan);
enum { XP_VALIDATION_BUDGET = 16384 };
/* For the size budget: selectors to 1,024 bytes; false when that is done. `value`: struct xp_validation. */
bool xp_validation_shrink(void *value);

#endif
