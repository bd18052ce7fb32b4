/* SPDX-License-Identifier: Apache-2.0 */
/* Included by tests of injection: targets of tests/targets/inject_target.c, and one injection of inject_probe.so with every trace checked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../targets/inject_probe.h"
#include "inject/inject.h"

#define TARGETS XP_BUILD_DIR "/tests/targets/"

/* Exit status of a test that cannot run; 0: it can. */
static inline int skipped(void)
{
	if (geteuid() == 0)
		return 0;
	print_message("SKIP: stopping other processes wants root\n");
	return 77;
}

struct victim {
	pid_t pid;
	int in, out;
};

static inline struct victim start_victim_in(unsigned long clone_flags, int (*before)(void *), void *arg, const char *program,
					    const char *mode, const char *threads)
{
	int in[2], out[2];
	char ready[8] = "";
	struct victim v;
	/* Opened here: as another user, or in another mount view, its path may lead nowhere. */
	int image = open(program, O_RDONLY | O_CLOEXEC);

	assert_true(image >= 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	v.pid = (pid_t)syscall(SYS_clone, clone_flags | SIGCHLD, NULL, NULL, NULL, NULL);
	if (v.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		if (before && before(arg))
			_exit(126);
		fexecve(image, (char *const[]){ (char *)program, (char *)mode, (char *)threads, NULL }, environ);
		_exit(127);
	}
	close(image);
	close(in[0]);
	close(out[1]);
	v.in = in[1];
	v.out = out[0];
	assert_int_equal(read(v.out, ready, 6), 6);
	assert_string_equal(ready, "ready\n");
	return v;
}

static inline struct victim start_victim(const char *mode, const char *threads)
{
	return start_victim_in(0, NULL, NULL, TARGETS "inject_target", mode, threads);
}

/* Its exit status: 0, or what it found changed; minus the signal that killed it. */
static inline int end_victim(struct victim *v)
{
	int status = -1;

	close(v->in);
	waitpid(v->pid, &status, 0);
	close(v->out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline void read_library(const char *path, void **ret_image, size_t *ret_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	assert_true(fd >= 0 && !fstat(fd, &st));
	*ret_size = (size_t)st.st_size;
	*ret_image = mmap(NULL, *ret_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(*ret_image != MAP_FAILED);
	close(fd);
}

static inline struct xp_inject_request probe_request(void)
{
	struct xp_inject_request request = { .image_name = "probe",
					     .entry = "probe_start",
					     .entry_arg = PROBE_ARGUMENT,
					     .control_name = "control",
					     .control_size = PROBE_SIZE };
	void *image;

	read_library(TARGETS "inject_probe.so", &image, &request.image_size);
	request.image = image;
	return request;
}

static inline int inject(pid_t pid, const struct xp_inject_request *request, struct xp_inject_result *ret_result, struct xp_err *reterr)
{
	xp_auto(xp_target_close) struct xp_target *target = NULL;
	int rc = xp_target_open((uint32_t)pid, NULL, &target, reterr);

	return rc ? rc : xp_inject(target, request, ret_result, reterr);
}

static inline unsigned count_entries(pid_t pid, const char *folder)
{
	char path[64];
	unsigned n = 0;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, folder);
	DIR *dir = opendir(path);
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		n += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

/* Open descriptors of memory files. */
static inline unsigned count_memory_files(pid_t pid)
{
	char path[64], link[128];
	unsigned n = 0;

	for (int fd = 0; fd < 256; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
		ssize_t len = readlink(path, link, sizeof(link) - 1);

		link[len > 0 ? len : 0] = '\0';
		n += !strncmp(link, "/memfd:", 7);
	}
	return n;
}

/* Lines of maps or status that hold `text`. */
static inline unsigned count_lines(pid_t pid, const char *file, const char *text)
{
	char path[64], line[4096];
	unsigned n = 0;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, text) != NULL;
	if (f)
		fclose(f);
	return n;
}

/* What the library has written, seen through our own descriptor. */
static inline void check_probe(const struct xp_inject_result *result)
{
	struct probe *probe = mmap(NULL, PROBE_SIZE, PROT_READ, MAP_SHARED, result->control_fd, 0);

	assert_true(probe != MAP_FAILED);
	assert_int_equal(result->entry_result, PROBE_ANSWER);
	assert_int_equal(probe->magic, PROBE_MAGIC);
	assert_int_equal(probe->argument, PROBE_ARGUMENT);
	assert_int_equal(probe->constructed, 1);
	for (int i = 0; i < 2000 && !__atomic_load_n(&probe->thread_ran, __ATOMIC_ACQUIRE); i++)
		usleep(1000);
	assert_int_equal(probe->thread_ran, 1);
	munmap(probe, PROBE_SIZE);
}

#define assert_injected(pid, request, ret_result)                                                   \
	do {                                                                                        \
		struct xp_err injection_err = { 0 };                                                \
		if (inject(pid, request, ret_result, &injection_err))                               \
			fail_msg("%s: %s", xp_err_name(injection_err.code), injection_err.message); \
	} while (0)
