/* SPDX-License-Identifier: Apache-2.0 */
/* Open blocks -> stacks. In: /proc and memory of the target. Out: stacks of the sum. State: one record to build stacks in. */
#include "inventory/off_cpu_wait.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

enum { PAGE = 4096, PAGES = XP_STACK_COPY_MAX / PAGE + 1 };

/* A sample as the programs of the kernel would have sent it. */
struct xp_off_cpu_record {
	struct xp_rec_sample head;
	unsigned char rest[XP_PYTHON_FRAMES_MAX * sizeof(struct xp_rec_python_frame) + XP_STACK_COPY_MAX];
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Reads /proc/PID/task/TID/NAME; false when it is gone, refused or empty. */
static bool read_thread(const struct xp_target *target, uint32_t tid, const char *name, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "task/%" PRIu32 "/%s", tid, name);
	return xp_target_read(target, path, text, size) > 0;
}

/* "NR ARG... SP PC", or "-1 SP PC" outside of calls; "running" has none. */
static bool read_registers(const struct xp_target *target, uint32_t tid, struct xp_rec_sample *head)
{
	char text[256];

	if (!read_thread(target, tid, "syscall", text, sizeof(text)))
		return false;
	text[strcspn(text, "\n")] = '\0';
	char *pc = strrchr(text, ' ');
	if (!pc)
		return false;
	*pc++ = '\0';
	char *sp = strrchr(text, ' ');
	if (!sp)
		return false;
	head->ip = strtoull(pc, NULL, 16);
	head->sp = strtoull(sp + 1, NULL, 16);
	return head->ip && head->sp;
}

/* Page by page, because the page behind a stack's end is often absent. */
static void read_stack(uint32_t pid, struct xp_off_cpu_record *record, unsigned char *to)
{
	struct iovec local = { to, 0 }, remote[PAGES];
	uint64_t at = record->head.sp, left = XP_STACK_COPY_MAX;
	unsigned long n = 0;

	for (; left && n < PAGES; n++) {
		uint64_t bytes = PAGE - at % PAGE;

		bytes = bytes < left ? bytes : left;
		remote[n] = (struct iovec){ (void *)(uintptr_t)at, bytes };
		local.iov_len += bytes;
		at += bytes;
		left -= bytes;
	}
	ssize_t got = process_vm_readv((pid_t)pid, &local, 1, remote, n, 0);

	record->head.stack_bytes = got > 0 ? (uint32_t)got : 0;
	if (got == XP_STACK_COPY_MAX)
		record->head.flags |= XP_SAMPLE_STACK_SHORT;
}

/* Third number of schedstat: how often the thread was put on a CPU. */
static bool has_not_run(const struct xp_target *target, uint32_t tid, uint64_t runs)
{
	char text[128];
	uint64_t cpu_ns, wait_ns, now;

	return read_thread(target, tid, "schedstat", text, sizeof(text)) &&
	       sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &cpu_ns, &wait_ns, &now) == 3 && now == runs;
}

static bool take_stack(const struct xp_off_cpu_wait *wait, const struct xp_sched_thread *thread)
{
	const struct xp_target *target = wait->target;
	struct xp_off_cpu_record *record = wait->record;
	struct xp_python *python = wait->sum->stacks.python;
	struct xp_rec_python_frame *frames = (struct xp_rec_python_frame *)record->rest;
	uint32_t pid = xp_target_pid(target);

	record->head = (struct xp_rec_sample){ .kind = XP_SAMPLE_BLOCK, .pid = pid, .tid = thread->tid };
	if (!read_registers(target, thread->tid, &record->head))
		return false;
	if (python && xp_python_status(python) == XP_PYTHON_ACTIVE) {
		record->head.n_python =
			(uint16_t)xp_python_walk_blocked(python, thread->tid, record->head.sp, frames, XP_PYTHON_FRAMES_MAX);
		record->head.python = !record->head.n_python			      ? XP_PYTHON_NONE
				      : record->head.n_python == XP_PYTHON_FRAMES_MAX ? XP_PYTHON_DEEP
										      : XP_PYTHON_WHOLE;
	}
	read_stack(pid, record, record->rest + record->head.n_python * sizeof(*frames));
	size_t size = sizeof(record->head) + record->head.n_python * sizeof(*frames) + record->head.stack_bytes;
	record->head.size = (uint32_t)(size + 7) / 8 * 8;
	return record->head.stack_bytes && has_not_run(target, thread->tid, thread->runs);
}

int xp_off_cpu_wait_init(struct xp_off_cpu_wait *wait, struct xp_err *reterr)
{
	wait->record = calloc(1, sizeof(*wait->record));
	return wait->record ? 0 : xp_fail_sys(reterr, ENOMEM, "calloc", "stack of a blocked thread");
}

void xp_off_cpu_wait_done(struct xp_off_cpu_wait *wait)
{
	free(wait->record);
	wait->record = NULL;
}

int xp_off_cpu_wait_thread(void *arg, const struct xp_sched_thread *thread, struct xp_err *reterr)
{
	struct xp_off_cpu_wait *wait = arg;
	char channel[128];

	if (!xp_off_cpu_sum_wants(wait->sum, thread) || now_ns() >= wait->deadline_ns)
		return 0;
	/* "0": the kernel does not tell where it sits. Read before the stack, which is checked to be of the same block. */
	bool told = read_thread(wait->target, thread->tid, "wchan", channel, sizeof(channel)) && strcmp(channel, "0") != 0;

	if (take_stack(wait, thread))
		xp_off_cpu_sum_still(wait->sum, thread, &wait->record->head, told ? channel : NULL);
	return 0;
}
