/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of host selectors share: starting a program of tests/targets/shapes and resolving selectors in it. */
#ifndef XP_TESTS_RESOLVE_H
#define XP_TESTS_RESOLVE_H

#include "elf_open.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "family/family.h"
#include "family/resolved_doc.h"

extern const struct xp_family xp_family_uprobe, xp_family_python;

struct fixture {
	struct xp_arena *arena;
	struct xp_target *target;
	struct xp_endpoint ep;
	struct xp_err err;
	pid_t child;
	int input;
};

static inline void open_fixture(struct fixture *f, pid_t pid)
{
	struct xp_err err = { 0 };

	f->arena = xp_arena_new();
	if (xp_target_open((uint32_t)pid, NULL, &f->target, &err))
		fail_msg("%s", err.message);
}

/* Starts a program of tests/targets/shapes and waits until it says that it is ready. */
static inline void start(struct fixture *f, const char *path)
{
	int in[2], out[2];
	char byte = 0;

	*f = (struct fixture){ 0 };
	if (access(path, X_OK))
		skip_because(path);
	assert_int_equal(pipe(in) | pipe(out), 0);
	f->child = fork();
	if (!f->child) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		execl(path, path, "-c", "print('ready', flush=True); input()", NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	for (; byte != '\n' && read(out[0], &byte, 1) == 1;)
		;
	close(out[0]);
	f->input = in[1];
	assert_int_equal(byte, '\n');
	open_fixture(f, f->child);
}

static inline void stop(struct fixture *f)
{
	xp_target_close(f->target);
	xp_arena_free(f->arena);
	xp_err_done(&f->err);
	if (f->child && !kill(f->child, SIGKILL) && waitpid(f->child, NULL, 0))
		close(f->input);
}

static inline int resolve_with(struct fixture *f, bool allow_cxx_return, const char *text)
{
	const struct xp_family *family = !strncmp(text, "python:", 7) ? &xp_family_python : &xp_family_uprobe;
	struct xp_resolve_options options = { .allow_cxx_return = allow_cxx_return };

	xp_err_done(&f->err);
	f->err = (struct xp_err){ 0 };
	f->ep = (struct xp_endpoint){ .selector = xp_arena_str(f->arena, text), .family = family };
	int rc = family->parse(f->ep.selector, f->arena, &f->ep, &f->err);
	return rc ? rc : family->resolve(&f->ep, f->target, &options, f->arena, &f->err);
}

static inline const struct xp_resolved *resolve(struct fixture *f, const char *path, const char *rest)
{
	if (resolve_with(f, false, xp_arena_fmt(f->arena, "uprobe:%s:%s", path, rest)))
		fail_msg("%s: %s", rest, f->err.message);
	return f->ep.resolved;
}

static inline void refused(struct fixture *f, const char *path, const char *rest, enum xp_err_code code)
{
	int rc = resolve_with(f, false, xp_arena_fmt(f->arena, "uprobe:%s:%s", path, rest));

	if (rc != -(int)code)
		fail_msg("%s: %d %s", rest, rc, f->err.message);
}

static inline const char *candidate(struct fixture *f, size_t index)
{
	return json_string_value(json_array_get(json_object_get(f->err.details, "candidates"), index));
}

/* The bytes at runtime_address in the process are those at file_offset in the file. */
static inline void check_memory(struct fixture *f)
{
	const struct xp_resolved *resolved = f->ep.resolved;
	xp_auto_fd memory = xp_target_openat(f->target, "mem");
	xp_auto_fd file = open(resolved->attach_path, O_RDONLY | O_CLOEXEC);
	unsigned char live[16], stored[16];

	assert_int_equal(pread(memory, live, sizeof(live), (off_t)resolved->runtime_address), sizeof(live));
	assert_int_equal(pread(file, stored, sizeof(stored), (off_t)resolved->file_offset), sizeof(stored));
	assert_memory_equal(live, stored, sizeof(live));
}

#endif
