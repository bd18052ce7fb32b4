/* SPDX-License-Identifier: Apache-2.0 */
/* Which libcupti is chosen, by the mappings of a child that maps files of the wanted names, and by files beside them. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "engine/cupti_find.h"

enum { MOST = 8, PATH = 512 };
#define REAL_13 XP_BUILD_DIR "/tests/fake/13/libcupti.so.13"
#define REAL_12 XP_BUILD_DIR "/tests/fake/12/libcupti.so.12"

static char folder[] = "/tmp/xprobe-cupti-XXXXXX";

static void make_folders(char *path)
{
	for (char *p = path + strlen(folder) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		if (mkdir(path, 0755) && errno != EEXIST)
			fail_msg("mkdir %s", path);
	}
}

/* A file of that name below the folder: a copy of `of`, else a page of zeros. */
static void make(const char *name, const char *of, char *ret_path)
{
	char block[65536];
	int from = of ? open(of, O_RDONLY | O_CLOEXEC) : -1, to;
	ssize_t n;

	snprintf(ret_path, PATH, "%s/%s", folder, name);
	make_folders(ret_path);
	to = open(ret_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(to >= 0 && (!of || from >= 0));
	if (!of)
		assert_int_equal(ftruncate(to, 4096), 0);
	while (of && (n = read(from, block, sizeof(block))) > 0)
		assert_int_equal(write(to, block, (size_t)n), n);
	close(to);
	if (from >= 0)
		close(from);
}

struct file {
	const char *name, *of;
	bool beside; /* lies there, and is not mapped */
};

static pid_t start(const struct file *files)
{
	char paths[MOST][PATH], byte = 0;
	int ready[2];
	unsigned n = 0;
	pid_t pid;

	for (; files[n].name; n++)
		make(files[n].name, files[n].of, paths[n]);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		for (unsigned i = 0; i < n; i++) {
			int fd = files[i].beside ? -1 : open(paths[i], O_RDONLY);

			if (!files[i].beside && mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
				_exit(1);
		}
		n = (unsigned)write(ready[1], &byte, 1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]), close(ready[1]);
	return pid;
}

/* wanted: name of the file below the folder, or NULL and the error. */
static void check(const struct file *files, unsigned cuda_major, const char *wanted, unsigned major, bool mapped, enum xp_err_code code)
{
	struct xp_arena *arena = xp_arena_new();
	struct xp_cupti_choice choice;
	struct xp_target *target;
	xp_auto_err err = { 0 };
	pid_t pid = start(files);
	char path[PATH];

	assert_int_equal(xp_target_open((uint32_t)pid, NULL, &target, &err), 0);
	int rc = xp_cupti_find(target, cuda_major, arena, &choice, &err);
	if (rc && !code)
		print_error("%s: %s\n", xp_err_name(err.code), err.message);
	assert_int_equal(rc, -(int)code);
	if (!code) {
		snprintf(path, sizeof(path), "%s/%s", folder, wanted);
		assert_string_equal(choice.path, path);
		assert_int_equal(choice.major, major);
		assert_int_equal(choice.mapped, mapped);
	}
	xp_target_close(target);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	xp_arena_free(arena);
}

static void the_mapped_copy(void **state)
{
	check((struct file[]){ { "d/libcuda.so.580.1" }, { "a/libcudart.so.13.0.96" }, { "b/libcupti.so.13" }, {} }, 0, "b/libcupti.so.13",
	      13, true, XP_E_NONE);
	check((struct file[]){ { "d/libcuda.so.580.1" }, { "b/libcupti.so.12" }, {} }, 0, "b/libcupti.so.12", 12, true, XP_E_NONE);
}

/* A toolkit's file is named by its year. 2025 is of CUDA 12 and of CUDA 13: the library name in it decides. */
static void named_by_year(void **state)
{
	check((struct file[]){ { "d/libcuda.so.580.1" }, { "t/libcupti.so.2025.3.1", REAL_13 }, {} }, 0, "t/libcupti.so.2025.3.1", 13, true,
	      XP_E_NONE);
	check((struct file[]){ { "d/libcuda.so.580.1" }, { "t/libcupti.so.2025.2.1", REAL_12 }, {} }, 0, "t/libcupti.so.2025.2.1", 12, true,
	      XP_E_NONE);
}

/* torch brings 13 and triton 12: the one of the mapped libcudart, else of the driver. */
static void two_majors(void **state)
{
	const struct file with_runtime[] = { { "d/libcuda.so.580.1" },
					     { "s/nvidia/cu13/lib/libcudart.so.13" },
					     { "s/nvidia/cu13/lib/libcupti.so.13" },
					     { "s/triton/lib/libcupti.so.12" },
					     {} };
	const struct file older_runtime[] = { { "d/libcuda.so.580.1" },
					      { "s/nvidia/cuda_runtime/lib/libcudart.so.12" },
					      { "s/nvidia/cu13/lib/libcupti.so.13" },
					      { "s/triton/lib/libcupti.so.12" },
					      {} };
	const struct file by_driver[] = {
		{ "d/libcuda.so.535.104" }, { "s/nvidia/cu13/lib/libcupti.so.13" }, { "s/triton/lib/libcupti.so.12" }, {}
	};
	const struct file by_new_driver[] = {
		{ "d/libcuda.so.580.1" }, { "s/nvidia/cu13/lib/libcupti.so.13" }, { "s/triton/lib/libcupti.so.12" }, {}
	};

	check(with_runtime, 0, "s/nvidia/cu13/lib/libcupti.so.13", 13, true, XP_E_NONE);
	check(older_runtime, 0, "s/triton/lib/libcupti.so.12", 12, true, XP_E_NONE);
	check(by_driver, 0, "s/triton/lib/libcupti.so.12", 12, true, XP_E_NONE);
	check(by_new_driver, 0, "s/nvidia/cu13/lib/libcupti.so.13", 13, true, XP_E_NONE);
	check(by_new_driver, 12, "s/triton/lib/libcupti.so.12", 12, true, XP_E_NONE);
}

/* Two copies of one major: that of the tree which libcudart came from, wherever the other one lies in memory. */
static void two_copies(void **state)
{
	const struct file files[] = { { "d/libcuda.so.580.1" },
				      { "z/other/libcupti.so.13" },
				      { "s/nvidia/cu13/lib/libcudart.so.13" },
				      { "s/nvidia/cu13/lib/libcupti.so.13" },
				      { "a/other/libcupti.so.13" },
				      {} };

	check(files, 0, "s/nvidia/cu13/lib/libcupti.so.13", 13, true, XP_E_NONE);
}

static void beside_the_runtime(void **state)
{
	const struct file wheel[] = { { "d/libcuda.so.580.1" },
				      { "w/nvidia/cuda_runtime/lib/libcudart.so.12" },
				      { "w/nvidia/cuda_cupti/lib/libcupti.so.12", NULL, true },
				      {} };
	const struct file toolkit[] = {
		{ "d/libcuda.so.580.1" }, { "k/lib64/libcudart.so.13.0.96" }, { "k/extras/CUPTI/lib64/libcupti.so.13", NULL, true }, {}
	};

	check(wheel, 0, "w/nvidia/cuda_runtime/lib/../../cuda_cupti/lib/libcupti.so.12", 12, false, XP_E_NONE);
	check(toolkit, 0, "k/lib64/../extras/CUPTI/lib64/libcupti.so.13", 13, false, XP_E_NONE);
}

static void refusals(void **state)
{
	check((struct file[]){ { "a/libcudart.so.13" }, {} }, 0, NULL, 0, false, XP_E_CUDA_CONTEXT_NOT_FOUND);
	check((struct file[]){ { "d/libcuda.so.580.1" }, { "a/libcudart.so.12" }, { "b/libcudart.so.13" }, {} }, 0, NULL, 0, false,
	      XP_E_AMBIGUOUS_TARGET);
	check((struct file[]){ { "d/libcuda.so.470.82" }, { "a/libcudart.so.11.0" }, {} }, 0, NULL, 0, false,
	      XP_E_UNSUPPORTED_CUDA_VERSION);
}

static int clean(void **state)
{
	char command[PATH];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_mapped_copy), cmocka_unit_test(named_by_year),	 cmocka_unit_test(two_majors),
		cmocka_unit_test(two_copies),	   cmocka_unit_test(beside_the_runtime), cmocka_unit_test(refusals),
	};

	if (!mkdtemp(folder))
		return 1;
	return cmocka_run_group_tests(tests, NULL, clean);
}
