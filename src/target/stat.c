/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/stat and task/TID/stat, whatever the name in them holds, and the CPU clock of a process. No state. */
#include "target/target_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Numbers of proc(5), counted from 1; the state is field 3, the first behind the name. */
enum {
	FIELD_PPID = 4,
	FIELD_MAJFLT = 12,
	FIELD_UTIME = 14,
	FIELD_STIME = 15,
	FIELD_THREADS = 20,
	FIELD_START = 22,
	FIELD_LAST = FIELD_START
};

/* One blank-separated decimal, signed ones included (their value is not kept). */
static const char *take_number(const char *p, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (*p++ != ' ')
		return NULL;
	if (*p == '-')
		p++;
	if (*p < '0' || *p > '9')
		return NULL;
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return NULL;
	*ret_value = value;
	return p;
}

bool xp_stat_parse(const char *text, struct xp_stat *ret_stat)
{
	/* The name may hold anything, ") R 1" and line ends too; nothing behind it holds a parenthesis. */
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	uint64_t field[FIELD_LAST + 1] = { 0 };
	struct xp_stat stat = { 0 };

	if (!open || !close || close < open || close[1] != ' ' || !close[2])
		return false;
	size_t len = (size_t)(close - open - 1);
	if (len >= sizeof(stat.comm))
		len = sizeof(stat.comm) - 1;
	memcpy(stat.comm, open + 1, len);
	stat.state = close[2];

	const char *p = close + 3;
	for (unsigned i = FIELD_PPID; i <= FIELD_LAST && p; i++)
		p = take_number(p, &field[i]);
	if (!p)
		return false;
	stat.ppid = (uint32_t)field[FIELD_PPID];
	stat.num_threads = (uint32_t)field[FIELD_THREADS];
	stat.start_time = field[FIELD_START];
	stat.utime_ticks = field[FIELD_UTIME];
	stat.stime_ticks = field[FIELD_STIME];
	stat.major_faults = field[FIELD_MAJFLT];
	*ret_stat = stat;
	return true;
}

int xp_target_stat(const struct xp_target *target, uint32_t tid, struct xp_stat *ret_stat, struct xp_err *reterr)
{
	char relative[40] = "stat", text[2048];

	if (tid)
		snprintf(relative, sizeof(relative), "task/%u/stat", tid);
	ssize_t len = xp_target_read(target, relative, text, sizeof(text));
	if (len == -ENOENT || len == -ESRCH || len == 0)
		return xp_fail_call(reterr, XP_E_TARGET_EXITED, len ? (int)-len : ESRCH, "read", "/proc/%u/%s", target->id.pid, relative);
	if (len < 0)
		return xp_target_fail(target, (int)-len, "read", relative, reterr);
	if (!xp_stat_parse(text, ret_stat))
		return xp_fail_call(reterr, XP_E_INTERNAL, 0, "parse", "/proc/%u/%s", target->id.pid, relative);
	return 0;
}

/* Ticks of the process so far: coarse, but never refused. */
static int cpu_from_ticks(const struct xp_target *target, uint64_t *ret_ns, struct xp_err *reterr)
{
	struct xp_stat stat;
	int rc = xp_target_stat(target, 0, &stat, reterr);

	if (rc)
		return rc;
	*ret_ns = (stat.utime_ticks + stat.stime_ticks) * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	return 0;
}

int xp_target_cpu_ns(const struct xp_target *target, uint64_t *ret_ns, struct xp_err *reterr)
{
	struct timespec now;
	clockid_t clock;

	if (clock_getcpuclockid((pid_t)target->id.pid, &clock) || clock_gettime(clock, &now))
		return cpu_from_ticks(target, ret_ns, reterr);
	/* The clock is named by number: it was the target's only if the target is still there. */
	if (xp_target_gone(target))
		return xp_target_fail(target, ESRCH, "clock_gettime", "stat", reterr);
	*ret_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return 0;
}
