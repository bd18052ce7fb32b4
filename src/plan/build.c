/* SPDX-License-Identifier: Apache-2.0 */
/* From selectors and a target to struct xp_plan. Failures of single endpoints are data. No state. */
#include "plan/build.h"

#include <stdio.h>
#include <string.h>

#include "select/select.h"

void xp_plan_init(struct xp_plan *plan, struct xp_target *target, struct xp_arena *arena)
{
	*plan = (struct xp_plan){ .arena = arena, .target = target, .warnings = { .arena = arena } };
}

static void err_done(void *err)
{
	xp_err_done(err);
}

void xp_plan_add_issue(struct xp_plan *plan, struct xp_err *err, const char *endpoint)
{
	struct xp_plan_issue *bigger = xp_arena_array(plan->arena, struct xp_plan_issue, plan->n_issues + 1);
	struct xp_err *kept = xp_arena_new_of(plan->arena, struct xp_err);

	if (plan->n_issues)
		memcpy(bigger, plan->issues, plan->n_issues * sizeof(*bigger));
	xp_err_move(kept, err);
	xp_arena_defer(plan->arena, err_done, kept);
	bigger[plan->n_issues++] = (struct xp_plan_issue){
		.code = xp_err_name(kept->code),
		.message = kept->message,
		.endpoint = endpoint,
		.err = kept,
	};
	plan->issues = bigger;
}

int xp_plan_endpoint(struct xp_plan *plan, const char *selector, const char *label, unsigned *ret_index, struct xp_err *reterr)
{
	for (unsigned i = 0; i < plan->n_endpoints; i++) {
		if (!strcmp(plan->endpoints[i].selector, selector)) {
			*ret_index = i;
			return 0;
		}
	}
	if (plan->n_endpoints == XP_MAX_ENDPOINTS) {
		int rc = xp_fail(reterr, XP_E_SESSION_LIMIT_EXCEEDED, "more than %d endpoints", XP_MAX_ENDPOINTS);

		xp_err_limit(reterr, "endpoints", plan->n_endpoints + 1, 1, XP_MAX_ENDPOINTS);
		return rc;
	}
	int rc = xp_select_parse(selector, plan->arena, &plan->endpoints[plan->n_endpoints], reterr);
	if (rc) {
		xp_err_detail(reterr, "endpoint", json_string(label));
		return rc;
	}
	*ret_index = plan->n_endpoints++;
	return 0;
}

/* Contract 5: these end a validation as an error record; everything else that resolution says is an issue. */
static bool ends_validation(enum xp_err_code code)
{
	static const enum xp_err_code codes[] = {
		XP_E_SYMBOL_NOT_FOUND,	     XP_E_BINARY_NOT_MAPPED, XP_E_AMBIGUOUS_TARGET,
		XP_E_INVALID_EVENT_SELECTOR, XP_E_PERMISSION_DENIED, XP_E_TARGET_NOT_FOUND,
		XP_E_TARGET_EXITED,	     XP_E_TARGET_REUSED,     XP_E_INTERNAL,
	};

	for (size_t i = 0; i < XP_LEN(codes); i++)
		if (codes[i] == code)
			return true;
	return false;
}

static void warn_about(struct xp_plan *plan, const struct xp_endpoint *endpoint)
{
	const struct xp_resolved *resolved = endpoint->resolved;

	if (resolved && resolved->replaced_on_disk && !xp_warnings_have(&plan->warnings, "BINARY_REPLACED_ON_DISK"))
		xp_warn(&plan->warnings, "BINARY_REPLACED_ON_DISK", json_pack("{s:s}", "path", resolved->binary_path),
			"%s was replaced on disk; the file that the process has mapped is used", resolved->binary_path);
	if (resolved && resolved->cxx_return && !xp_warnings_have(&plan->warnings, "CXX_RETURN_PROBE"))
		xp_warn(&plan->warnings, "CXX_RETURN_PROBE", json_pack("{s:s}", "selector", endpoint->selector),
			"a kernel return probe on a C++ or Rust file: an exception or panic that leaves the function ends the process");
}

/* An issue has no hints of its own: the most useful one ends its message. */
static void say_hint(struct xp_err *err)
{
	const char *hint = json_string_value(json_array_get(err->hints, 0));
	char said[sizeof(err->message)];

	if (!hint)
		return;
	memcpy(said, err->message, sizeof(said));
	xp_err_say(err, "%s; %s", said, hint);
}

int xp_plan_resolve(struct xp_plan *plan, unsigned index, const char *label, const struct xp_plan_options *options, struct xp_err *reterr)
{
	struct xp_resolve_options resolve_options = { .allow_cxx_return = options->allow_cxx_return };
	struct xp_endpoint *endpoint = &plan->endpoints[index];
	xp_auto_err err = { 0 };

	if (!endpoint->family->resolve || !plan->target)
		return 0;
	if (!endpoint->family->resolve(endpoint, plan->target, &resolve_options, plan->arena, &err)) {
		warn_about(plan, endpoint);
		return 0;
	}
	if (ends_validation(err.code)) {
		xp_err_detail(&err, "endpoint", json_string(label));
		return xp_err_move(reterr, &err);
	}
	say_hint(&err);
	xp_plan_add_issue(plan, &err, label);
	return 0;
}

static json_t *names_of(const struct xp_recommendation *advice)
{
	json_t *names = json_array();

	for (size_t i = 0; i < advice->n_compatible; i++)
		json_array_append_new(names, json_string(advice->compatible_policies[i]));
	return names;
}

static bool heuristic(enum xp_policy_id policy)
{
	return policy == XP_POLICY_FIRST_AFTER || policy == XP_POLICY_NEAREST;
}

void xp_plan_judge(struct xp_plan *plan, unsigned start, unsigned end, enum xp_policy_id policy)
{
	const struct xp_endpoint *from = &plan->endpoints[start], *to = &plan->endpoints[end];
	struct xp_recommendation advice = xp_recommend(from, to);

	if (heuristic(policy) && !xp_warnings_have(&plan->warnings, "HEURISTIC_CORRELATION"))
		xp_warn(&plan->warnings, "HEURISTIC_CORRELATION", NULL, "%s pairs by order in time, which is not cause",
			xp_policy_names[policy]);
	if (advice.possible[policy])
		return;
	xp_auto_err err = { 0 };
	xp_fail(&err, XP_E_INVALID_CORRELATION_POLICY, "%s is not possible for %s and %s", xp_policy_names[policy], from->selector,
		to->selector);
	xp_err_detail(&err, "start_selector", xp_json_selector(from->selector));
	xp_err_detail(&err, "end_selector", xp_json_selector(to->selector));
	xp_err_detail(&err, "match_policy", json_string(xp_policy_names[policy]));
	xp_err_detail(&err, "recommended_policy", json_string(xp_policy_names[advice.policy]));
	xp_err_detail(&err, "compatible_policies", names_of(&advice));
	xp_err_hint(&err, "use details.recommended_policy");
	xp_plan_add_issue(plan, &err, NULL);
}

void xp_plan_edge(struct xp_plan *plan, const char *name, unsigned start, unsigned end, enum xp_policy_id policy)
{
	const struct xp_endpoint *from = &plan->endpoints[start], *to = &plan->endpoints[end];

	plan->edges[plan->n_edges++] = (struct xp_edge){ .name = name, .start = start, .end = end, .policy = policy };
	if (from->type == XP_EV_SYSCALL_ENTRY && to->type == XP_EV_SYSCALL_EXIT && policy == XP_POLICY_EXACT)
		plan->follow_restarts = true;
	xp_plan_judge(plan, start, end, policy);
}

/* One issue a missing right, worded like the error that the attempt would give. */
static void missing_right(struct xp_plan *plan, const struct xp_feature *feature)
{
	/* A missing agent file is no right. */
	enum xp_err_code code = strcmp(feature->feature, "cupti_agent") ? XP_E_PERMISSION_DENIED : XP_E_CUPTI_NOT_AVAILABLE;
	xp_auto_err err = { 0 };

	xp_fail(&err, code, "%s is not available: %s%s%s", feature->feature, feature->call ? feature->call : "right missing",
		feature->errno_name ? " gave " : "", feature->errno_name ? feature->errno_name : "");
	snprintf(err.call, sizeof(err.call), "%s", feature->call ? feature->call : "");
	snprintf(err.errno_text, sizeof(err.errno_text), "%s", feature->errno_name ? feature->errno_name : "");
	xp_err_object(&err, "%s", feature->object ? feature->object : feature->feature);
	if (feature->unblock)
		xp_err_hint(&err, "%s", feature->unblock);
	xp_plan_add_issue(plan, &err, NULL);
}

int xp_plan_rights(struct xp_plan *plan, struct xp_err *reterr)
{
	unsigned needs = 0;

	for (unsigned i = 0; i < plan->n_endpoints; i++)
		needs |= plan->endpoints[i].family->needs;
	int rc = xp_rights_check(needs, plan->arena, &plan->features, &plan->n_features, reterr);
	for (size_t i = 0; !rc && i < plan->n_features; i++)
		missing_right(plan, &plan->features[i]);
	return rc;
}

int xp_plan_pair(struct xp_plan *plan, const char *start, const char *end, enum xp_policy_id policy, const struct xp_plan_options *options,
		 struct xp_err *reterr)
{
	unsigned from, to;
	int rc = xp_plan_endpoint(plan, start, "start", &from, reterr);

	if (!rc)
		rc = xp_plan_endpoint(plan, end, "end", &to, reterr);
	if (!rc)
		rc = xp_plan_resolve(plan, from, "start", options, reterr);
	if (!rc && to != from)
		rc = xp_plan_resolve(plan, to, "end", options, reterr);
	if (rc)
		return rc;
	xp_plan_edge(plan, NULL, from, to, policy);
	return options->try_rights ? xp_plan_rights(plan, reterr) : 0;
}

int xp_plan_first_issue(const struct xp_plan *plan, struct xp_err *reterr)
{
	if (!plan->n_issues)
		return 0;
	const struct xp_err *err = plan->issues[0].err;
	*reterr = *err;
	json_incref(reterr->details);
	json_incref(reterr->hints);
	return -(int)err->code;
}
