/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets that must be refused by name, before any ptrace call where that is possible: elsewhere (cases F6, F8) they crashed, hung, or were
 * met by "invalid caller". Each runs on afterwards.
 */
#include "../lib/injection.c"

#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/ptrace.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

static int install(int nr, unsigned answer)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Injects in a process that the kernel kills at its first ptrace call. The error's code. */
static int code_without_ptrace(pid_t pid, const struct xp_inject_request *request)
{
	struct xp_inject_result r;
	struct xp_err err = { 0 };
	int status;
	pid_t tool = fork();

	if (!tool) {
		if (install(SYS_ptrace, SECCOMP_RET_KILL_PROCESS))
			_exit(126);
		_exit(inject(pid, request, &r, &err) ? (int)err.code : 0);
	}
	assert_int_equal(waitpid(tool, &status, 0), tool);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void must_refuse_untouched(struct victim v, const struct xp_inject_request *request, enum xp_err_code code)
{
	struct xp_inject_request probe = probe_request();

	assert_int_equal(code_without_ptrace(v.pid, request ? request : &probe), code);
	assert_int_equal(end_victim(&v), 0);
}

static void other_c_libraries(void **state)
{
	static const char *const kinds[] = { "inject_static", "inject_static-pie", "inject_musl" };

	for (size_t i = 0; i < XP_LEN(kinds); i++) {
		char path[256];

		snprintf(path, sizeof(path), TARGETS "%s", kinds[i]);
		if (access(path, X_OK)) {
			print_message("SKIP: no %s\n", kinds[i]);
			continue;
		}
		must_refuse_untouched(start_victim_in(0, NULL, NULL, path, "", "0"), NULL, XP_E_UNSUPPORTED_TARGET);
	}
}

/* The image asks for a newer glibc than there is. */
static void an_older_glibc(void **state)
{
	struct xp_inject_request request = probe_request();
	char *image = malloc(request.image_size);

	memcpy(image, request.image, request.image_size);
	char *at = memmem(image, request.image_size, "GLIBC_2.34", 10);
	assert_non_null(at);
	memcpy(at, "GLIBC_2.94", 10);
	request.image = image;
	must_refuse_untouched(start_victim("idle", "1"), &request, XP_E_UNSUPPORTED_TARGET);
	free(image);
}

static void a_stopped_target(void **state)
{
	struct xp_inject_request request = probe_request();
	struct victim v = start_victim("idle", "1");

	kill(v.pid, SIGSTOP);
	waitpid(v.pid, NULL, WUNTRACED);
	assert_int_equal(code_without_ptrace(v.pid, &request), XP_E_TARGET_BUSY);
	kill(v.pid, SIGCONT);
	assert_int_equal(end_victim(&v), 0);
}

static void a_target_that_is_traced(void **state)
{
	struct xp_inject_request request = probe_request();
	struct victim v = start_victim("idle", "1");
	struct xp_inject_result r;
	struct xp_err err = { 0 };
	char holder[16];
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t tracer = fork();
	if (!tracer) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (ptrace(PTRACE_SEIZE, v.pid, NULL, NULL) || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(inject(v.pid, &request, &r, &err), -XP_E_TARGET_BUSY);
	/* Contract 1.4: every holder is a text. It was an object here. */
	snprintf(holder, sizeof(holder), "%d", (int)tracer);
	assert_string_equal(json_string_value(json_object_get(err.details, "holder")), holder);
	xp_err_done(&err);
	assert_int_equal(code_without_ptrace(v.pid, &request), XP_E_TARGET_BUSY);
	kill(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	assert_int_equal(end_victim(&v), 0);
}

static int hide_proc(void *arg)
{
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("none", "/proc", "tmpfs", 0, NULL);
}

static void a_view_without_proc(void **state)
{
	must_refuse_untouched(start_victim_in(CLONE_NEWNS, hide_proc, NULL, TARGETS "inject_target", "idle", "1"), NULL,
			      XP_E_UNSUPPORTED_TARGET);
}

static void a_target_of_another_user(void **state)
{
	struct xp_inject_request request = probe_request();
	struct victim v = start_victim("idle", "1");
	struct xp_inject_result r;
	struct xp_err err = { 0 };
	int status;
	pid_t tool = fork();

	if (!tool) {
		if (setgroups(0, NULL) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(126);
		_exit(inject(v.pid, &request, &r, &err) ? (int)err.code : 0);
	}
	assert_int_equal(waitpid(tool, &status, 0), tool);
	assert_int_equal(WEXITSTATUS(status), XP_E_PERMISSION_DENIED);
	assert_int_equal(end_victim(&v), 0);
}

static int filter_memfd(void *arg)
{
	return install(SYS_memfd_create, *(unsigned *)arg);
}

/* Injects into a target whose filter gives `answer` to memfd_create; nothing is left of it but what was asked for. */
static enum xp_err_code with_filter(unsigned answer)
{
	struct xp_inject_request request = probe_request();
	struct victim v = start_victim_in(0, filter_memfd, &answer, TARGETS "inject_target", "idle", "1");
	struct xp_inject_result r;
	struct xp_err err = { 0 };
	int rc = inject(v.pid, &request, &r, &err);
	enum xp_err_code code = err.code;

	xp_err_done(&err);
	if (!rc)
		check_probe(&r);
	else
		assert_int_equal(count_memory_files(v.pid), 0);
	assert_int_equal(end_victim(&v), 0);
	return code;
}

static void a_filter_that_would_kill(void **state)
{
	assert_int_equal(with_filter(SECCOMP_RET_KILL_PROCESS), XP_E_UNSUPPORTED_TARGET);
	assert_int_equal(with_filter(SECCOMP_RET_TRAP), XP_E_UNSUPPORTED_TARGET);
	assert_int_equal(with_filter(SECCOMP_RET_ERRNO | EPERM), XP_E_PERMISSION_DENIED);
	assert_int_equal(with_filter(SECCOMP_RET_ALLOW), 0);
}

static void must_be_undone(const struct xp_inject_request *request)
{
	struct victim v = start_victim("idle", "1");
	struct xp_inject_result r;
	struct xp_err err = { 0 };

	assert_int_equal(inject(v.pid, request, &r, &err), -XP_E_CUPTI_NOT_AVAILABLE);
	print_message("%s\n", err.message);
	xp_err_done(&err);
	assert_int_equal(count_memory_files(v.pid), 0);
	assert_int_equal(count_lines(v.pid, "maps", "/memfd:"), 0);
	assert_int_equal(end_victim(&v), 0);
}

static void a_library_that_refuses(void **state)
{
	struct xp_inject_request request = probe_request();

	request.entry = "probe_refuse";
	must_be_undone(&request);
	request.entry = "probe_that_is_not_there";
	must_be_undone(&request);
}

static void a_loader_that_refuses(void **state)
{
	struct xp_inject_request request = probe_request();
	char *image = malloc(request.image_size);

	memcpy(image, request.image, request.image_size);
	char *at = memmem(image, request.image_size, "pthread_detach", 14);
	assert_non_null(at);
	at[0] = 'q';
	request.image = image;
	must_be_undone(&request);
	free(image);
}

/* dlopen would wait for ever: told before a thread is stopped for it. */
static void a_loader_lock_that_is_not_given_back(void **state)
{
	struct xp_inject_request request = probe_request();
	struct victim v = start_victim("lock", "2");
	struct xp_inject_result r;
	struct xp_err err = { 0 };

	usleep(20000);
	request.timeout_ms = 3000;
	assert_int_equal(inject(v.pid, &request, &r, &err), -XP_E_CUPTI_NOT_AVAILABLE);
	print_message("%s\n", err.message);
	assert_non_null(strstr(err.message, "holds a lock of the dynamic loader"));
	xp_err_done(&err);
	assert_int_equal(count_lines(v.pid, "maps", "/memfd:"), 0);
	assert_int_equal(end_victim(&v), 0);
}

/* Loading that does not end in time: the target is let go, goes on by itself, and undoes it at the first chance. */
static void loading_that_takes_too_long(void **state)
{
	struct xp_inject_request request = probe_request();
	struct victim v = start_victim("wait", "3");
	struct xp_inject_result r;
	struct xp_err err = { 0 };
	struct timespec start, end;
	void *image;

	read_library(TARGETS "inject_slow.so", &image, &request.image_size);
	request.image = image;
	request.timeout_ms = 1000;
	clock_gettime(CLOCK_MONOTONIC, &start);
	assert_int_equal(inject(v.pid, &request, &r, &err), -XP_E_CUPTI_NOT_AVAILABLE);
	clock_gettime(CLOCK_MONOTONIC, &end);
	print_message("%s\n", err.message);
	xp_err_done(&err);
	assert_true(end.tv_sec - start.tv_sec < 2);
	assert_int_equal(count_lines(v.pid, "status", "TracerPid:\t0\n"), 1);
	for (int i = 0; i < 500 && count_lines(v.pid, "maps", "/memfd:"); i++)
		usleep(10000);
	assert_int_equal(count_lines(v.pid, "maps", "/memfd:"), 0);
	assert_int_equal(count_memory_files(v.pid), 0);
	usleep(400000);
	assert_int_equal(end_victim(&v), 0);
}

/* Somebody stops the whole target while the library loads: it stays stopped until it is continued, and undoes the loading then. */
static void a_target_that_is_stopped_meanwhile(void **state)
{
	struct xp_inject_request request = probe_request();
	struct victim v = start_victim("wait", "3");
	struct xp_inject_result r;
	struct xp_err err = { 0 };
	void *image;
	pid_t other = fork();

	if (!other) {
		usleep(500000);
		kill(v.pid, SIGSTOP);
		usleep(700000);
		kill(v.pid, SIGCONT);
		_exit(0);
	}
	read_library(TARGETS "inject_slow.so", &image, &request.image_size);
	request.image = image;
	assert_int_equal(inject(v.pid, &request, &r, &err), -XP_E_TARGET_BUSY);
	print_message("%s\n", err.message);
	xp_err_done(&err);
	waitpid(other, NULL, 0);
	for (int i = 0; i < 500 && count_lines(v.pid, "maps", "/memfd:"); i++)
		usleep(10000);
	assert_int_equal(count_lines(v.pid, "maps", "/memfd:"), 0);
	assert_int_equal(count_memory_files(v.pid), 0);
	usleep(400000);
	assert_int_equal(end_victim(&v), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_c_libraries),
		cmocka_unit_test(an_older_glibc),
		cmocka_unit_test(a_stopped_target),
		cmocka_unit_test(a_target_that_is_traced),
		cmocka_unit_test(a_view_without_proc),
		cmocka_unit_test(a_target_of_another_user),
		cmocka_unit_test(a_filter_that_would_kill),
		cmocka_unit_test(a_library_that_refuses),
		cmocka_unit_test(a_loader_that_refuses),
		cmocka_unit_test(a_loader_lock_that_is_not_given_back),
		cmocka_unit_test(loading_that_takes_too_long),
		cmocka_unit_test(a_target_that_is_stopped_meanwhile),
	};

	return skipped() ?: cmocka_run_group_tests(tests, NULL, NULL);
}
