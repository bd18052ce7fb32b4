/* SPDX-License-Identifier: Apache-2.0 */
/* `validate`: what a measurement would need and whether it can run now. Touches nothing in the target. */
#include "cmd/validate.h"

#include <string.h>

#include "cmd/measure.h"
#include "cmd/measure_cuda.h"
#include "plan/validation.h"

enum { V_PAIR = 1, V_CPU = 2, V_SYSCALLS = 4, V_SPEC = 8, V_TRIAGE = 16 };

static const struct xp_flag flags[] = {
	{ .name = "--pid", .kind = XP_FLAG_U64, .value = "PID", .min = 1, .max = UINT32_MAX, .repeatable = true, .doc = "target process" },
	{ .name = "--from", .kind = XP_FLAG_TEXT, .value = "SELECTOR", .modes = V_PAIR, .doc = "start event" },
	{ .name = "--to", .kind = XP_FLAG_TEXT, .value = "SELECTOR", .modes = V_PAIR, .doc = "end event" },
	{ .name = "--match", .kind = XP_FLAG_TEXT, .value = "POLICY", .modes = V_PAIR, .doc = "how starts and ends are paired" },
	{ .name = "--cpu-sample", .modes = V_CPU, .doc = "check CPU sampling" },
	{ .name = "--off-cpu", .modes = V_CPU, .doc = "with blocked stacks" },
	{ .name = "--syscall-aggregate", .modes = V_SYSCALLS, .doc = "check the syscall inventory" },
	{ .name = "--spec", .kind = XP_FLAG_TEXT, .value = "FILE", .modes = V_SPEC, .doc = "check a spec file" },
	{ .name = "--triage", .modes = V_TRIAGE, .doc = "check which sources a triage would have" },
	{ .name = "--tree", .modes = V_TRIAGE, .doc = "the process and its descendants" },
	{ .name = "--threads",
	  .kind = XP_FLAG_TEXT,
	  .value = "name~REGEX",
	  .modes = V_CPU | V_SYSCALLS | V_TRIAGE,
	  .doc = "only these threads" },
	{ .name = "--agent", .kind = XP_FLAG_TEXT, .value = "PATH", .doc = "check that this CUPTI agent file would be used" },
	{ .name = "--cuda-major",
	  .kind = XP_FLAG_U64,
	  .value = "N",
	  .min = 12,
	  .max = 13,
	  .modes = V_PAIR | V_SPEC | V_TRIAGE,
	  .doc = "which libcudart to follow where two are mapped" },
	{ .name = "--records-only", .modes = V_PAIR | V_SPEC | V_TRIAGE, .doc = "GPU activities without a CUPTI subscription" },
	{ .name = "--allow-cxx-return", .modes = V_PAIR | V_SPEC, .doc = "force the kernel's return probe on C++ and Rust functions" },
};

static int choose_mode(const struct xp_session *session, unsigned *ret_mode, const char **ret_name, struct xp_err *reterr)
{
	static const struct {
		const char *flag;
		unsigned mode;
	} switches[] = { { "--cpu-sample", V_CPU }, { "--syscall-aggregate", V_SYSCALLS }, { "--spec", V_SPEC }, { "--triage", V_TRIAGE } };

	*ret_mode = 0;
	for (size_t i = 0; i < XP_LEN(switches); i++) {
		if (!xp_flag_on(session, switches[i].flag))
			continue;
		if (*ret_mode)
			return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "%s and %s exclude each other", *ret_name, switches[i].flag);
		*ret_mode = switches[i].mode;
		*ret_name = switches[i].flag;
	}
	if (!*ret_mode) {
		*ret_mode = V_PAIR;
		*ret_name = "a pair";
	}
	if (*ret_mode == V_SPEC && xp_flag_on(session, "--pid"))
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--pid does not go with --spec: the spec names its target");
	return 0;
}

static const struct xp_validation *make_validation(struct xp_session *session, struct xp_plan *plan)
{
	struct xp_validation *value = xp_arena_new_of(session->arena, struct xp_validation);

	*value = xp_validation_make(plan);
	return value;
}

/* Contract 5: what was not found is told by the endpoint that named it; its selector is the caller's own. */
static void tell_endpoint(struct xp_err *err)
{
	const char *endpoint = json_string_value(json_object_get(err->details, "endpoint"));

	if (endpoint && (err->code == XP_E_SYMBOL_NOT_FOUND || err->code == XP_E_BINARY_NOT_MAPPED || err->code == XP_E_AMBIGUOUS_TARGET))
		xp_err_object(err, "%s", endpoint);
}

static int check_pair(struct xp_session *session, const struct xp_measure_request *request, struct xp_err *reterr)
{
	struct xp_plan_options options = { .allow_cxx_return = request->allow_cxx_return, .try_rights = true };
	struct xp_plan *plan = xp_arena_new_of(session->arena, struct xp_plan);
	xp_auto(xp_target_close) struct xp_target *target = NULL;

	int rc = xp_target_open(request->target.pid, request->identity_given ? &request->target : NULL, &target, reterr);
	if (rc)
		return rc;
	xp_plan_init(plan, target, session->arena);
	plan->records_only = request->records_only || xp_flag_on(session, "--records-only");
	rc = xp_plan_pair(plan, request->from, request->to, request->policy, &options, reterr);
	if (rc)
		tell_endpoint(reterr);
	else
		rc = xp_target_check(target, reterr);
	if (rc)
		return rc;
	xp_cuda_check(session, plan);
	session->value = make_validation(session, plan);
	session->record = &xp_validation_record;
	session->shrink = xp_validation_shrink;
	session->budget = XP_VALIDATION_BUDGET;
	session->human = xp_validation_report;
	return 0;
}

static int run_pair(struct xp_session *session, struct xp_err *reterr)
{
	struct xp_measure_request request = { .allow_cxx_return = xp_flag_on(session, "--allow-cxx-return") };
	int rc = xp_measure_pid(session, &request.target.pid, reterr);

	if (!rc)
		rc = xp_measure_pair_flags(session, &request, reterr);
	return rc ? rc : check_pair(session, &request, reterr);
}

static int run_spec(struct xp_session *session, struct xp_err *reterr)
{
	struct xp_measure_request request = { 0 };
	struct xp_measurement_spec spec;
	enum xp_spec_kind kind;
	json_t *document;
	int rc = xp_spec_load(xp_flag_text(session, "--spec", ""), &kind, &document, reterr);

	if (rc)
		return rc;
	xp_arena_defer(session->arena, (void (*)(void *))json_decref, document);
	if (kind != XP_SPEC_MEASUREMENT)
		return xp_validate_other_spec(session, kind, document, reterr);
	rc = xp_measurement_spec_read(document, session->arena, &spec, reterr);
	if (rc)
		return rc;
	xp_measure_request_of_spec(&spec, &request);
	request.allow_cxx_return = request.allow_cxx_return || xp_flag_on(session, "--allow-cxx-return");
	return check_pair(session, &request, reterr);
}

static int run(struct xp_session *session, struct xp_err *reterr)
{
	const char *mode_name;
	unsigned mode;
	int rc = choose_mode(session, &mode, &mode_name, reterr);

	if (!rc)
		rc = xp_flags_check_mode(session, mode, mode_name, reterr);
	if (rc)
		return rc;
	if (mode == V_PAIR)
		return run_pair(session, reterr);
	if (mode == V_SPEC)
		return run_spec(session, reterr);
	return mode == V_TRIAGE ? xp_validate_triage(session, reterr) : xp_validate_inventory(session, mode_name, reterr);
}

const struct xp_command xp_command_validate = {
	.name = "validate",
	.summary = "what a measurement needs and whether it can run now; touches nothing",
	.usage = "  xprobe validate --pid PID --from SELECTOR --to SELECTOR --match POLICY\n"
		 "  xprobe validate --pid PID --cpu-sample [--off-cpu] | --syscall-aggregate | --triage\n"
		 "  xprobe validate --spec FILE\n",
	.flags = flags,
	.n_flags = XP_LEN(flags),
	.run = run,
};
