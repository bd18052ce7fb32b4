/* SPDX-License-Identifier: Apache-2.0 */
/* Injection across namespaces, read-only roots, users, and into a process whose first thread has ended: no path need exist in both views.
 */
#include "../lib/injection.c"

#include <grp.h>
#include <sched.h>
#include <sys/mount.h>

static void inject_and_end(struct victim v)
{
	struct xp_inject_request request = probe_request();
	struct xp_inject_result r;

	assert_injected(v.pid, &request, &r);
	check_probe(&r);
	close(r.control_fd);
	assert_int_equal(count_lines(v.pid, "status", "TracerPid:\t0\n"), 1);
	assert_int_equal(end_victim(&v), 0);
}

static int mount_proc(void *arg)
{
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("proc", "/proc", "proc", 0, NULL);
}

static void other_namespaces(void **state)
{
	inject_and_end(start_victim_in(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS, mount_proc, NULL,
				       TARGETS "inject_target", "idle", "2"));
}

/* /proc of the outer namespace: the process has another number there than the one it knows. */
static void another_pid_namespace_alone(void **state)
{
	inject_and_end(start_victim_in(CLONE_NEWPID, NULL, NULL, TARGETS "inject_target", "idle", "2"));
}

/* /tmp stays what it is, read-only with the root: this test may itself lie below it. */
static int make_read_only(void *arg)
{
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("/", "/", NULL, MS_BIND | MS_REC, NULL) || chroot("/") ||
	       mount("none", "/dev/shm", "tmpfs", MS_RDONLY, NULL) || mount(NULL, "/", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL);
}

static void a_read_only_root(void **state)
{
	struct victim v = start_victim_in(CLONE_NEWNS, make_read_only, NULL, TARGETS "inject_target", "idle", "2");

	inject_and_end(v);
}

static int become_nobody(void *arg)
{
	return setgroups(0, NULL) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534);
}

static void another_user(void **state)
{
	inject_and_end(start_victim_in(0, become_nobody, NULL, TARGETS "inject_target", "idle", "2"));
}

static void a_first_thread_that_has_ended(void **state)
{
	struct victim v = start_victim("leader", "3");

	usleep(20000);
	inject_and_end(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_namespaces), cmocka_unit_test(another_pid_namespace_alone),   cmocka_unit_test(a_read_only_root),
		cmocka_unit_test(another_user),	    cmocka_unit_test(a_first_thread_that_has_ended),
	};

	return skipped() ?: cmocka_run_group_tests(tests, NULL, NULL);
}
