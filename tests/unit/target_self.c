/* SPDX-License-Identifier: Apache-2.0 */
/* Fault: every refusal read alike, and root was told to become root. One refused call under many situations gives as many answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "target/self.h"

#define CAP(name) (1ull << XP_CAP_##name)

static const struct xp_self free_root = { .caps = ~0ull, .initial_userns = true, .paranoid = 2, .ptrace_scope = XP_NOT_READABLE };

struct row {
	const char *what;
	struct xp_self self;
	enum xp_gate gate;
	int errnum, paranoid;
	unsigned caps[2];
	const char *missing[2];
	const char *says, *never;
};

static struct xp_self with(uint32_t euid, uint64_t caps, int64_t paranoid)
{
	struct xp_self self = free_root;

	self.euid = euid;
	self.caps = caps;
	self.paranoid = paranoid;
	return self;
}

static void check(struct xp_arena *arena, const struct row *row)
{
	struct xp_refusal refusal = {
		.gate = row->gate,
		.errnum = row->errnum,
		.call = "call",
		.object = "object",
		.caps = { row->caps[0], row->caps[1] },
		.paranoid = row->paranoid,
	};
	struct xp_feature f = { .status = XP_FEATURE_UNKNOWN };

	xp_self_explain(&row->self, &refusal, arena, &f);
	print_message("%s: %s\n", row->what, f.unblock);
	size_t n = (row->missing[0] != NULL) + (row->missing[1] != NULL);
	assert_int_equal(f.n_missing, n);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(f.missing[i], row->missing[i]);
	assert_non_null(strstr(f.unblock, row->says));
	if (row->never)
		assert_null(strstr(f.unblock, row->never));
	assert_null(strstr(f.unblock, "as root"));
}

static void answers(void **state)
{
	struct xp_self locked = free_root, nested = free_root, yama = with(1000, 0, 2), yama_off = free_root;
	struct xp_arena *arena = xp_arena_new();

	strcpy(locked.lockdown, "confidentiality");
	nested.initial_userns = false;
	yama.ptrace_scope = 2;
	yama_off.ptrace_scope = 3;
	const struct row rows[] = {
		{ "user",
		  with(1000, 0, 2),
		  XP_GATE_BPF,
		  EPERM,
		  -1,
		  { XP_CAP_BPF, XP_CAP_PERFMON },
		  { "CAP_BPF", "CAP_PERFMON" },
		  "CAP_BPF and CAP_PERFMON",
		  "container" },
		{ "user with one",
		  with(1000, CAP(BPF), 2),
		  XP_GATE_BPF,
		  EPERM,
		  -1,
		  { XP_CAP_BPF, XP_CAP_PERFMON },
		  { "CAP_PERFMON" },
		  "grant",
		  "CAP_BPF" },
		{ "bare root",
		  with(0, CAP(PERFMON), 2),
		  XP_GATE_BPF,
		  EPERM,
		  -1,
		  { XP_CAP_BPF, XP_CAP_PERFMON },
		  { "CAP_BPF" },
		  "--cap-add=BPF",
		  "PERFMON" },
		{ "lockdown",
		  locked,
		  XP_GATE_BPF,
		  EPERM,
		  -1,
		  { XP_CAP_BPF },
		  { "kernel lockdown below confidentiality" },
		  "lockdown=integrity",
		  NULL },
		{ "user namespace", nested, XP_GATE_BPF, EPERM, -1, { XP_CAP_BPF }, { "initial user namespace" }, "outside", NULL },
		{ "security module",
		  free_root,
		  XP_GATE_BPF,
		  EACCES,
		  -1,
		  { XP_CAP_BPF },
		  { "consent of the security module" },
		  "LSM",
		  "grant" },
		{ "sampling at 2", with(1000, 0, 2), XP_GATE_PERF, EACCES, 1, { XP_CAP_PERFMON }, { "CAP_PERFMON" }, "grant", "sysctl" },
		{ "sampling at 3",
		  with(1000, 0, 3),
		  XP_GATE_PERF,
		  EACCES,
		  2,
		  { XP_CAP_PERFMON },
		  { "kernel.perf_event_paranoid<=2" },
		  "it is 3",
		  "honour" },
		{ "CAP_PERFMON at 4",
		  with(1000, CAP(PERFMON), 4),
		  XP_GATE_PERF,
		  EACCES,
		  2,
		  { XP_CAP_PERFMON },
		  { "kernel.perf_event_paranoid<=2" },
		  "honour",
		  NULL },
		{ "Yama 2", yama, XP_GATE_PTRACE, EPERM, -1, { XP_CAP_SYS_PTRACE }, { "CAP_SYS_PTRACE" }, "grant", NULL },
		{ "Yama 3",
		  yama_off,
		  XP_GATE_PTRACE,
		  EPERM,
		  -1,
		  { XP_CAP_SYS_PTRACE },
		  { "kernel.yama.ptrace_scope<=2" },
		  "next boot",
		  NULL },
		{ "no such call", free_root, XP_GATE_BPF, ENOSYS, -1, { XP_CAP_BPF }, { NULL }, "this kernel does not offer it", NULL },
	};

	for (size_t i = 0; i < XP_LEN(rows); i++)
		check(arena, &rows[i]);
	xp_arena_free(arena);
}

/* CAP_SYS_ADMIN stands for the younger capabilities, but not for CAP_SYS_PTRACE. */
static void implied_capabilities(void **state)
{
	struct xp_self admin = with(0, CAP(SYS_ADMIN), 2);

	assert_true(xp_self_has(&admin, XP_CAP_BPF));
	assert_true(xp_self_has(&admin, XP_CAP_PERFMON));
	assert_true(xp_self_has(&admin, XP_CAP_CHECKPOINT_RESTORE));
	assert_false(xp_self_has(&admin, XP_CAP_SYS_PTRACE));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(answers), cmocka_unit_test(implied_capabilities) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
