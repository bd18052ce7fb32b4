// SPDX-License-Identifier: Apache-2.0
/* Sweeps over /proc/PID/task. In: the directory. Out: one row a thread. Owns the rows and the descriptors that stay open. */
#include "engine/proc_poll.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "engine/engine.h"

enum { SPARE_FDS = 512, FIRST_ROWS = 64, MAX_WHERE = 64 };

struct xp_proc_poll {
	DIR *dir;
	int dir_fd; /* of dir */
	struct xp_proc_thread *rows;
	size_t n, cap, max;
	struct xp_map by_tid; /* tid -> row of the youngest thread with that id */
	uint32_t *present;    /* row -> number of the sweep that last listed it */
	uint32_t sweep;
	size_t keep_fds, kept;
	uint64_t missed, sweeps, cpu_ns;
};

static uint64_t clock_now(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Descriptors that rows may keep: the hard limit less a reserve for everybody else. */
static size_t descriptor_budget(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	if (limit.rlim_cur < limit.rlim_max) {
		struct rlimit raised = { .rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max };

		if (!setrlimit(RLIMIT_NOFILE, &raised))
			limit = raised;
	}
	return limit.rlim_cur > SPARE_FDS ? (size_t)limit.rlim_cur - SPARE_FDS : 0;
}

int xp_proc_poll_new(int task_fd, size_t max_threads, size_t keep_fds, struct xp_proc_poll **ret_poll, struct xp_err *reterr)
{
	xp_auto_fd owned = task_fd;
	xp_auto(xp_proc_poll_free) struct xp_proc_poll *poll = calloc(1, sizeof(*poll));

	if (!poll)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "thread readings");
	poll->max = max_threads;
	poll->keep_fds = keep_fds ? keep_fds : descriptor_budget();
	poll->dir = fdopendir(owned);
	if (!poll->dir)
		return xp_fail_sys(reterr, errno, "fdopendir", "task directory of the target");
	poll->dir_fd = xp_steal_fd(&owned);
	*ret_poll = xp_steal(&poll);
	return 0;
}

void xp_proc_poll_free(struct xp_proc_poll *poll)
{
	if (!poll)
		return;
	for (size_t i = 0; i < poll->n; i++)
		if (poll->rows[i].fd >= 0)
			close(poll->rows[i].fd);
	if (poll->dir)
		closedir(poll->dir);
	xp_map_done(&poll->by_tid);
	free(poll->rows);
	free(poll->present);
	free(poll);
}

/* Whole file TID/NAME of the task directory into buf; false when the thread is gone or the file refused. */
static bool read_file(const struct xp_proc_poll *poll, uint32_t tid, const char *name, char *buf, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "%u/%s", tid, name);
	xp_auto_fd fd = openat(poll->dir_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t got = read(fd, buf, size - 1);
	if (got <= 0)
		return false;
	buf[got] = '\0';
	return true;
}

static bool parse_reading(char *buf, ssize_t got, struct xp_proc_reading *ret_reading)
{
	if (got <= 0)
		return false;
	buf[got] = '\0';
	ret_reading->t_ns = clock_now(CLOCK_MONOTONIC);
	return xp_parse_schedstat(buf, &ret_reading->sched);
}

/* schedstat now; the row keeps the descriptor while the budget lasts. False: the thread is gone. */
static bool read_sched(struct xp_proc_poll *poll, struct xp_proc_thread *row, struct xp_proc_reading *ret_reading)
{
	char buf[96], path[64];

	if (row->fd >= 0)
		return parse_reading(buf, pread(row->fd, buf, sizeof(buf) - 1, 0), ret_reading);
	snprintf(path, sizeof(path), "%u/schedstat", row->tid);
	xp_auto_fd fd = openat(poll->dir_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !parse_reading(buf, pread(fd, buf, sizeof(buf) - 1, 0), ret_reading))
		return false;
	if (poll->kept < poll->keep_fds) {
		row->fd = xp_steal_fd(&fd);
		poll->kept++;
	}
	return true;
}

static void look_at_state(struct xp_proc_poll *poll, struct xp_proc_thread *row)
{
	struct xp_proc_stat stat;
	char buf[1024];

	if (!read_file(poll, row->tid, "stat", buf, sizeof(buf)) || !xp_parse_proc_stat(buf, &stat))
		return;
	if (!row->known) {
		row->start_ticks = stat.start_ticks;
		row->base_faults = row->started ? 0 : stat.major_faults;
	} else if (row->start_ticks != stat.start_ticks) {
		return; /* the id went to another thread; the next sweep books it as a new one */
	}
	row->known = true;
	row->faults = stat.major_faults;
	row->state = stat.state;
	memcpy(row->comm, stat.comm, sizeof(row->comm));
}

static void look_at_switches(struct xp_proc_poll *poll, struct xp_proc_thread *row, bool first)
{
	char buf[4096];

	if (!read_file(poll, row->tid, "status", buf, sizeof(buf)))
		return;
	xp_parse_proc_status(buf, &row->status);
	if (!first)
		return;
	row->base_voluntary = row->status.voluntary;
	row->base_involuntary = row->status.involuntary;
}

static bool grow(struct xp_proc_poll *poll)
{
	if (poll->n < poll->cap)
		return true;
	if (poll->cap >= poll->max)
		return false;
	size_t cap = poll->cap ? poll->cap * 2 : FIRST_ROWS;
	if (cap > poll->max)
		cap = poll->max;
	struct xp_proc_thread *rows = realloc(poll->rows, cap * sizeof(*rows));
	if (!rows)
		return false;
	poll->rows = rows;
	uint32_t *present = realloc(poll->present, cap * sizeof(*present));
	if (!present)
		return false;
	poll->present = present;
	poll->cap = cap;
	return true;
}

static void end_row(struct xp_proc_poll *poll, struct xp_proc_thread *row)
{
	row->ended = true;
	row->runnable_since_ns = 0;
	if (row->fd >= 0) {
		close(row->fd);
		row->fd = -1;
		poll->kept--;
	}
}

/* A row for a thread that was not known. In the window its counters began at 0; before it they are the base. */
static void add_row(struct xp_proc_poll *poll, uint32_t tid, bool in_window)
{
	struct xp_proc_thread row = { .tid = tid, .fd = -1, .syscall_nr = -1, .started = in_window };
	bool fresh;

	if (!grow(poll)) {
		poll->missed++;
		return;
	}
	if (!read_sched(poll, &row, &row.last))
		return; /* gone between listing and reading: its time shows as vanished */
	row.base = row.last;
	if (in_window)
		row.base.sched = (struct xp_schedstat){ 0 };
	row.moved_ns = row.last.t_ns;
	if (in_window)
		look_at_state(poll, &row);
	*xp_map_at(&poll->by_tid, tid, NULL, NULL, &fresh) = poll->n;
	poll->present[poll->n] = poll->sweep;
	poll->rows[poll->n++] = row;
}

/* False when the reading belongs to another thread that got the same id: counters never run backwards. */
static bool take_reading(struct xp_proc_poll *poll, struct xp_proc_thread *row, const struct xp_proc_reading *now)
{
	const struct xp_schedstat *old = &row->last.sched, *new = &now->sched;

	if (new->cpu_ns < old->cpu_ns || new->wait_ns < old->wait_ns || new->slices < old->slices)
		return false;
	bool moved = new->cpu_ns != old->cpu_ns || new->wait_ns != old->wait_ns || new->slices != old->slices;
	row->last = *now;
	if (moved) {
		row->moved_ns = now->t_ns;
		row->runnable_since_ns = 0;
	}
	if (moved || row->state == 'R')
		look_at_state(poll, row);
	if (row->state != 'R')
		row->runnable_since_ns = 0;
	else if (!row->runnable_since_ns)
		row->runnable_since_ns = now->t_ns;
	return true;
}

static void visit(struct xp_proc_poll *poll, uint32_t tid, bool in_window)
{
	uint64_t *slot = xp_map_find(&poll->by_tid, tid, NULL, NULL);
	struct xp_proc_reading now;

	if (slot && !poll->rows[*slot].ended) {
		struct xp_proc_thread *row = &poll->rows[*slot];

		if (read_sched(poll, row, &now) && take_reading(poll, row, &now)) {
			poll->present[*slot] = poll->sweep;
			return;
		}
		end_row(poll, row);
	}
	add_row(poll, tid, in_window);
}

/* Lists the directory and reads schedstat of each entry; returns how many were listed, or -errno. */
static long list_all(struct xp_proc_poll *poll, bool in_window)
{
	uint64_t before = clock_now(CLOCK_THREAD_CPUTIME_ID);
	long listed = 0;
	struct dirent *entry;

	poll->sweep++;
	poll->sweeps++;
	rewinddir(poll->dir);
	for (errno = 0; (entry = readdir(poll->dir)); errno = 0) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (!tid)
			continue;
		listed++;
		visit(poll, tid, in_window);
	}
	long failure = errno && errno != ENOENT && errno != ESRCH ? -errno : 0;

	for (size_t i = 0; i < poll->n && !failure; i++)
		if (poll->present[i] != poll->sweep && !poll->rows[i].ended)
			end_row(poll, &poll->rows[i]);
	poll->cpu_ns += clock_now(CLOCK_THREAD_CPUTIME_ID) - before;
	return failure ? failure : listed;
}

/* stat and status of every thread alive. */
static void look_at_all(struct xp_proc_poll *poll, bool first)
{
	uint64_t before = clock_now(CLOCK_THREAD_CPUTIME_ID);

	for (size_t i = 0; i < poll->n; i++) {
		struct xp_proc_thread *row = &poll->rows[i];

		if (row->ended)
			continue;
		look_at_state(poll, row);
		look_at_switches(poll, row, first);
		if (first && row->state == 'R')
			row->runnable_since_ns = row->last.t_ns;
	}
	poll->cpu_ns += clock_now(CLOCK_THREAD_CPUTIME_ID) - before;
}

int xp_proc_poll_begin(struct xp_proc_poll *poll, struct xp_err *reterr)
{
	long listed = list_all(poll, false);

	if (listed < 0)
		return xp_fail_sys(reterr, (int)-listed, "getdents64", "task directory of the target");
	if (listed == 0)
		return xp_fail(reterr, XP_E_TARGET_EXITED, "the target has no thread any more");
	if (poll->n == 0 && poll->missed == 0)
		return xp_fail_call(reterr, XP_E_PERMISSION_DENIED, EACCES, "open", "schedstat of the target's threads");
	look_at_all(poll, true);
	return 0;
}

int xp_proc_poll_sweep(struct xp_proc_poll *poll, struct xp_err *reterr)
{
	long listed = list_all(poll, true);

	if (listed < 0)
		return xp_fail_sys(reterr, (int)-listed, "getdents64", "task directory of the target");
	if (listed == 0)
		return xp_fail(reterr, XP_E_TARGET_EXITED, "the target has no thread any more");
	return 0;
}

/* Where a thread waits: its syscall and the kernel function. Refused without the right to trace it; then both stay unread. */
static void look_where(struct xp_proc_poll *poll, struct xp_proc_thread *row)
{
	char buf[256];

	if (read_file(poll, row->tid, "syscall", buf, sizeof(buf)) && buf[0] >= '0' && buf[0] <= '9')
		row->syscall_nr = strtoll(buf, NULL, 10);
	if (read_file(poll, row->tid, "wchan", buf, sizeof(buf)) && strcmp(buf, "0"))
		snprintf(row->wchan, sizeof(row->wchan), "%.63s", buf);
}

/* Threads that sat in one wait for the whole window, MAX_WHERE at most: they never pass a probe, so only this tells where they are. */
static void look_at_the_blocked(struct xp_proc_poll *poll)
{
	unsigned looked = 0;

	for (size_t i = 0; i < poll->n && looked < MAX_WHERE; i++) {
		struct xp_proc_thread *row = &poll->rows[i];

		if (row->ended || row->started || row->state == 'R' || row->last.sched.slices != row->base.sched.slices)
			continue;
		look_where(poll, row);
		looked++;
	}
}

void xp_proc_poll_end(struct xp_proc_poll *poll)
{
	if (list_all(poll, true) <= 0)
		return;
	look_at_all(poll, false);
	look_at_the_blocked(poll);
}

const struct xp_proc_thread *xp_proc_poll_threads(const struct xp_proc_poll *poll, size_t *ret_n)
{
	*ret_n = poll->n;
	return poll->rows;
}

uint64_t xp_proc_poll_missed(const struct xp_proc_poll *poll)
{
	return poll->missed;
}

uint64_t xp_proc_poll_sweeps(const struct xp_proc_poll *poll, uint64_t *ret_cpu_ns)
{
	*ret_cpu_ns = poll->cpu_ns;
	return poll->sweeps;
}

const struct xp_engine xp_engine_proc_poll = {
	.name = "proc_poll",
	.summary = "thread times and states out of /proc",
	.sources = (const char *const[]){ "procfs", NULL },
	.needs = 0,
};
