/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: a machine without hardware counters, as a virtual one is, and strict: a program that asks for one dies of SIGABRT. */
#include "syscall_shim.h"

#include <linux/perf_event.h>
#include <stdlib.h>

static int answer(long number, const long a[6])
{
	const struct perf_event_attr *attr = (const struct perf_event_attr *)a[0];

	if (number == SYS_perf_event_open &&
	    (attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE || attr->type == PERF_TYPE_RAW))
		abort();
	return 0;
}
