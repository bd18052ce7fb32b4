/* SPDX-License-Identifier: Apache-2.0 */
/* Human text of a ValidationResult. In: the value. Out: text. No state. */
#include "cmd/validate.h"

#include "family/resolved_doc.h"
#include "plan/validation.h"

static void endpoint_lines(struct xp_text *out, const char *label, const struct xp_validated_endpoint *endpoint)
{
	xp_text_fmt(out, "  %-6s %s\n", label, endpoint->selector);
	if (endpoint->linux_endpoint && endpoint->linux_endpoint->binary_path)
		xp_text_fmt(out, "         marker in %s\n", endpoint->linux_endpoint->binary_path);
}

void xp_validation_report(const void *value, struct xp_text *out, bool color)
{
	const struct xp_validation *v = value;
	const char *on = color ? (v->valid ? "\033[32m" : "\033[31m") : "", *off = color ? "\033[0m" : "";

	xp_text_fmt(out, "%s%s%s: process %u, policy %s\n", on, v->valid ? "can be measured" : "cannot be measured now", off, v->target.pid,
		    xp_policy_names[v->match_policy]);
	endpoint_lines(out, "start", &v->start);
	endpoint_lines(out, "end", &v->end);
	if (v->policy_recommendation.policy != v->match_policy)
		xp_text_fmt(out, "  advice: %s fits this pair better (%s)\n", xp_policy_names[v->policy_recommendation.policy],
			    v->policy_recommendation.reason);
	for (size_t i = 0; i < v->n_issues; i++)
		xp_text_fmt(out, "  issue %s: %s\n", v->issues[i].code, v->issues[i].message);
	for (size_t i = 0; i < v->n_features; i++)
		if (v->features[i].unblock)
			xp_text_fmt(out, "  unblock %s: %s\n", v->features[i].feature, v->features[i].unblock);
	for (size_t i = 0; i < v->n_warnings; i++)
		xp_text_fmt(out, "  warning %s: %s\n", v->warnings[i].code, v->warnings[i].message);
}
