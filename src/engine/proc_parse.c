// SPDX-License-Identifier: Apache-2.0
/* schedstat, stat and status of /proc/PID[/task/TID], read with bounded scans. No state. */
#include "engine/proc_parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Reads one unsigned decimal number and moves *p behind it. */
static bool take_u64(const char **p, uint64_t *ret_value)
{
	char *end;

	while (**p == ' ' || **p == '\t')
		(*p)++;
	if (!isdigit((unsigned char)**p))
		return false;
	*ret_value = strtoull(*p, &end, 10);
	*p = end;
	return true;
}

bool xp_parse_schedstat(const char *text, struct xp_schedstat *ret_sched)
{
	struct xp_schedstat sched;

	if (!take_u64(&text, &sched.cpu_ns) || !take_u64(&text, &sched.wait_ns) || !take_u64(&text, &sched.slices))
		return false;
	*ret_sched = sched;
	return true;
}

/* Fills fields[4..last] of stat from the text behind "state"; negative values (tty, priority) are skipped as 0. */
static bool take_fields(const char *p, uint64_t *fields, unsigned last)
{
	for (unsigned i = 4; i <= last; i++) {
		while (*p == ' ')
			p++;
		if (*p == '-') {
			fields[i] = 0;
			p++;
			while (isdigit((unsigned char)*p))
				p++;
		} else if (!take_u64(&p, &fields[i])) {
			return false;
		}
	}
	return true;
}

bool xp_parse_proc_stat(const char *text, struct xp_proc_stat *ret_stat)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	uint64_t fields[23] = { 0 };
	struct xp_proc_stat stat = { 0 };

	if (!open || !close || close < open || close[1] != ' ' || !close[2])
		return false;
	size_t len = (size_t)(close - open - 1);
	if (len >= sizeof(stat.comm))
		len = sizeof(stat.comm) - 1;
	memcpy(stat.comm, open + 1, len);
	stat.state = close[2];
	if (!take_fields(close + 3, fields, 22))
		return false;
	stat.ppid = (uint32_t)fields[4];
	stat.major_faults = fields[12];
	stat.child_ticks = fields[16] + fields[17];
	stat.start_ticks = fields[22];
	*ret_stat = stat;
	return true;
}

/* Text behind "KEY:\t" at the start of a line, or NULL. */
static const char *line_of(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		if (!strncmp(line, key, len) && line[len] == ':')
			return line + len + 1;
	}
	return NULL;
}

void xp_parse_proc_status(const char *text, struct xp_proc_status *ret_status)
{
	const char *voluntary = line_of(text, "voluntary_ctxt_switches");
	const char *involuntary = line_of(text, "nonvoluntary_ctxt_switches");
	const char *cpus = line_of(text, "Cpus_allowed_list");

	if (voluntary)
		take_u64(&voluntary, &ret_status->voluntary);
	if (involuntary)
		take_u64(&involuntary, &ret_status->involuntary);
	if (cpus) {
		cpus += strspn(cpus, " \t");
		size_t len = strcspn(cpus, "\n");

		if (len >= sizeof(ret_status->cpus_allowed))
			len = sizeof(ret_status->cpus_allowed) - 1;
		memcpy(ret_status->cpus_allowed, cpus, len);
		ret_status->cpus_allowed[len] = '\0';
	}
}

uint32_t xp_cpu_list_count(const char *list)
{
	uint64_t count = 0;

	for (const char *p = list; *p;) {
		uint64_t low, high;

		if (!take_u64(&p, &low))
			return 0;
		high = low;
		if (*p == '-') {
			p++;
			if (!take_u64(&p, &high))
				return 0;
		}
		if (high < low || high > 1 << 20)
			return 0;
		count += high - low + 1;
		if (*p == ',')
			p++;
		else if (*p)
			return 0;
	}
	return (uint32_t)count;
}
