/* SPDX-License-Identifier: Apache-2.0 */
/* Features -> what happened when they were tried. In: an id or needs. Out: struct xp_feature with the least change. No state. */
#include "target/rights_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/field_table.h"
#include "target/trial.h"

const char *const xp_feature_status_names[XP_FEATURE_STATUS_COUNT] = {
	[XP_FEATURE_AVAILABLE] = "available",
	[XP_FEATURE_RESTRICTED] = "restricted",
	[XP_FEATURE_UNAVAILABLE] = "unavailable",
	[XP_FEATURE_UNKNOWN] = "unknown",
};

static const struct xp_field feature_fields[] = {
	XP_FIELD(xp_feature, feature, STR, "name of what xprobe can do"),
	XP_FIELD_ENUM(xp_feature, status, xp_feature_status_names, "restricted: the kernel can, this process may not"),
	XP_FIELD(xp_feature, tried, BOOL, "an object was made or a file was read to find out"),
	XP_FIELD(xp_feature, call, STR, "the call that failed", .flags = XP_NULLABLE),
	XP_FIELD_AS(xp_feature, "errno", errno_name, STR, "what it gave", .flags = XP_NULLABLE),
	XP_FIELD(xp_feature, object, STR, "what the call was about", .flags = XP_NULLABLE),
	XP_FIELD_STRS(xp_feature, missing, "least set that unblocks it"),
	XP_FIELD(xp_feature, unblock, STR, "one sentence with the smallest change", .flags = XP_NULLABLE),
};
const struct xp_record xp_feature_record = XP_RECORD("Feature", xp_feature, feature_fields, "one thing xprobe can do, tried");

static const char vmlinux_btf[] = "/sys/kernel/btf/vmlinux";

void xp_try_decide(struct xp_trying *t, enum xp_feature_status status, const char *missing, const char *unblock)
{
	t->feature->status = status;
	t->feature->unblock = unblock;
	if (!missing)
		return;
	const char **one = xp_arena_array(t->arena, const char *, 1);
	one[0] = missing;
	t->feature->missing = one;
	t->feature->n_missing = 1;
}

void xp_try_call(struct xp_trying *t, const char *call, int errnum, const char *object)
{
	t->feature->call = call;
	t->feature->errno_name = errnum ? xp_arena_str(t->arena, xp_errno_name(errnum)) : NULL;
	t->feature->object = xp_arena_str(t->arena, object);
}

/* A trial's outcome; caps and paranoid are those that the kernel asks for at that gate. */
static void judge(struct xp_trying *t, const struct xp_trial *trial, enum xp_gate gate, unsigned cap, unsigned other_cap, int paranoid)
{
	struct xp_refusal refusal = {
		.gate = gate,
		.errnum = trial->errnum,
		.call = trial->call,
		.object = trial->object,
		.caps = { cap, other_cap },
		.paranoid = paranoid,
	};

	if (trial->errnum)
		xp_self_explain(&t->self, &refusal, t->arena, t->feature);
	else
		xp_try_decide(t, XP_FEATURE_AVAILABLE, NULL, NULL);
}

static void judge_bpf(struct xp_trying *t, const struct xp_trial *trial)
{
	judge(t, trial, XP_GATE_BPF, XP_CAP_BPF, XP_CAP_PERFMON, -1);
}

/* Programs of ours are relocated against the running kernel's types. */
static bool lacks_btf(struct xp_trying *t)
{
	if (!access(vmlinux_btf, R_OK))
		return false;
	xp_try_call(t, "access", errno, vmlinux_btf);
	xp_try_decide(t, XP_FEATURE_UNAVAILABLE, "CONFIG_DEBUG_INFO_BTF", "run a kernel that is built with CONFIG_DEBUG_INFO_BTF");
	return true;
}

static void try_probe(struct xp_trying *t, bool on_return)
{
	struct xp_trial multi = { 0 }, single = { 0 };

	if (lacks_btf(t))
		return;
	if (xp_trial_uprobe(&multi, on_return) != EINVAL) {
		judge_bpf(t, &multi);
		return;
	}
	/* Before Linux 6.6 the kernel does not know the attach type; one perf event a probe does the same, slowly. */
	xp_trial_perf_uprobe(&single, on_return);
	if (single.errnum == ENOENT) {
		xp_try_call(t, multi.call, multi.errnum, multi.object);
		xp_try_decide(t, XP_FEATURE_UNAVAILABLE, "kernel >= 6.6", "run Linux 6.6 or newer, or one built with CONFIG_UPROBE_EVENTS");
		return;
	}
	judge(t, &single, strncmp(single.call ? single.call : "", "bpf", 3) ? XP_GATE_PERF : XP_GATE_BPF, XP_CAP_SYS_ADMIN, 0, -1);
}

static void try_uprobe(struct xp_trying *t)
{
	try_probe(t, false);
}

static void try_uretprobe(struct xp_trying *t)
{
	try_probe(t, true);
}

static void try_usdt(struct xp_trying *t)
{
	struct xp_trial trial = { 0 };

	if (lacks_btf(t))
		return;
	if (xp_trial_usdt(&trial) == EINVAL) {
		xp_try_call(t, trial.call, trial.errnum, trial.object);
		xp_try_decide(t, XP_FEATURE_UNAVAILABLE, "kernel >= 6.6", "run Linux 6.6 or newer");
		return;
	}
	judge_bpf(t, &trial);
}

static void try_raw(struct xp_trying *t, const char *name)
{
	struct xp_trial trial = { 0 };

	if (lacks_btf(t))
		return;
	xp_trial_raw_tracepoint(&trial, name);
	judge_bpf(t, &trial);
}

static void try_syscall_trace(struct xp_trying *t)
{
	try_raw(t, "sys_enter");
}

static void try_tracepoint(struct xp_trying *t)
{
	try_raw(t, "sched_process_exec");
}

static void try_off_cpu(struct xp_trying *t)
{
	try_raw(t, "sched_switch");
}

static void try_cpu_sample(struct xp_trying *t)
{
	struct xp_trial trial = { 0 };

	xp_trial_sample(&trial, false);
	judge(t, &trial, XP_GATE_PERF, XP_CAP_PERFMON, 0, 2);
}

/* Kernel frames need the right to sample there, and addresses of symbols that are not zeroed. */
static void try_kernel_stacks(struct xp_trying *t)
{
	struct xp_trial trial = { 0 };
	char line[32] = "";

	if (xp_trial_sample(&trial, true)) {
		judge(t, &trial, XP_GATE_PERF, XP_CAP_PERFMON, 0, 1);
		return;
	}
	xp_auto_fd fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, line, 16) == 16 && strspn(line, "0") < 16) {
		xp_try_decide(t, XP_FEATURE_AVAILABLE, NULL, NULL);
		return;
	}
	xp_try_call(t, "read", 0, "/proc/kallsyms");
	if (!xp_self_has(&t->self, XP_CAP_SYSLOG))
		xp_try_decide(t, XP_FEATURE_RESTRICTED, "CAP_SYSLOG", "kernel samples work but have no names: grant xprobe CAP_SYSLOG");
	else
		xp_try_decide(t, XP_FEATURE_RESTRICTED, "kernel.kptr_restrict<=1",
			      "kernel samples work but have no names: set kernel.kptr_restrict to 1");
}

static void try_python_frames(struct xp_trying *t)
{
	struct xp_trial trial = { 0 };

	if (lacks_btf(t))
		return;
	xp_trial_sampler(&trial);
	bool perf = trial.call && !strcmp(trial.call, "perf_event_open");
	if (perf)
		judge(t, &trial, XP_GATE_PERF, XP_CAP_PERFMON, 0, 0);
	else
		judge_bpf(t, &trial);
}

static void try_runqueue_time(struct xp_trying *t)
{
	static const char path[] = "/proc/self/schedstat";

	if (xp_self_number(path) != XP_NOT_READABLE) {
		xp_try_decide(t, XP_FEATURE_AVAILABLE, NULL, NULL);
		return;
	}
	xp_try_call(t, "read", 0, path);
	xp_try_decide(t, XP_FEATURE_UNAVAILABLE, "CONFIG_SCHED_INFO", "run a kernel that is built with CONFIG_SCHED_INFO");
}

static const struct {
	const char *name;
	void (*attempt)(struct xp_trying *t); /* NULL: cmd/doctor.c asks the stage that owns it */
} features[] = {
	[XP_FEATURE_UPROBE] = { "uprobe", try_uprobe },
	[XP_FEATURE_URETPROBE] = { "uretprobe", try_uretprobe },
	[XP_FEATURE_SYSCALL_TRACE] = { "syscall_trace", try_syscall_trace },
	[XP_FEATURE_TRACEPOINT] = { "tracepoint", try_tracepoint },
	[XP_FEATURE_USDT] = { "usdt", try_usdt },
	[XP_FEATURE_CPU_SAMPLE] = { "cpu_sample", try_cpu_sample },
	[XP_FEATURE_KERNEL_STACKS] = { "kernel_stacks", try_kernel_stacks },
	[XP_FEATURE_OFF_CPU] = { "off_cpu", try_off_cpu },
	[XP_FEATURE_PYTHON_FRAMES] = { "python_frames", try_python_frames },
	[XP_FEATURE_RUNQUEUE_TIME] = { "runqueue_time", try_runqueue_time },
	[XP_FEATURE_CGROUP_THROTTLING] = { "cgroup_throttling", NULL },
	[XP_FEATURE_NVML] = { "nvml", xp_try_nvml },
	[XP_FEATURE_CUPTI_AGENT] = { "cupti_agent", xp_try_cupti_agent },
	[XP_FEATURE_INJECTION] = { "injection", xp_try_injection },
	[XP_FEATURE_SYMBOLS_OF_OTHER_USERS] = { "symbols_of_other_users", xp_try_other_users },
};
_Static_assert(XP_LEN(features) == XP_FEATURE_COUNT, "every feature has its trial");

void xp_feature_try(enum xp_feature_id id, struct xp_arena *arena, struct xp_feature *ret_feature)
{
	struct xp_trying t = { .arena = arena, .feature = ret_feature };

	*ret_feature = (struct xp_feature){ .feature = features[id].name, .status = XP_FEATURE_UNKNOWN, .tried = features[id].attempt };
	if (!features[id].attempt)
		return;
	xp_self_read(&t.self);
	features[id].attempt(&t);
}

static const struct {
	unsigned need;
	enum xp_feature_id id;
} wants[] = {
	{ XP_NEED_BPF_UPROBE, XP_FEATURE_UPROBE },	   { XP_NEED_URETPROBE, XP_FEATURE_URETPROBE },
	{ XP_NEED_BPF_SYSCALL, XP_FEATURE_SYSCALL_TRACE }, { XP_NEED_BPF_TRACEPOINT, XP_FEATURE_TRACEPOINT },
	{ XP_NEED_SAMPLE, XP_FEATURE_CPU_SAMPLE },	   { XP_NEED_OFF_CPU, XP_FEATURE_OFF_CPU },
	{ XP_NEED_CALLBACK, XP_FEATURE_CUPTI_AGENT },	   { XP_NEED_ACTIVITY, XP_FEATURE_CUPTI_AGENT },
	{ XP_NEED_NVTX, XP_FEATURE_CUPTI_AGENT },
};

bool xp_rights_want(unsigned needs, const struct xp_feature *feature)
{
	for (size_t i = 0; i < XP_LEN(wants); i++)
		if ((needs & wants[i].need) && !strcmp(features[wants[i].id].name, feature->feature))
			return true;
	return false;
}

int xp_rights_check(unsigned needs, struct xp_arena *arena, struct xp_feature **ret_missing, size_t *ret_n, struct xp_err *reterr)
{
	struct xp_feature *missing = xp_arena_array(arena, struct xp_feature, XP_FEATURE_COUNT);
	bool asked[XP_FEATURE_COUNT] = { false };
	size_t n = 0;

	for (size_t i = 0; i < XP_LEN(wants); i++) {
		if (!(needs & wants[i].need) || asked[wants[i].id])
			continue;
		asked[wants[i].id] = true;
		xp_feature_try(wants[i].id, arena, &missing[n]);
		if (missing[n].status != XP_FEATURE_AVAILABLE)
			n++;
	}
	*ret_missing = missing;
	*ret_n = n;
	return 0;
}
