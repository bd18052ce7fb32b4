/* SPDX-License-Identifier: Apache-2.0 */
/* Fault: a number that another process had inherited was trusted; paths were looked up in the tool's own mount namespace. Needs root. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "target/target_priv.h"

/* Runs inside forked children, where an assertion of cmocka cannot report: the line number is the exit status's text. */
#define CHECK(condition)                                                                \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			_exit(1);                                                       \
		}                                                                       \
	} while (0)

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	CHECK(fd >= 0);
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static pid_t spawn_sleeper(void)
{
	pid_t child = fork();

	if (!child)
		for (;;)
			pause();
	return child;
}

static void own_mounts(void)
{
	CHECK(!unshare(CLONE_NEWNS));
	CHECK(!mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
}

/* First process of a new PID namespace: gives a second process the number of the first. */
static void reuse_inside(void)
{
	own_mounts();
	CHECK(!mount("proc", "/proc", "proc", 0, NULL));

	pid_t first = spawn_sleeper();
	struct xp_target *target, *again = NULL;
	xp_auto_err err = { 0 };
	CHECK(!xp_target_open((uint32_t)first, NULL, &target, &err));
	struct xp_target_id id = *xp_target_identity(target);
	kill(first, SIGKILL);
	waitpid(first, NULL, 0);
	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL); /* start times count in ticks of 10 ms */

	char last[16];
	snprintf(last, sizeof(last), "%d", (int)first - 1);
	write_text("/proc/sys/kernel/ns_last_pid", last);
	pid_t second = spawn_sleeper();
	CHECK(second == first);

	CHECK(xp_target_open((uint32_t)second, &id, &again, &err) == -XP_E_TARGET_REUSED && !again);
	struct xp_stat stat;
	uint64_t ns;
	CHECK(xp_target_check(target, &err) == -XP_E_TARGET_EXITED);
	CHECK(xp_target_stat(target, 0, &stat, &err) == -XP_E_TARGET_EXITED);
	CHECK(xp_target_cpu_ns(target, &ns, &err) == -XP_E_TARGET_EXITED);
	CHECK(!xp_target_open((uint32_t)second, NULL, &again, &err));
	CHECK(xp_target_identity(again)->process_start_time != id.process_start_time);
	xp_target_close(again);
	xp_target_close(target);
	kill(second, SIGKILL);
}

static void reused_number(void)
{
	CHECK(!unshare(CLONE_NEWPID));
	pid_t init = fork();
	int status;

	if (!init) {
		reuse_inside();
		_exit(0);
	}
	CHECK(waitpid(init, &status, 0) == init && WIFEXITED(status) && !WEXITSTATUS(status));
}

/* The /proc of another PID namespace would show a stranger under the same number. */
static void foreign_procfs(void)
{
	CHECK(!unshare(CLONE_NEWPID));
	pid_t init = fork();
	int status;

	if (!init) {
		struct xp_target *target;
		xp_auto_err err = { 0 };

		CHECK(xp_target_open((uint32_t)spawn_sleeper(), NULL, &target, &err) == -XP_E_PERMISSION_DENIED);
		_exit(0);
	}
	CHECK(waitpid(init, &status, 0) == init && WIFEXITED(status) && !WEXITSTATUS(status));
}

/* The target's file lies under a private bind mount; a different file has the same path here. */
static void private_mount(void)
{
	char folder[] = "/tmp/xprobe-ns-XXXXXX", public[64], hidden[64], got[16] = "", way[4200];
	int ready[2];

	CHECK(mkdtemp(folder) && !pipe(ready));
	snprintf(public, sizeof(public), "%s/file", folder);
	snprintf(hidden, sizeof(hidden), "%s/hidden", folder);
	write_text(public, "of the host");
	write_text(hidden, "of the target");
	pid_t child = fork();
	if (!child) {
		own_mounts();
		CHECK(!mount(hidden, public, NULL, MS_BIND, NULL));
		int fd = open(public, O_RDONLY | O_CLOEXEC);
		void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
		CHECK(at != MAP_FAILED && write(ready[1], &at, sizeof(at)) == sizeof(at));
		for (;;)
			pause();
	}
	struct xp_target *target;
	xp_auto_err err = { 0 };
	uint64_t at;
	int fd;
	CHECK(read(ready[0], &at, sizeof(at)) == sizeof(at));
	CHECK(!xp_target_open((uint32_t)child, NULL, &target, &err));
	const struct xp_mapping *m = xp_maps_find(xp_target_maps(target), at);
	CHECK(m && !strcmp(m->path, public) && !m->deleted && !xp_target_mapping_replaced(target, m));
	CHECK(!xp_target_open_mapping(target, m, &fd, &err) && read(fd, got, sizeof(got)) == 13 && !memcmp(got, "of the target", 13));
	CHECK(!xp_target_mapping_path(target, m, way, sizeof(way), &err));
	int again = open(way, O_RDONLY | O_CLOEXEC);
	CHECK(again >= 0 && pread(again, got, sizeof(got), 0) == 13 && !memcmp(got, "of the target", 13));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	/* Gone in mid work: an answer, no crash. */
	CHECK(xp_target_open_mapping(target, m, &fd, &err) == -XP_E_BINARY_NOT_MAPPED);
	xp_target_close(target);
	unlink(public);
	unlink(hidden);
	rmdir(folder);
}

/* Without rights: foreign processes are refused with call and errno, own files are found without map_files. */
static void unprivileged(void)
{
	char path[] = "/tmp/xprobe-user-XXXXXX", got[8] = "";
	int fd = mkstemp(path);

	CHECK(fd >= 0 && write(fd, "mine", 4) == 4 && !fchown(fd, 65534, 65534));
	CHECK(!setresgid(65534, 65534, 65534) && !setresuid(65534, 65534, 65534) && !prctl(PR_SET_DUMPABLE, 1));
	void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	struct xp_target *target;
	xp_auto_err err = { 0 };

	CHECK(xp_target_open(1, NULL, &target, &err) == -XP_E_PERMISSION_DENIED);
	CHECK(!strcmp(err.errno_text, "EACCES") && err.call[0] && !strncmp(err.object, "/proc/1/", 8));
	CHECK(!xp_target_open((uint32_t)getpid(), NULL, &target, &err));
	const struct xp_mapping *m = xp_maps_find(xp_target_maps(target), (uint64_t)(uintptr_t)at);
	CHECK(m && !xp_target_open_mapping(target, m, &fd, &err) && read(fd, got, sizeof(got)) == 4 && !strcmp(got, "mine"));
	CHECK(!unlink(path) && xp_target_open_mapping(target, m, &fd, &err) == -XP_E_BINARY_NOT_MAPPED);
	xp_target_close(target);
}

static bool run(const char *name, void (*test)(void))
{
	int status;
	pid_t child = fork();

	if (!child) {
		test();
		_exit(0);
	}
	bool good = waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
	printf("%s: %s\n", good ? "ok" : "FAILED", name);
	fflush(stdout);
	return good;
}

int main(void)
{
	if (geteuid() || access("/proc/sys/kernel/ns_last_pid", W_OK)) {
		printf("SKIP: needs root and /proc/sys/kernel/ns_last_pid\n");
		return 77;
	}
	bool good = run("reused_number", reused_number);
	good &= run("foreign_procfs", foreign_procfs);
	good &= run("private_mount", private_mount);
	good &= run("unprivileged", unprivileged);
	return !good;
}
