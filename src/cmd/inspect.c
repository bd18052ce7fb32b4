/* SPDX-License-Identifier: Apache-2.0 */
/* `inspect` (hidden, contract 7): what one process is. Reads /proc only; rights are tried on xprobe itself. No state. */
#include "cmd/command.h"
#include "cmd/doctor.h"
#include "result/process.h"

enum { CGROUP_BYTES = 64 * 1024 };

static const struct xp_flag flags[] = {
	{ .name = "--pid", .kind = XP_FLAG_U64, .value = "PID", .min = 1, .max = UINT32_MAX, .doc = "process to look at" },
};

static void fill_status(struct xp_process_report *r, struct xp_arena *arena, const struct xp_process_status *s)
{
	r->credentials = (struct xp_credentials){ s->uid[0], s->uid[1], s->uid[2], s->uid[3], s->gid[0], s->gid[1], s->gid[2], s->gid[3] };
	r->namespace_pids = s->ns_pid;
	r->n_namespace_pids = s->n_ns_pid;
	r->threads = s->threads;
	r->state = xp_arena_fmt(arena, "%c", s->state);
	r->tracer_pid = s->tracer_pid;
	r->seccomp = s->seccomp;
}

static void fill_program(struct xp_process_report *r, const struct xp_program *p)
{
	r->executable = p->executable;
	r->loaded_libraries = p->libraries;
	r->n_loaded_libraries = p->n_libraries;
	r->libc = p->libc;
	r->machine = p->machine;
	r->python_version = p->python_version;
	r->cuda = (struct xp_process_cuda){
		.libcuda_loaded = p->libcuda,
		.libcudart_loaded = p->libcudart,
		.xprobe_agent_loaded = p->agent,
		.context = { XP_FEATURE_UNKNOWN, p->libcuda ? "only an agent in the process could tell" : "libcuda is not mapped" },
	};
}

static int fill_cgroups(struct xp_process_report *r, const struct xp_target *target, struct xp_arena *arena, struct xp_err *reterr)
{
	char *text = xp_arena_zalloc(arena, CGROUP_BYTES);
	ssize_t len = xp_target_read(target, "cgroup", text, CGROUP_BYTES);
	struct xp_cgroup_line *lines;

	if (len < 0)
		return xp_fail_sys(reterr, (int)-len, "read", "/proc/%u/cgroup", xp_target_pid(target));
	xp_cgroup_lines(text, arena, &lines, &r->n_cgroups);
	r->cgroups = lines;
	return 0;
}

static struct xp_capabilities capabilities(struct xp_arena *arena)
{
	static const enum xp_feature_id wanted[] = { XP_FEATURE_UPROBE, XP_FEATURE_URETPROBE, XP_FEATURE_TRACEPOINT, XP_FEATURE_INJECTION,
						     XP_FEATURE_CUPTI_AGENT };
	struct xp_feature features[XP_FEATURE_COUNT] = { 0 };
	struct xp_check driver;

	for (unsigned id = 0; id < XP_FEATURE_COUNT; id++)
		features[id].status = XP_FEATURE_UNKNOWN;
	for (size_t i = 0; i < XP_LEN(wanted); i++)
		xp_feature_try(wanted[i], arena, &features[wanted[i]]);
	return xp_doctor_capabilities(features, xp_doctor_cuda_driver(arena, &driver));
}

static int run(struct xp_session *session, struct xp_err *reterr)
{
	struct xp_arena *arena = session->arena;
	struct xp_process_report *r = xp_arena_new_of(arena, struct xp_process_report);
	struct xp_process_status *status = xp_arena_new_of(arena, struct xp_process_status);
	xp_auto(xp_target_close) struct xp_target *target = NULL;
	const char **words;
	struct xp_program program;

	if (!xp_flag_on(session, "--pid"))
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--pid is required");
	int rc = xp_target_open((uint32_t)xp_flag_u64(session, "--pid", 0), NULL, &target, reterr);
	if (!rc)
		rc = xp_target_status(target, status, reterr);
	if (!rc)
		rc = xp_target_arguments(target, arena, &words, &r->n_command_line, reterr);
	if (!rc)
		rc = fill_cgroups(r, target, arena, reterr);
	if (rc)
		return rc;
	xp_program_read(target, arena, &program);
	r->target = *xp_target_identity(target);
	r->command_line = words;
	r->mount_namespace = xp_target_link(target, "ns/mnt", arena);
	fill_status(r, arena, status);
	fill_program(r, &program);
	r->capabilities = capabilities(arena);
	rc = xp_target_check(target, reterr);
	if (rc)
		return rc;
	session->record = &xp_process_record;
	session->value = r;
	return 0;
}

const struct xp_command xp_command_inspect = {
	.name = "inspect",
	.summary = "what one process is",
	.usage = "  xprobe inspect --pid PID\n",
	.flags = flags,
	.n_flags = XP_LEN(flags),
	.hidden = true,
	.run = run,
};
