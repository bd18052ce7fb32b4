/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tool ends at random moments of an injection, by SIGKILL or by Ctrl-C; elsewhere (case F1) the target was left stopped, or on the
 * injected code. Here it runs on, and its registers, results and memory are as they were.
 */
#include "../lib/injection.c"

enum { MS = 1000000 };

static void sleep_ns(uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };

	nanosleep(&t, NULL);
}

/* A tool of its own, in a process group of its own; exit status: the error's code. */
static pid_t start_tool(pid_t victim, const struct xp_inject_request *request)
{
	pid_t pid = fork();
	struct xp_inject_result r;
	struct xp_err err = { 0 };

	if (pid)
		return pid;
	setpgid(0, 0);
	/* As in the tool: a handler that only counts. */
	signal(SIGINT, SIG_IGN);
	_exit(inject(victim, request, &r, &err) ? (int)err.code : 0);
}

static bool any_thread_stopped(pid_t pid)
{
	char path[64], text[512];
	bool stopped = false;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = opendir(path);
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/stat", pid, entry->d_name);
		FILE *f = entry->d_name[0] != '.' ? fopen(path, "re") : NULL;
		char *paren = f && fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;

		stopped |= paren && (paren[2] == 't' || paren[2] == 'T');
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	return stopped;
}

static void must_run_on(struct victim *v, const char *what, unsigned turn)
{
	bool stopped = true;

	for (int i = 0; i < 100 && stopped; i++) {
		sleep_ns(10 * MS);
		stopped = any_thread_stopped(v->pid);
	}
	if (stopped)
		fail_msg("%s, turn %u: stopped threads one second later", what, turn);
	assert_int_equal(count_lines(v->pid, "status", "TracerPid:\t0\n"), 1);
}

/* Turn by turn the moment moves over `span_ns`, in steps that hit everything. */
static unsigned die(const char *mode, const char *threads, int signum, const char *entry, uint64_t span_ns, unsigned turns)
{
	struct xp_inject_request request = probe_request();
	unsigned finished = 0, cancelled = 0;

	request.entry = entry;
	request.entry_arg = strcmp(entry, "probe_slow") ? PROBE_ARGUMENT : 8 * MS;
	for (unsigned i = 0; i < turns; i++) {
		struct victim v = start_victim(mode, threads);
		int status;

		sleep_ns(3 * MS);
		pid_t tool = start_tool(v.pid, &request);
		sleep_ns(span_ns * (i * 37 % turns) / turns);
		kill(signum == SIGINT ? -tool : tool, signum);
		assert_int_equal(waitpid(tool, &status, 0), tool);
		must_run_on(&v, mode, i);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			finished++;
		if (WIFEXITED(status) && WEXITSTATUS(status) == XP_E_CANCELLED) {
			assert_int_equal(count_lines(v.pid, "maps", "/memfd:"), 0);
			assert_int_equal(count_memory_files(v.pid), 0);
			cancelled++;
		}
		/* Nobody is left on the way back either. */
		sleep_ns(100 * MS);
		int result = end_victim(&v);
		if (result)
			fail_msg("mode %s, turn %u of %u: status %d", mode, i + 1, turns, result);
	}
	print_message("mode %s, signal %d: of %u injections %u were quicker, %u undone\n", mode, signum, turns, finished, cancelled);
	return finished;
}

static void killed_while_it_stops_and_loads(void **state)
{
	assert_true(die("wait", "7", SIGKILL, "probe_start", 12 * MS, 50) < 45);
}

static void killed_while_the_library_starts(void **state)
{
	assert_true(die("registers", "2", SIGKILL, "probe_slow", 20 * MS, 50) < 45);
}

static void interrupted(void **state)
{
	assert_true(die("wait", "7", SIGINT, "probe_start", 10 * MS, 61) < 61);
}

/* Code and memory of an injection whose tool died stay behind; the next one goes elsewhere. */
static void the_next_tool_succeeds(void **state)
{
	struct xp_inject_request slow = probe_request(), request = probe_request();
	struct victim v = start_victim("idle", "2");
	struct xp_inject_result r;
	int status;

	slow.entry = "probe_slow";
	slow.entry_arg = 100 * MS;
	pid_t tool = start_tool(v.pid, &slow);
	for (int i = 0; i < 1000 && !count_lines(v.pid, "maps", "/memfd:probe"); i++)
		sleep_ns(1 * MS);
	kill(tool, SIGKILL);
	waitpid(tool, &status, 0);
	assert_true(WIFSIGNALED(status));
	/* Its helper dies right after it. */
	must_run_on(&v, "idle", 0);
	assert_true(count_lines(v.pid, "maps", "/memfd:probe") > 0);
	assert_injected(v.pid, &request, &r);
	check_probe(&r);
	sleep_ns(500 * MS);
	assert_int_equal(end_victim(&v), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_while_it_stops_and_loads),
		cmocka_unit_test(killed_while_the_library_starts),
		cmocka_unit_test(interrupted),
		cmocka_unit_test(the_next_tool_succeeds),
	};

	return skipped() ?: cmocka_run_group_tests(tests, NULL, NULL);
}
