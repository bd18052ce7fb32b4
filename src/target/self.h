/* SPDX-License-Identifier: Apache-2.0 */
/* What decides over xprobe's own rights, and which of it stood in the way of a refused call. */
#ifndef XP_TARGET_SELF_H
#define XP_TARGET_SELF_H

#include "target/rights.h"

#define XP_NOT_READABLE INT64_MIN

struct xp_self {
	uint32_t euid;
	uint64_t caps;		  /* effective, bit n = capability n */
	bool initial_userns;	  /* capabilities of another user namespace do not count for BPF and perf */
	int64_t seccomp;	  /* 2 = a filter is installed */
	int64_t paranoid;	  /* kernel.perf_event_paranoid */
	int64_t ptrace_scope;	  /* Yama; XP_NOT_READABLE without it */
	int64_t unprivileged_bpf; /* kernel.unprivileged_bpf_disabled */
	char lockdown[24];	  /* "none", "integrity", "confidentiality"; "" when it cannot be read */
};

/* Numbers of include/uapi/linux/capability.h. */
enum {
	XP_CAP_SYS_PTRACE = 19,
	XP_CAP_SYS_ADMIN = 21,
	XP_CAP_SYSLOG = 34,
	XP_CAP_PERFMON = 38,
	XP_CAP_BPF = 39,
	XP_CAP_CHECKPOINT_RESTORE = 40
};

/* Which door of the kernel refused. */
enum xp_gate { XP_GATE_BPF, XP_GATE_PERF, XP_GATE_PTRACE, XP_GATE_PROC, XP_GATE_COUNT };

void xp_self_read(struct xp_self *ret_self);
/* Small file with one number; XP_NOT_READABLE. */
int64_t xp_self_number(const char *path);
/* True when it is held, also through CAP_SYS_ADMIN where the kernel takes that instead. */
bool xp_self_has(const struct xp_self *self, unsigned cap);
/* A call that no kernel allows or forbids by right, to see whether a seccomp filter answers in the kernel's place. */
bool xp_self_filtered(const struct xp_self *self, enum xp_gate gate);

/* One refused call. caps: what the kernel asks for there, ended by 0. paranoid: largest perf_event_paranoid that lets it pass without caps,
 * or -1. */
struct xp_refusal {
	enum xp_gate gate;
	int errnum;
	const char *call, *object;
	unsigned caps[3];
	int paranoid;
};
/* Fills status, call, errno, object, missing and unblock of a feature whose trial was refused. */
void xp_self_explain(const struct xp_self *self, const struct xp_refusal *refusal, struct xp_arena *arena, struct xp_feature *feature);

#endif
