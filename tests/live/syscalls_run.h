/* SPDX-License-Identifier: Apache-2.0 */
/* One inventory of one child, step by step, without the window loop. */
#ifndef XP_TESTS_SYSCALLS_RUN_H
#define XP_TESTS_SYSCALLS_RUN_H

#include "child.h"
#include "syscalls_check.h"

#include "base/arena.h"
#include "base/regex.h"
#include "inventory/inventory.h"

extern const struct xp_inventory_kind xp_inventory_syscalls;

struct run {
	struct shared *shared;
	pid_t child;
	struct xp_arena *arena;
	struct xp_target *target;
	void *state;
	struct xp_window window;
	struct xp_syscalls *value;
};

static inline void must(int rc, const struct xp_err *err)
{
	if (rc)
		fail_msg("%s: %s (%s %s)", xp_err_name(err->code), err->message, err->call, err->errno_text);
}

static inline void start(struct run *run, void (*before)(struct shared *), void (*body)(struct shared *))
{
	*run = (struct run){ .arena = xp_arena_new() };
	run->shared = mmap(NULL, sizeof(*run->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(run->shared != MAP_FAILED);
	assert_int_equal(pipe(run->shared->pipe), 0);
	run->child = fork_child(run->shared, before, body);
	WAIT_UNTIL(atomic_load(&run->shared->ready));
}

/* Opens the window and lets the child go. */
static inline void open_window(struct run *run, const struct xp_inventory_request *request)
{
	xp_auto_err err = { 0 };

	must(xp_target_open((uint32_t)run->child, NULL, &run->target, &err), &err);
	must(xp_inventory_syscalls.open(request, run->target, run->arena, &run->state, &err), &err);
	must(xp_inventory_syscalls.ops->prepare(run->state, &err), &err);
	must(xp_inventory_syscalls.ops->arm(run->state, &err), &err);
	run->window.start_ns = now_ns();
	run->window.opened = true;
	must(xp_inventory_syscalls.ops->open(run->state, run->window.start_ns, &err), &err);
	atomic_store(&run->shared->go, 1);
}

static inline void close_window(struct run *run)
{
	xp_auto_err err = { 0 };
	void *value;

	run->window.end_ns = now_ns();
	xp_inventory_syscalls.ops->close_window(run->state, run->window.end_ns);
	must(xp_inventory_syscalls.ops->disarm(run->state, &err), &err);
	must(xp_inventory_syscalls.finish(run->state, &run->window, run->arena, &value, &err), &err);
	run->value = value;
	check_identity(run->value);
}

/* Drains until the child has done its work or is gone, then closes the window. */
static inline void finish_window(struct run *run)
{
	xp_auto_err err = { 0 };

	while (!atomic_load(&run->shared->done) && !gone(run->child)) {
		must(xp_inventory_syscalls.ops->drain(run->state, &err), &err);
		usleep(2000);
	}
	close_window(run);
}

static inline void end(struct run *run)
{
	atomic_store(&run->shared->finish, 1);
	kill(run->child, SIGKILL);
	waitpid(run->child, NULL, 0);
	xp_inventory_syscalls.free(run->state);
	xp_target_close(run->target);
	xp_arena_free(run->arena);
	close(run->shared->pipe[0]);
	close(run->shared->pipe[1]);
	munmap(run->shared, sizeof(*run->shared));
}

static inline const struct xp_syscall_group *group_of(const struct run *run, long nr, bool compat)
{
	return find_group(run->value, nr, compat);
}

static inline uint64_t count_of(const struct run *run, long nr)
{
	return find_count(run->value, nr);
}

static inline uint64_t errors_of(const struct run *run, long nr, const char *name)
{
	return find_errors(run->value, nr, name);
}

/* 0 when live tests can run here; else the reason is printed and 77 returned. */
static inline int skip_reason(void)
{
	const char *reason = geteuid() ? "needs root" : access("/sys/kernel/btf/vmlinux", R_OK) ? "the kernel has no BTF" : NULL;

	if (reason)
		printf("SKIP: %s\n", reason);
	return reason ? SKIP : 0;
}

#endif
