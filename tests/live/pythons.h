/* SPDX-License-Identifier: Apache-2.0 */
/* The Pythons that this machine has, and a script running under one of them. */
#ifndef XP_TESTS_PYTHONS_H
#define XP_TESTS_PYTHONS_H

#include <glob.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PYTHONS_MAX = 64, RELEASES = 7 }; /* 3.8 to 3.14 */

struct pythons {
	char path[PYTHONS_MAX][256];
	size_t n;
};

static inline void add_pythons(struct pythons *pythons, const char *pattern)
{
	glob_t found;

	if (glob(pattern, GLOB_TILDE, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc && pythons->n < PYTHONS_MAX; i++)
		if (!access(found.gl_pathv[i], X_OK))
			snprintf(pythons->path[pythons->n++], sizeof(pythons->path[0]), "%s", found.gl_pathv[i]);
	globfree(&found);
}

/* Usual places, and those that XP_PYTHONS names (colons between them; a wrapper script will do). */
static inline void find_pythons(struct pythons *ret_pythons)
{
	static const char *const places[] = {
		"/usr/bin/python[23].[0-9]",
		"/usr/bin/python3.1[0-9]",
		"/usr/local/bin/python[23].[0-9]",
		"/usr/local/bin/python3.1[0-9]",
		"~/.pyenv/versions/*/bin/python[23].[0-9]",
		"~/.pyenv/versions/*/bin/python3.1[0-9]",
	};
	char *named = strdup(getenv("XP_PYTHONS") ? getenv("XP_PYTHONS") : ""), *rest = named;

	ret_pythons->n = 0;
	for (const char *path; (path = strsep(&rest, ":"));)
		if (*path)
			add_pythons(ret_pythons, path);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		add_pythons(ret_pythons, places[i]);
	free(named);
}

struct script {
	pid_t pid, holder; /* holder: our own child, when pid is its child */
	FILE *out;
};

static inline struct script start_script(const char *python, const char *file, const char *argument)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	struct script script = { .pid = fork() };
	if (!script.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing outlives a test that was killed */
		dup2(ends[1], 1);
		close(ends[0]);
		close(ends[1]);
		execl(python, python, "-E", file, argument, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	script.out = fdopen(ends[0], "r");
	return script;
}

/* The same as process 1 of its own PID namespace; its ids there are small. pid is as we see it. */
static inline struct script start_script_inside(const char *python, const char *file, const char *argument)
{
	int ends[2];
	char path[64], text[32] = "";

	assert_int_equal(pipe(ends), 0);
	struct script script = { .pid = fork() };
	if (!script.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], 1);
		if (unshare(CLONE_NEWPID))
			_exit(127);
		pid_t inner = fork();
		if (!inner) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			execl(python, python, "-E", file, argument, (char *)NULL);
			_exit(127);
		}
		waitpid(inner, NULL, 0);
		_exit(0);
	}
	close(ends[1]);
	script.out = fdopen(ends[0], "r");
	script.holder = script.pid;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)script.pid, (int)script.pid);
	for (int i = 0; i < 1000 && !atoi(text); i++) {
		FILE *children = fopen(path, "r");
		usleep(1000);
		if (!children || !fgets(text, sizeof(text), children))
			text[0] = '\0';
		if (children)
			fclose(children);
	}
	script.pid = atoi(text);
	assert_true(script.pid > 0);
	return script;
}

static inline void stop_script(struct script *script)
{
	kill(script->pid, SIGKILL);
	waitpid(script->holder ? script->holder : script->pid, NULL, 0);
	fclose(script->out);
}

#endif
