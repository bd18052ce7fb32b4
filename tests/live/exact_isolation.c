/* SPDX-License-Identifier: Apache-2.0 */
/* The exact capture across namespaces, replaced files and the death of the tool: the right file, the right ids, nothing left behind. */
#include "../lib/capture.c"

#include <sched.h>
#include <sys/stat.h>

/* Probes through the target's own mapping, as resolution does it. */
static void attach_through_mapping(struct capture *capture, unsigned endpoint)
{
	struct xp_resolved *resolved = (struct xp_resolved *)capture->plan.endpoints[endpoint].resolved;
	char *path = xp_arena_zalloc(capture->arena, 256);

	symbol_address(capture->target, "work", path, 256);
	resolved->attach_path = path;
}

static void target_in_a_nested_pid_namespace(void **state)
{
	struct capture c;
	const char *name;
	uint32_t ns_tid, ns_pid;

	begin_capture_in(&c, &(struct habitat){ .clone_flags = CLONE_NEWPID }, "two", 503);
	unsigned entry = add_entry(&c, "work");

	run_ok(&c);
	assert_int_equal(count_events(&c, entry), 2 * 503);
	assert_int_equal(xp_store_events(xp_exact_store(c.exact))[0].pid, c.child.pid);
	assert_true(xp_store_thread_at(xp_exact_store(c.exact), (uint32_t)c.child.pid, &name, &ns_tid, &ns_pid));
	assert_int_equal(ns_tid, 1);
	assert_int_equal(ns_pid, 1);
	end_capture(&c);
}

/* Exit status of a process that captures inside a PID namespace of its own, where its ids are not the kernel's. */
static int capture_inside(void)
{
	struct capture c;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("proc", "/proc", "proc", 0, NULL))
		return 77;
	begin_capture(&c, "two", 503);
	unsigned entry = add_entry(&c, "work"), exit = add_syscall(&c, XP_EV_SYSCALL_EXIT, "futex", SYS_futex);

	run_ok(&c);
	uint64_t n = count_events(&c, entry) + 0 * exit;
	const struct xp_event *events = xp_store_events(xp_exact_store(c.exact));

	for (uint64_t i = 0; i < xp_store_count(xp_exact_store(c.exact)); i++)
		if (events[i].pid != (uint32_t)c.child.pid || events[i].tid < 2 || events[i].tid > 100)
			return 2;
	end_capture(&c);
	return n == 2 * 503 ? 0 : 3;
}

static void tool_in_a_nested_pid_namespace(void **state)
{
	int status;
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0)
		_exit(capture_inside());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("SKIP: cannot mount /proc in a namespace\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

static char *temporary_program(char *folder, size_t size, const char *content_of)
{
	static char program[128];
	char command[512];

	snprintf(folder, size, "/tmp/xprobe-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(program, sizeof(program), "%s/program", folder);
	snprintf(command, sizeof(command), "cp %s %s", content_of, program);
	assert_int_equal(system(command), 0);
	return program;
}

static void remove_folder(const char *folder)
{
	char command[160];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	assert_int_equal(system(command), 0);
}

/* C1: in the target's mount namespace another file lies at that path. */
static void private_mount_namespace(void **state)
{
	char folder[64];
	const char *program = temporary_program(folder, sizeof(folder), "/bin/true");
	struct capture c;

	begin_capture_in(&c, &(struct habitat){ .clone_flags = CLONE_NEWNS, .program = program, .bound = true }, "plain", 1009);
	unsigned entry = add_entry(&c, "work");

	attach_through_mapping(&c, entry);
	run_ok(&c);
	assert_int_equal(count_events(&c, entry), 1009);
	end_capture(&c);
	remove_folder(folder);
}

/* B1: the file was replaced while the target runs the old one. */
static void replaced_on_disk(void **state)
{
	char folder[64], command[256];
	const char *program = temporary_program(folder, sizeof(folder), CALLS);
	struct capture c;

	begin_capture_in(&c, &(struct habitat){ .program = program }, "plain", 1009);
	unsigned entry = add_entry(&c, "work");

	snprintf(command, sizeof(command), "cp /bin/true %s/new && mv %s/new %s", folder, folder, program);
	assert_int_equal(system(command), 0);
	attach_through_mapping(&c, entry);
	run_ok(&c);
	assert_int_equal(count_events(&c, entry), 1009);
	end_capture(&c);
	remove_folder(folder);
}

/* D11: a marker whose semaphore must be up to fire, and is down again behind the capture. */
static void marker_with_semaphore(void **state)
{
	unsigned short semaphore = 1;
	struct capture c;

	begin_capture(&c, "marker", 1009);
	unsigned marker = add_sites(&c, XP_EV_PYTHON_GC_START, "marker", (const char *[]){ "marker", NULL }, false);
	struct xp_resolved *resolved = (struct xp_resolved *)c.plan.endpoints[marker].resolved;

	resolved->usdt_provider = "test";
	resolved->usdt_name = "marker";
	((struct xp_probe_site *)resolved->sites)->ref_ctr_offset = symbol_offset("marker_semaphore");
	run_ok(&c);
	assert_int_equal(count_events(&c, marker), 1009);
	assert_int_equal(account_of(&c, "ebpf_usdt").emitted, 1009);
	read_memory(c.child.pid, data_address(c.target, "marker_semaphore"), &semaphore, sizeof(semaphore));
	assert_int_equal(semaphore, 0);
	end_capture(&c);
}

/* What the tool does in a process of its own, to be killed. */
static void capture_until_killed(pid_t pid)
{
	struct capture c = { .no_go = true };

	c.arena = xp_arena_new();
	c.child.out = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (xp_target_open((uint32_t)pid, NULL, &c.target, &c.err))
		_exit(1);
	c.plan = (struct xp_plan){ .arena = c.arena, .target = c.target, .bounds = { .timeout_ms = 30000, .max_events = 50000000 } };
	add_entry(&c, "begins_push");
	add_return(&c, "begins_push");
	add_syscall(&c, XP_EV_SYSCALL_ENTRY, "read", SYS_read);
	run_capture(&c, 0);
	_exit(0);
}

/* D7: SIGKILL at any time leaves the target running, its text as it was, and the next capture works. */
static void killed_tool_leaves_nothing(void **state)
{
	unsigned char before[16], after[16];
	struct capture c;

	srand((unsigned)getpid());
	begin_capture(&c, "burst", 200000);
	uint64_t address = symbol_address(c.target, "begins_push", NULL, 0);

	read_memory(c.child.pid, address, before, sizeof(before));
	for (int i = 0; i < 20; i++) {
		pid_t tool = fork();

		if (tool == 0)
			capture_until_killed(c.child.pid);
		usleep((unsigned)(rand() % 150000));
		kill(tool, SIGKILL);
		assert_int_equal(waitpid(tool, NULL, 0), tool);
		assert_int_equal(kill(c.child.pid, 0), 0);
		/* Descriptors of a killed process are closed before it can be waited for. */
		read_memory(c.child.pid, address, after, sizeof(after));
		assert_memory_equal(before, after, sizeof(before));
	}
	unsigned entry = add_entry(&c, "begins_push"), ret = add_return(&c, "begins_push");

	run_ok(&c);
	assert_int_equal(count_events(&c, entry), 200000);
	assert_int_equal(count_events(&c, ret), 200000);
	end_capture(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(target_in_a_nested_pid_namespace),
		cmocka_unit_test(tool_in_a_nested_pid_namespace),
		cmocka_unit_test(private_mount_namespace),
		cmocka_unit_test(replaced_on_disk),
		cmocka_unit_test(marker_with_semaphore),
		cmocka_unit_test(killed_tool_leaves_nothing),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
