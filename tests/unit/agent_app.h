/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the agent: the fake CUDA program as a child, commands to it, and a capture through the real agent and its shared memory. */
#ifndef XP_TESTS_AGENT_APP_H
#define XP_TESTS_AGENT_APP_H

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/agent_link_priv.h"

#define AGENT XP_BUILD_DIR "/libxprobe-agent.so"
#define FAKE XP_BUILD_DIR "/tests/fake/"

enum { MOST_RECORDS = 1 << 18, MOST_NAMES = 256, KINDS = 11 };

struct app {
	pid_t pid;
	FILE *to, *from;
	struct xp_target *target;
	struct xp_agent_link *link;
	struct xp_agent_request request;
	struct xp_capture_event_5 *records;
	unsigned n, of_kind[KINDS];
	struct {
		uint32_t id, length;
		const char *text;
	} names[MOST_NAMES];
	unsigned n_names;
	struct xp_agent_counters counters;
};

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static inline void send_line(struct app *app, const char *format, va_list args)
{
	vfprintf(app->to, format, args);
	fputc('\n', app->to);
	fflush(app->to);
}

__attribute__((format(printf, 2, 3))) static inline void begin(struct app *app, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	send_line(app, format, args);
	va_end(args);
}

static inline uint64_t answer(struct app *app)
{
	unsigned long long value;

	assert_int_equal(fscanf(app->from, "%llu", &value), 1);
	return value;
}

/* One command and its answer. */
__attribute__((format(printf, 2, 3))) static inline uint64_t tell(struct app *app, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	send_line(app, format, args);
	va_end(args);
	return answer(app);
}

/* `preset`: a variable of the environment, NULL: none. */
static inline void spawn_program(struct app *app, const char *path, char *preset)
{
	int in[2], out[2];

	*app = (struct app){ 0 };
	assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
	app->pid = fork();
	if (!app->pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		if (preset)
			putenv(preset);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	close(in[0]), close(out[1]);
	app->to = fdopen(in[1], "w");
	app->from = fdopen(out[0], "r");
	app->records = calloc(MOST_RECORDS, sizeof(*app->records));
}

static inline void spawn(struct app *app, int major)
{
	char path[512];

	snprintf(path, sizeof(path), FAKE "app%d", major);
	spawn_program(app, path, NULL);
}

/* The agent fills its identity on its own thread, a moment after its start. */
static inline void connect_agent(struct app *app)
{
	int rc = -1;

	assert_int_equal(xp_target_open((uint32_t)app->pid, NULL, &app->target, &(struct xp_err){ 0 }), 0);
	for (unsigned i = 0; i < 2000 && rc; i++) {
		xp_auto_err err = { 0 };

		rc = xp_agent_link_open(app->target, &app->link, &err);
		usleep(1000);
	}
	assert_int_equal(rc, 0);
}

static inline void start_app(struct app *app, int major)
{
	spawn(app, major);
	assert_int_equal(tell(app, "cupti " FAKE "%d/libcupti.so.%d", major, major), 0);
	assert_int_equal(tell(app, "agent " AGENT), 0);
	connect_agent(app);
}

static inline void start_version(struct app *app, unsigned version)
{
	int major = version < 100000 ? 12 : (int)version / 10000;

	spawn(app, major);
	assert_int_equal(tell(app, "cupti " FAKE "%d/libcupti.so.%d", major, major), 0);
	assert_int_equal(tell(app, "set version %u", version), 0);
	assert_int_equal(tell(app, "agent " AGENT), 0);
	connect_agent(app);
}

/* For a thread beside the tool's: returns a moment after the window opened, or after 10 s. */
static inline void wait_window(struct app *app)
{
	struct xp_agent_link *look = NULL;
	xp_auto_err err = { 0 };

	if (xp_agent_link_open(app->target, &look, &err))
		return;
	for (unsigned i = 0; i < 10000 && !__atomic_load_n(&look->control->lease.open_ns, __ATOMIC_SEQ_CST); i++)
		usleep(1000);
	usleep(20000);
	xp_agent_link_close(look);
}

static inline void end_app(struct app *app)
{
	int status;

	xp_agent_link_close(app->link);
	xp_target_close(app->target);
	fclose(app->to);
	fclose(app->from);
	assert_int_equal(waitpid(app->pid, &status, 0), app->pid);
	/* The fake ends the program when it is misused. */
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	free(app->records);
}

static inline void want(struct app *app, uint32_t kind, uint32_t match, const char *name)
{
	struct xp_agent_filter *filter = &app->request.filters[app->request.n_filters++];

	*filter = (struct xp_agent_filter){ .kind = kind, .match = match };
	if (name)
		snprintf(filter->name, sizeof(filter->name), "%s", name);
}

static inline void want_kernels(struct app *app)
{
	want(app, XP_CAPTURE_KERNEL_START, XP_AGENT_MATCH_ANY, NULL);
	want(app, XP_CAPTURE_KERNEL_END, XP_AGENT_MATCH_ANY, NULL);
}

static inline void drain(struct app *app)
{
	struct xp_capture_event_5 record;
	uint32_t id, length;
	const char *text;

	xp_agent_link_renew(app->link);
	while (xp_agent_link_name(app->link, &id, &text, &length))
		if (app->n_names < MOST_NAMES) {
			app->names[app->n_names].id = id;
			app->names[app->n_names].length = length;
			app->names[app->n_names++].text = text;
		}
	while (app->n < MOST_RECORDS && xp_agent_link_record(app->link, &record)) {
		app->of_kind[record.event.kind]++;
		app->records[app->n++] = record;
	}
}

/* Waits for the answer as a tool does: renewing, reading. False after `ms`. */
static inline bool wait_answer(struct app *app, unsigned ms)
{
	for (unsigned i = 0; i < ms; i++) {
		drain(app);
		if (xp_agent_link_answered(app->link))
			return true;
		usleep(1000);
	}
	return xp_agent_link_answered(app->link);
}

/* Status of contract 1.5 (negative), 0 for armed. */
static inline int try_arm(struct app *app, struct xp_err *err)
{
	int rc = xp_agent_link_acquire(app->link, "test", err);

	if (rc)
		return rc;
	if (!app->request.mode)
		app->request.mode = XP_AGENT_EXACT;
	if (!app->request.capacity)
		app->request.capacity = 1 << 15;
	if (!app->request.deadline_ns)
		app->request.deadline_ns = 60000000000ull;
	if (!app->request.wait_ms)
		app->request.wait_ms = 2000;
	app->n = app->n_names = 0;
	memset(app->of_kind, 0, sizeof(app->of_kind));
	xp_agent_link_send(app->link, XP_AGENT_ARM, &app->request);
	assert_true(wait_answer(app, 10000));
	return xp_agent_link_result(app->link, err);
}

static inline void arm(struct app *app)
{
	xp_auto_err err = { 0 };
	int rc = try_arm(app, &err);

	if (rc)
		print_error("%s: %s\n", xp_err_name(err.code), err.message);
	assert_int_equal(rc, 0);
	xp_agent_link_window(app->link, now_ns(), 0);
}

/* What was launched gets the time to start inside the window. */
static inline void stop(struct app *app)
{
	usleep(5000);
	xp_agent_link_window(app->link, 1, now_ns());
	xp_agent_link_send(app->link, XP_AGENT_STOP, NULL);
	assert_true(wait_answer(app, 10000));
	drain(app);
	assert_int_equal(xp_agent_link_state(app->link), XP_AGENT_IDLE);
	app->counters = xp_agent_link_counters(app->link);
}

/* Everything that CUPTI gave went somewhere, once. */
static inline void check_books(const struct app *app)
{
	const struct xp_agent_counters *c = &app->counters;

	assert_int_equal(app->n, c->callback_records + c->activity_records);
	assert_int_equal(c->unknown_records, 0);
}

#endif
