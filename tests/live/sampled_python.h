/* SPDX-License-Identifier: Apache-2.0 */
/* Included by live tests of Python frames: every Python of the machine, and a script that tells its version and runtime first. */
#ifndef XP_TESTS_SAMPLED_PYTHON_H
#define XP_TESTS_SAMPLED_PYTHON_H

#include <fcntl.h>

#include "elf/python.h"
#include "pythons.h"
#include "sampling.h"

struct python {
	pid_t pid;
	FILE *out;
	unsigned version;
	uint64_t runtime;
	struct xp_python_layout layout;
};

/* False: this build is not known. */
static inline bool find_layout(struct python *python)
{
	struct xp_target *target;
	struct xp_python *found;
	xp_auto_err err = { 0 };

	must(xp_target_open((uint32_t)python->pid, NULL, &target, &err), &err);
	must(xp_python_open(target, &found, &err), &err);
	python->layout = *xp_python_layout(found);
	xp_python_free(found);
	xp_target_close(target);
	if (!python->layout.version)
		return false;
	assert_int_equal(python->layout.version, python->version);
	assert_int_equal(python->layout.runtime, python->runtime);
	return true;
}

/* False: this Python is too old, or a build that is not known; end_python is due all the same. */
static inline bool start_python(const char *program, const char *script, const char *first, const char *second, struct python *ret_python)
{
	struct python python = { 0 };
	char line[128];
	int out[2];

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	python.pid = fork();
	assert_true(python.pid >= 0);
	if (!python.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], 1);
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 2);
		execl(program, program, script, first, second, NULL);
		_exit(127);
	}
	close(out[1]);
	python.out = fdopen(out[0], "r");
	bool ok = fgets(line, sizeof(line), python.out) && sscanf(line, "%x %lx", &python.version, &python.runtime) == 2 &&
		  find_layout(&python);

	*ret_python = python;
	return ok;
}

static inline void end_python(struct python *python)
{
	fclose(python->out);
	end_process(python->pid);
}

/* False: there is none. */
static inline bool each_python(void (*body)(const char *program))
{
	struct pythons pythons;

	find_pythons(&pythons);
	for (size_t i = 0; i < pythons.n; i++)
		body(pythons.path[i]);
	return pythons.n > 0;
}

#endif
