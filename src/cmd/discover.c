/* SPDX-License-Identifier: Apache-2.0 */
/* `xprobe discover`: processes of a tree that hold a CUDA compute context, by NVML. Attaches nothing. No state. */
#include <inttypes.h>
#include <string.h>

#include "cmd/command.h"
#include "engine/nvml_status.h"
#include "output/human.h"
#include "result/discovery.h"

/* A machine without persistence mode wakes its GPUs one after the other when NVML starts. */
enum { DEADLINE_MS = 10000, DEFAULT_LIMIT = 200, MAX_LIMIT = 65536, NAME = 40 };

static const struct xp_flag flags[] = {
	{ .name = "--pid", .kind = XP_FLAG_U64, .value = "PID", .min = 1, .max = UINT32_MAX, .doc = "root of the process tree" },
	{ .name = "--limit",
	  .kind = XP_FLAG_U64,
	  .value = "N",
	  .min = 1,
	  .max = MAX_LIMIT,
	  .doc = "candidates listed, lowest pids first; 200; 1..65,536" },
};

/* Whatever part of NVML fails, the code is the same (contract 4); what it answered tells the rest. */
static int fail(const struct xp_nvml_fault *fault, const struct xp_nvml_device *device, struct xp_err *reterr)
{
	int rc = xp_nvml_fail(fault, fault->kind == XP_NVML_NONSENSE ? XP_E_INTERNAL : XP_E_CUPTI_NOT_AVAILABLE, reterr);

	if (device)
		xp_err_object(reterr, "GPU %u", device->index);
	return rc;
}

/* Nonsense is never worked around; a device that cannot be asked fails the command only when nobody else was found. */
static int check_devices(const struct xp_nvml_list *list, bool found, struct xp_err *reterr)
{
	for (uint32_t i = 0; i < list->n_devices; i++) {
		const struct xp_nvml_device *device = &list->devices[i];
		const struct xp_nvml_fault *fault = device->fault.kind ? &device->fault : &device->list_fault;

		if (fault->kind && (!found || fault->kind == XP_NVML_NONSENSE))
			return fail(fault, device, reterr);
	}
	return 0;
}

static int ask_nvml(struct xp_nvml_list *list, struct xp_err *reterr)
{
	xp_auto(xp_nvml_stop) struct xp_nvml *nvml = NULL;
	struct xp_nvml_fault fault = { .kind = XP_NVML_CRASHED };
	int rc = xp_nvml_start(&nvml, reterr);

	if (rc)
		return rc;
	if (xp_nvml_ask_list(nvml) && xp_nvml_take_list(nvml, DEADLINE_MS, list, &fault))
		return 0;
	return fail(&fault, NULL, reterr);
}

static void candidate_lines(const struct xp_candidate *c, struct xp_text *out, bool color)
{
	xp_human_tone(out, XP_TONE_STRONG, color);
	xp_text_fmt(out, "%8u", c->target.pid);
	xp_human_tone(out, XP_TONE_PLAIN, color);
	xp_text_fmt(out, " %8u %7u ", c->parent_pid, c->thread_count);
	if (c->gpu_memory_bytes.set)
		xp_text_fmt(out, "%8.1f MiB  ", (double)c->gpu_memory_bytes.v / (1 << 20));
	else
		xp_text_fmt(out, "%12s  ", "not told");
	xp_human_tail(out, c->executable, NAME);
	for (size_t i = 1; i < c->n_command_line && i < 3; i++) {
		xp_text_char(out, ' ');
		xp_human_text(out, c->command_line[i], NAME / 2);
	}
	xp_text_char(out, '\n');
	for (size_t i = 0; i < c->n_gpu_uuids; i++)
		xp_text_fmt(out, "%27s%s\n", "", c->gpu_uuids[i]);
	for (size_t i = 0; i < c->n_mig_uuids; i++)
		xp_text_fmt(out, "%27s%s\n", "", c->mig_uuids[i]);
	if (c->nested_pid.set)
		xp_text_fmt(out, "%27spid %u in its own namespace\n", "", c->nested_pid.v);
	if (c->agent_loaded)
		xp_text_fmt(out, "%27sxprobe's agent is loaded\n", "");
}

static void report(const void *value, struct xp_text *out, bool color)
{
	const struct xp_discovery *d = value;

	xp_text_fmt(out, "process %u: %" PRIu64 " with a CUDA context, itself and descendants\n", d->root.pid, d->total_candidates);
	if (d->n_candidates)
		xp_text_fmt(out, "%8s %8s %7s %12s  program\n", "pid", "parent", "threads", "GPU memory");
	for (size_t i = 0; i < d->n_candidates; i++)
		candidate_lines(&d->candidates[i], out, color);
	if (d->truncated)
		xp_text_fmt(out, "and %" PRIu64 " more\n", d->total_candidates - d->n_candidates);
	if (d->n_candidates)
		xp_text_fmt(out, "next: %s measure --pid %u --triage --duration-ms 2000\n", d->invocation, d->candidates[0].target.pid);
	for (size_t i = 0; i < d->n_warnings; i++) {
		xp_text_fmt(out, "warning  ");
		xp_human_wrap(out, d->warnings[i].message, 9, 9);
		xp_text_char(out, '\n');
	}
}

static int run(struct xp_session *session, struct xp_err *reterr)
{
	struct xp_nvml_list *list = xp_arena_new_of(session->arena, struct xp_nvml_list);
	xp_auto(xp_target_close) struct xp_target *root = NULL;

	if (!xp_flag_on(session, "--pid"))
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--pid is required");
	int rc = xp_target_open((uint32_t)xp_flag_u64(session, "--pid", 0), NULL, &root, reterr);
	if (!rc)
		rc = ask_nvml(list, reterr);
	if (rc)
		return rc;
	struct xp_discovery *d =
		xp_discovery_build(root, list, xp_flag_u64(session, "--limit", DEFAULT_LIMIT), &session->warnings, session->arena);
	rc = xp_target_check(root, reterr);
	if (!rc)
		rc = check_devices(list, d->total_candidates > 0, reterr);
	if (rc)
		return rc;
	d->invocation = session->program;
	d->warnings = session->warnings.at;
	d->n_warnings = session->warnings.n;
	session->record = &xp_discovery_record;
	session->value = d;
	session->human = report;
	session->shrink = xp_discovery_shrink;
	session->budget = XP_DISCOVERY_BUDGET;
	return 0;
}

const struct xp_command xp_command_discover = {
	.name = "discover",
	.summary = "processes of a tree that hold a CUDA context",
	.usage = "  xprobe discover --pid PID [--limit N]\n",
	.flags = flags,
	.n_flags = XP_LEN(flags),
	.run = run,
};
