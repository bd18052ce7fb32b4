// SPDX-License-Identifier: Apache-2.0
/* Limit and throttling counters of one group. In: a directory. Out: numbers. No state. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "inventory/cgroup.h"
#include "inventory/cgroup_find.h"

bool xp_cgroup_parse_max(const char *text, struct xp_cgroup_reading *reading)
{
	long long quota = -1;
	unsigned long long period;

	if (strncmp(text, "max ", 4) == 0 ? sscanf(text + 4, "%llu", &period) != 1 : sscanf(text, "%lld %llu", &quota, &period) != 2)
		return false;
	reading->has_quota = true;
	reading->quota_us = quota;
	reading->period_us = period;
	return true;
}

static bool value_of(const char *text, const char *key, uint64_t *ret_value)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		if (!strncmp(line, key, len) && line[len] == ' ') {
			*ret_value = strtoull(line + len + 1, NULL, 10);
			return true;
		}
	}
	return false;
}

void xp_cgroup_parse_stat(const char *text, int version, struct xp_cgroup_reading *reading)
{
	uint64_t periods, throttled, time;

	if (!value_of(text, "nr_periods", &periods) || !value_of(text, "nr_throttled", &throttled) ||
	    !value_of(text, version == XP_CGROUP_V2 ? "throttled_usec" : "throttled_time", &time))
		return;
	reading->has_stat = true;
	reading->periods = periods;
	reading->throttled_periods = throttled;
	reading->throttled_ns = version == XP_CGROUP_V2 ? time * 1000 : time;
}

static bool read_small(const char *directory, const char *name, char *buf, size_t size)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	xp_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, buf, size - 1);
	if (got < 0)
		return false;
	buf[got] = '\0';
	return true;
}

static void read_quota_v1(const char *directory, struct xp_cgroup_reading *reading)
{
	char quota[64], period[64];

	if (!read_small(directory, "cpu.cfs_quota_us", quota, sizeof(quota)) ||
	    !read_small(directory, "cpu.cfs_period_us", period, sizeof(period)))
		return;
	reading->has_quota = true;
	reading->quota_us = strtoll(quota, NULL, 10);
	reading->period_us = strtoull(period, NULL, 10);
}

struct xp_cgroup_reading xp_cgroup_read(const char *directory, int version)
{
	struct xp_cgroup_reading reading = { .quota_us = -1 };
	char text[4096];

	if (version == XP_CGROUP_V1)
		read_quota_v1(directory, &reading);
	else if (read_small(directory, "cpu.max", text, sizeof(text)))
		xp_cgroup_parse_max(text, &reading);
	if (read_small(directory, "cpu.stat", text, sizeof(text)))
		xp_cgroup_parse_stat(text, version, &reading);
	return reading;
}
