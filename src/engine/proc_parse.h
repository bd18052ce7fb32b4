/* SPDX-License-Identifier: Apache-2.0 */
/* Text of a few /proc files -> numbers. Pure; every function tells a text that it does not understand by false and leaves its outputs. */
#ifndef XP_ENGINE_PROC_PARSE_H
#define XP_ENGINE_PROC_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* schedstat: "<ns on a CPU> <ns runnable and waiting> <times put on a CPU>". */
struct xp_schedstat {
	uint64_t cpu_ns, wait_ns, slices;
};
bool xp_parse_schedstat(const char *text, struct xp_schedstat *ret_sched);

/* The members of stat that readings need; found behind the last ')' because the name may hold anything. ticks: clock ticks. */
struct xp_proc_stat {
	char comm[64];
	char state;
	uint32_t ppid;
	uint64_t major_faults, start_ticks, child_ticks; /* child_ticks: CPU of children that were waited for */
};
bool xp_parse_proc_stat(const char *text, struct xp_proc_stat *ret_stat);

/* status: context switches and the CPU list that the thread may run on. A member that is missing stays as it was. */
struct xp_proc_status {
	uint64_t voluntary, involuntary;
	char cpus_allowed[128];
};
void xp_parse_proc_status(const char *text, struct xp_proc_status *ret_status);

/* Number of CPUs in a list such as "0-3,8". 0 when the text is no list. */
uint32_t xp_cpu_list_count(const char *list);

#endif
