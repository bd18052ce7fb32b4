/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: perf_event_open refuses events of whole CPUs, as security modules do; those of threads are let through. */
#include "syscall_shim.h"

static int answer(long number, const long a[6])
{
	return number == SYS_perf_event_open && (int)a[1] == -1 ? EACCES : 0;
}
