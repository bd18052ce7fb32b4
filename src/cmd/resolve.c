/* SPDX-License-Identifier: Apache-2.0 */
/* `resolve` (hidden, contract 7): where the probes of a uprobe selector would sit. */
#include "cmd/command.h"

#include "family/resolved_doc.h"
#include "select/select.h"

static const struct xp_flag flags[] = {
	{ .name = "--pid", .kind = XP_FLAG_U64, .value = "PID", .min = 1, .max = UINT32_MAX, .doc = "target process" },
	{ .name = "--selector", .kind = XP_FLAG_TEXT, .value = "SELECTOR", .doc = "a uprobe selector" },
	{ .name = "--event", .kind = XP_FLAG_TEXT, .value = "SELECTOR", .doc = "the same as --selector" },
	{ .name = "--allow-cxx-return", .doc = "force the kernel's return probe on C++ and Rust functions" },
};

static int run(struct xp_session *session, struct xp_err *reterr)
{
	struct xp_resolve_options options = { .allow_cxx_return = xp_flag_on(session, "--allow-cxx-return") };
	const char *selector = xp_flag_text(session, "--selector", xp_flag_text(session, "--event", NULL));
	struct xp_endpoint *endpoint = xp_arena_new_of(session->arena, struct xp_endpoint);
	xp_auto(xp_target_close) struct xp_target *target = NULL;

	if (!xp_flag_on(session, "--pid") || !selector)
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--pid and --selector are required");
	if (xp_flag_on(session, "--selector") && xp_flag_on(session, "--event"))
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--event is the same as --selector: give one of them");
	int rc = xp_select_parse(selector, session->arena, endpoint, reterr);
	if (rc)
		return rc;
	if (endpoint->type != XP_EV_HOST_FUNCTION_ENTRY && endpoint->type != XP_EV_HOST_FUNCTION_EXIT)
		return xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "resolve takes uprobe selectors only");
	rc = xp_target_open((uint32_t)xp_flag_u64(session, "--pid", 0), NULL, &target, reterr);
	if (!rc)
		rc = endpoint->family->resolve(endpoint, target, &options, session->arena, reterr);
	if (!rc)
		rc = xp_target_check(target, reterr);
	if (rc)
		return rc;
	session->value = xp_resolved_doc_make(endpoint, xp_target_identity(target), session->arena);
	session->record = &xp_resolved_doc_record;
	return 0;
}

const struct xp_command xp_command_resolve = {
	.name = "resolve",
	.summary = "where the probes of a selector would sit",
	.usage = "  xprobe resolve --pid PID --selector SELECTOR\n",
	.flags = flags,
	.n_flags = XP_LEN(flags),
	.hidden = true,
	.run = run,
};
