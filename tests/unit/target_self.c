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

#define NO_YAMA XP_NOT_READABLE

struct situation {
	uint32_t euid;
	uint64_t caps;
	int64_t paranoid, ptrace_scope;
	const char *lockdown;
	bool nested;
};

static const struct situation root = { 0, ~0ull, 2, NO_YAMA, "", false };
static const struct situation bare_root = { 0, CAP(PERFMON), 2, NO_YAMA, "", false };
static const struct situation user = { 1000, 0, 2, NO_YAMA, "", false };
static const struct situation user_bpf = { 1000, CAP(BPF), 2, NO_YAMA, "", false };
static const struct situation user_at_3 = { 1000, 0, 3, NO_YAMA, "", false };
static const struct situation perfmon_at_4 = { 1000, CAP(PERFMON), 4, NO_YAMA, "", false };
static const struct situation locked = { 0, ~0ull, 2, NO_YAMA, "confidentiality", false };
static const struct situation nested = { 0, ~0ull, 2, NO_YAMA, "", true };
static const struct situation yama_2 = { 1000, 0, 2, 2, "", false };
static const struct situation yama_3 = { 0, ~0ull, 2, 3, "", false };

static const struct row {
	const struct situation *in;
	enum xp_gate gate;
	int errnum, paranoid;
	const char *missing[2], *says, *never;
} rows[] = {
	{ &user, XP_GATE_BPF, EPERM, -1, { "CAP_BPF", "CAP_PERFMON" }, "CAP_BPF and CAP_PERFMON", "container" },
	{ &user_bpf, XP_GATE_BPF, EPERM, -1, { "CAP_PERFMON" }, "grant", "CAP_BPF" },
	{ &bare_root, XP_GATE_BPF, EPERM, -1, { "CAP_BPF" }, "--cap-add=BPF", "PERFMON" },
	{ &locked, XP_GATE_BPF, EPERM, -1, { "kernel lockdown below confidentiality" }, "lockdown=integrity", NULL },
	{ &nested, XP_GATE_BPF, EPERM, -1, { "initial user namespace" }, "outside", NULL },
	{ &root, XP_GATE_BPF, EACCES, -1, { "consent of the security module" }, "LSM", "grant" },
	{ &root, XP_GATE_BPF, ENOSYS, -1, { NULL }, "this kernel does not offer it", NULL },
	{ &user, XP_GATE_PERF, EACCES, 1, { "CAP_PERFMON" }, "grant", "sysctl" },
	{ &user_at_3, XP_GATE_PERF, EACCES, 2, { "kernel.perf_event_paranoid<=2" }, "it is 3", "honour" },
	{ &perfmon_at_4, XP_GATE_PERF, EACCES, 2, { "kernel.perf_event_paranoid<=2" }, "honour", NULL },
	{ &yama_2, XP_GATE_PTRACE, EPERM, -1, { "CAP_SYS_PTRACE" }, "grant", NULL },
	{ &yama_3, XP_GATE_PTRACE, EPERM, -1, { "kernel.yama.ptrace_scope<=2" }, "next boot", NULL },
};

/* What the kernel asks for at each gate, as the trials say it. */
static const unsigned caps_of[XP_GATE_COUNT][2] = {
	[XP_GATE_BPF] = { XP_CAP_BPF, XP_CAP_PERFMON },
	[XP_GATE_PERF] = { XP_CAP_PERFMON },
	[XP_GATE_PTRACE] = { XP_CAP_SYS_PTRACE },
};

static struct xp_self self_of(const struct situation *in)
{
	struct xp_self self = {
		.euid = in->euid,
		.caps = in->caps,
		.initial_userns = !in->nested,
		.paranoid = in->paranoid,
		.ptrace_scope = in->ptrace_scope,
	};

	strcpy(self.lockdown, in->lockdown);
	return self;
}

static void answers(void **state)
{
	struct xp_arena *arena = xp_arena_new();

	for (size_t i = 0; i < XP_LEN(rows); i++) {
		const struct row *row = &rows[i];
		struct xp_refusal refusal = { row->gate,    row->errnum, "call", "object", { caps_of[row->gate][0], caps_of[row->gate][1] },
					      row->paranoid };
		struct xp_feature f = { .status = XP_FEATURE_UNKNOWN };
		struct xp_self self = self_of(row->in);

		xp_self_explain(&self, &refusal, arena, &f);
		print_message("%s\n", f.unblock);
		assert_int_equal(f.n_missing, (row->missing[0] != NULL) + (row->missing[1] != NULL));
		for (size_t n = 0; n < f.n_missing; n++)
			assert_string_equal(f.missing[n], row->missing[n]);
		assert_non_null(strstr(f.unblock, row->says));
		if (row->never)
			assert_null(strstr(f.unblock, row->never));
		assert_null(strstr(f.unblock, "as root"));
	}
	xp_arena_free(arena);
}

/* CAP_SYS_ADMIN stands for the younger capabilities, but not for CAP_SYS_PTRACE. */
static void implied_capabilities(void **state)
{
	struct xp_self admin = { .caps = CAP(SYS_ADMIN) };

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
