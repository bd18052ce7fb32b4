/* SPDX-License-Identifier: Apache-2.0 */
/* A refused call + xprobe's situation -> the least set that is missing and the smallest change. No state. */
#include "target/self.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"

enum { MAX_MISSING = 6 };

static const struct {
	unsigned cap;
	const char *name, *flag; /* flag: as container runtimes spell it */
} cap_names[] = {
	{ XP_CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "SYS_PTRACE" },
	{ XP_CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "SYS_ADMIN" },
	{ XP_CAP_SYSLOG, "CAP_SYSLOG", "SYSLOG" },
	{ XP_CAP_PERFMON, "CAP_PERFMON", "PERFMON" },
	{ XP_CAP_BPF, "CAP_BPF", "BPF" },
	{ XP_CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE", "CHECKPOINT_RESTORE" },
};

static const char *const gate_calls[XP_GATE_COUNT] = {
	[XP_GATE_BPF] = "bpf",
	[XP_GATE_PERF] = "perf_event_open",
	[XP_GATE_PTRACE] = "ptrace",
	[XP_GATE_PROC] = "open",
};

struct finding {
	struct xp_arena *arena;
	const char *missing[MAX_MISSING];
	size_t n;
	struct xp_text why; /* the sentence */
};

static void add_missing(struct finding *f, const char *what)
{
	if (f->n < MAX_MISSING)
		f->missing[f->n++] = what;
}

static void join(struct finding *f)
{
	if (f->why.len)
		xp_text_str(&f->why, "; ");
}

static const char *cap_text(unsigned cap, bool flag)
{
	for (size_t i = 0; i < XP_LEN(cap_names); i++)
		if (cap_names[i].cap == cap)
			return flag ? cap_names[i].flag : cap_names[i].name;
	return "";
}

/* Capabilities that the kernel asks for and we lack. Root without them is in a container that withholds them. */
static void explain_caps(struct finding *f, const struct xp_self *self, const struct xp_refusal *refusal)
{
	bool root = !self->euid, any = false;
	xp_auto_builder list = { 0 };

	for (size_t i = 0; i < XP_LEN(refusal->caps) && refusal->caps[i]; i++) {
		unsigned cap = refusal->caps[i];

		if (xp_self_has(self, cap))
			continue;
		add_missing(f, cap_text(cap, false));
		if (root)
			xp_text_fmt(&list, "%s--cap-add=%s", any ? " " : "", cap_text(cap, true));
		else
			xp_text_fmt(&list, "%s%s", any ? " and " : "", cap_text(cap, false));
		any = true;
	}
	if (!any)
		return;
	join(f);
	if (root)
		xp_text_fmt(&f->why, "xprobe is root but runs without these capabilities: start its container with %s", list.data);
	else
		xp_text_fmt(&f->why, "grant xprobe %s (setcap on its file, or setpriv)", list.data);
}

/*
 * The kernel of the main line lets sampling of one's own processes pass at 2; distributions know 3 and 4, and some of them do not honour
 * CAP_PERFMON there.
 */
static bool explain_paranoid(struct finding *f, const struct xp_self *self, const struct xp_refusal *refusal)
{
	if (refusal->gate != XP_GATE_PERF || refusal->paranoid < 0 || self->paranoid == XP_NOT_READABLE ||
	    self->paranoid <= refusal->paranoid)
		return false;
	bool ignored = self->paranoid > 2 && (self->caps >> XP_CAP_PERFMON & 1);
	if (!ignored && self->paranoid <= 2)
		return false; /* the capability is the smaller change: the sysctl opens the machine to everyone */
	add_missing(f, xp_arena_fmt(f->arena, "kernel.perf_event_paranoid<=%d", refusal->paranoid));
	join(f);
	xp_text_fmt(&f->why, "set kernel.perf_event_paranoid to %d (it is %lld%s)", refusal->paranoid, (long long)self->paranoid,
		    ignored ? ", where this distribution does not honour CAP_PERFMON" : "");
	return true;
}

static bool explain_lockdown(struct finding *f, const struct xp_self *self, const struct xp_refusal *refusal)
{
	if ((refusal->gate != XP_GATE_BPF && refusal->gate != XP_GATE_PERF) || strcmp(self->lockdown, "confidentiality"))
		return false;
	add_missing(f, "kernel lockdown below confidentiality");
	join(f);
	xp_text_str(&f->why, "kernel lockdown is in confidentiality mode, which no right overrides: boot with lockdown=integrity or less");
	return true;
}

/* All rights are there, and still the kernel refuses. */
static void explain_rest(struct finding *f, const struct xp_self *self, const struct xp_refusal *refusal)
{
	if (!self->initial_userns && refusal->gate != XP_GATE_PTRACE) {
		add_missing(f, "initial user namespace");
		xp_text_str(&f->why,
			    "capabilities of a user namespace do not count here: run xprobe outside this container's user namespace");
	} else if (refusal->gate == XP_GATE_PTRACE && self->ptrace_scope >= 2) {
		add_missing(f, self->ptrace_scope == 2 ? "CAP_SYS_PTRACE" : "kernel.yama.ptrace_scope<=2");
		xp_text_fmt(&f->why, "kernel.yama.ptrace_scope is %lld%s", (long long)self->ptrace_scope,
			    self->ptrace_scope == 3 ? ", which lasts until the next boot" : ": grant xprobe CAP_SYS_PTRACE");
	} else {
		add_missing(f, "consent of the security module");
		xp_text_fmt(&f->why, "no capability is missing: a security module (LSM) refuses %s; allow it in its policy", refusal->call);
	}
}

static bool is_refusal(int errnum)
{
	return errnum == EPERM || errnum == EACCES;
}

void xp_self_explain(const struct xp_self *self, const struct xp_refusal *refusal, struct xp_arena *arena, struct xp_feature *feature)
{
	struct finding f = { .arena = arena };
	bool filtered = xp_self_filtered(self, refusal->gate) && (is_refusal(refusal->errnum) || refusal->errnum == ENOSYS);

	feature->call = xp_arena_str(arena, refusal->call);
	feature->errno_name = xp_arena_str(arena, xp_errno_name(refusal->errnum));
	feature->object = xp_arena_str(arena, refusal->object);
	feature->status = filtered || is_refusal(refusal->errnum) ? XP_FEATURE_RESTRICTED : XP_FEATURE_UNAVAILABLE;

	if (filtered) {
		add_missing(&f, xp_arena_fmt(arena, "seccomp filter that allows %s", gate_calls[refusal->gate]));
		xp_text_fmt(&f.why, "a seccomp filter answers %s with %s: allow the call in the container's seccomp profile",
			    gate_calls[refusal->gate], xp_errno_name(refusal->errnum));
	}
	if (is_refusal(refusal->errnum)) {
		if (!explain_paranoid(&f, self, refusal))
			explain_caps(&f, self, refusal);
		explain_lockdown(&f, self, refusal);
		if (!f.n)
			explain_rest(&f, self, refusal);
	} else if (!filtered) {
		xp_text_fmt(&f.why, "this kernel does not offer it (%s says %s)", refusal->call, xp_errno_name(refusal->errnum));
	}
	const char **missing = xp_arena_array(arena, const char *, f.n ? f.n : 1);
	memcpy(missing, f.missing, f.n * sizeof(*missing));
	feature->missing = missing;
	feature->n_missing = f.n;
	feature->unblock = xp_arena_dup(arena, f.why.len ? f.why.data : "", f.why.len);
	xp_text_done(&f.why);
}
