/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fault: stacks that end early or lead astray between two instructions of a prologue, an epilogue, a handler or a PLT entry. Programs are
 * stepped through, and at every instruction the unwound stack is compared with one that only follows calls and returns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf/unwind_priv.h"

enum { FRAMES = 256, COPY = 16384, STEPS_MAX = 60000 };

/* A place to come back to, the stack slot that holds it, and whether the kernel put it there. */
struct shadow {
	uint64_t pc, slot;
};

struct session {
	pid_t pid;
	struct xp_target *target;
	struct xp_unwinder *unwinder;
	struct user_regs_struct regs;
	unsigned char copy[COPY];
	size_t len;
	struct shadow shadow[FRAMES]; /* outermost first */
	size_t n_shadow;
	uint64_t pcs[FRAMES], sps[FRAMES];
	struct xp_unwound out;
	/* What was seen. */
	size_t steps, compared, cut, odd_cfa, elsewhere;
};

static void take(struct session *session)
{
	struct iovec local = { session->copy, COPY }, remote[2];
	uint64_t sp, page;

	assert_int_equal(ptrace(PTRACE_GETREGS, session->pid, NULL, &session->regs), 0);
	sp = session->regs.rsp;
	page = 4096 - sp % 4096;
	remote[0] = (struct iovec){ (void *)(uintptr_t)sp, page };
	remote[1] = (struct iovec){ (void *)(uintptr_t)(sp + page), COPY - page };
	ssize_t n = process_vm_readv(session->pid, &local, 1, remote, 2, 0);
	assert_true(n > 0);
	session->len = (size_t)n;
}

static void unwind(struct session *session, size_t len)
{
	struct xp_unwind_regs regs = { session->regs.rip, session->regs.rsp, session->regs.rbp };
	struct xp_stack_bytes stack = { session->regs.rsp, session->copy, len };

	session->out = (struct xp_unwound){ .pcs = session->pcs, .sps = session->sps };
	xp_unwind(session->unwinder, &regs, &stack, FRAMES, &session->out);
}

static uint64_t peek(const struct session *session, uint64_t address)
{
	uint64_t value = 0;
	struct iovec local = { &value, 8 }, remote = { (void *)(uintptr_t)address, 8 };

	process_vm_readv(session->pid, &local, 1, &remote, 1, 0);
	return value;
}

/* The return address of a call lies just behind the instruction that ran before. */
static void follow(struct session *session, const struct user_regs_struct *before)
{
	const struct user_regs_struct *now = &session->regs;
	uint64_t returns = peek(session, now->rsp);

	while (session->n_shadow && session->shadow[session->n_shadow - 1].slot < now->rsp)
		session->n_shadow--;
	if (now->rsp == before->rsp - 8 && returns - before->rip - 2 < 14 && now->rip != returns) {
		assert_true(session->n_shadow < FRAMES);
		session->shadow[session->n_shadow++] = (struct shadow){ returns - 1, now->rsp };
	}
}

/* The first instruction of a handler: the kernel pushed the way to sigreturn, and the interrupted place into the frame above. */
static void interrupted(struct session *session, const struct user_regs_struct *before)
{
	assert_true(session->n_shadow + 2 < FRAMES);
	session->shadow[session->n_shadow++] = (struct shadow){ before->rip, session->regs.rsp + 8 };
	session->shadow[session->n_shadow++] = (struct shadow){ peek(session, session->regs.rsp), session->regs.rsp };
}

static void explain(const struct session *session, const char *name, const char *what)
{
	size_t n = session->n_shadow;

	print_error("%s: %s at step %zu, pc %llx, end %d\n", name, what, session->steps, session->regs.rip, session->out.end);
	for (size_t i = 0; i < session->out.n || i <= n; i++)
		print_error("  %2zu  unwound %lx  known %lx\n", i, i < session->out.n ? session->pcs[i] : 0,
			    !i	     ? (uint64_t)session->regs.rip
			    : i <= n ? session->shadow[n - i].pc
				     : 0);
	fail();
}

/* The rule at this instruction counts from a register that samples do not carry (gcc realigns a stack through r10). */
static bool is_odd(const struct session *session)
{
	xp_auto(xp_rules_free) struct xp_rules *rules = xp_rules_new(session->target);
	const struct xp_rule *rule = xp_rules_at(rules, session->regs.rip);

	return rule->kind == XP_RULE_CFI && rule->cfi.cfa.how == XP_CFI_OTHER;
}

/* The stack so far is right, and complete. Where a handler runs on a stack of its own, only that stack was copied. */
static void compare(struct session *session, const char *name)
{
	size_t n = session->n_shadow, same = 1;

	unwind(session, session->len);
	if (session->out.end == XP_UNWIND_FAILED && session->out.n == 1 && is_odd(session)) {
		session->odd_cfa++;
		return;
	}
	while (same < session->out.n && same <= n && session->pcs[same] == session->shadow[n - same].pc)
		same++;
	if (session->pcs[0] != session->regs.rip || same != session->out.n)
		explain(session, name, "a wrong frame");
	if (session->out.end == XP_UNWIND_COPY && session->shadow[0].slot - session->regs.rsp > COPY)
		session->elsewhere++;
	else if (session->out.end != XP_UNWIND_WHOLE || session->out.n != n + 1)
		explain(session, name, "a stack not to its end");
	session->compared++;
}

/* Every shorter copy gives the beginning of the same stack and says that it was too short. */
static void cut(struct session *session, const char *name)
{
	size_t whole = session->out.n, got = 0;

	if (session->out.end != XP_UNWIND_WHOLE)
		return;
	for (size_t len = 0; len < session->len && got < whole; len += 24) {
		unwind(session, len);
		if (session->out.end == XP_UNWIND_WHOLE ? session->out.n != whole : session->out.end != XP_UNWIND_COPY)
			explain(session, name, "a cut copy not told as such");
		if (session->out.n < got || session->out.n > whole)
			explain(session, name, "a longer copy with fewer frames");
		got = session->out.n;
		session->cut++;
	}
}

/* False when the second breakpoint, or the program's end, was reached. */
static bool step(struct session *session, int *sig)
{
	struct user_regs_struct before = session->regs;
	int status, sent = *sig;

	assert_int_equal(ptrace(PTRACE_SINGLESTEP, session->pid, NULL, (void *)(intptr_t)sent), 0);
	assert_int_equal(waitpid(session->pid, &status, 0), session->pid);
	assert_true(WIFSTOPPED(status));
	*sig = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
	take(session);
	if (*sig)
		return true;
	if (sent)
		interrupted(session, &before);
	else
		follow(session, &before);
	return (peek(session, session->regs.rip) & 0xff) != 0xcc;
}

static void begin(struct session *session, const char *path)
{
	xp_auto_err err = { 0 };
	int status;

	session->pid = fork();
	if (!session->pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execl(path, path, NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(session->pid, &status, 0), session->pid);
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, session->pid, NULL, (void *)PTRACE_O_EXITKILL), 0);
	assert_int_equal(ptrace(PTRACE_CONT, session->pid, NULL, NULL), 0);
	assert_int_equal(waitpid(session->pid, &status, 0), session->pid);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	assert_int_equal(xp_target_open((uint32_t)session->pid, NULL, &session->target, &err), 0);
	assert_int_equal(xp_unwinder_new(session->target, &session->unwinder, &err), 0);
	take(session);
	/* Up to main() the stack is what the unwinder says; from there on calls and returns are followed. */
	unwind(session, session->len);
	assert_int_equal(session->out.end, XP_UNWIND_WHOLE);
	assert_in_range(session->out.n, 2, 8);
	session->n_shadow = session->out.n - 1;
	for (size_t i = 1; i <= session->n_shadow; i++)
		session->shadow[session->n_shadow - i] = (struct shadow){ session->pcs[i], session->sps[i] - 8 };
}

static void finish(struct session *session)
{
	xp_unwinder_free(session->unwinder);
	xp_target_close(session->target);
	kill(session->pid, SIGKILL);
	waitpid(session->pid, NULL, 0);
	free(session);
}

static void walk(const char *name)
{
	struct session *session = calloc(1, sizeof(*session));
	char path[512];
	int sig = 0;

	snprintf(path, sizeof(path), XP_BUILD_DIR "/targets/%s", name);
	if (access(path, X_OK)) {
		print_message("SKIP %s: it was not built\n", name);
		free(session);
		skip();
	}
	begin(session, path);
	while (step(session, &sig)) {
		assert_true(session->steps++ < STEPS_MAX);
		if (sig)
			continue;
		compare(session, name);
		if (session->steps % 251 == 0)
			cut(session, name);
	}
	print_message("%s: %zu steps, %zu stacks right, %zu cut copies, %zu on another stack, %zu without a usable register\n", name,
		      session->steps, session->compared, session->cut, session->elsewhere, session->odd_cfa);
	assert_in_range(session->compared, 1500, STEPS_MAX);
	assert_in_range(session->elsewhere, 5, 1000);
	assert_in_range(session->odd_cfa, 0, 80);
	assert_in_range(session->cut, 50, 100000);
	finish(session);
}

static void compiled_frames(void **state)
{
	walk(*state);
}

int main(void)
{
	static const char *const names[] = {
		"frames_gcc_0_omit",   "frames_gcc_0_keep",   "frames_gcc_1_omit",   "frames_gcc_1_keep",   "frames_gcc_2_omit",
		"frames_gcc_2_keep",   "frames_gcc_3_omit",   "frames_gcc_3_keep",   "frames_clang_0_omit", "frames_clang_0_keep",
		"frames_clang_1_omit", "frames_clang_1_keep", "frames_clang_2_omit", "frames_clang_2_keep", "frames_clang_3_omit",
		"frames_clang_3_keep", "frames_unsorted",
	};
	struct CMUnitTest tests[XP_LEN(names)];

	for (size_t i = 0; i < XP_LEN(names); i++)
		tests[i] =
			(struct CMUnitTest){ .name = names[i], .test_func = compiled_frames, .initial_state = (void *)(uintptr_t)names[i] };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
