/* SPDX-License-Identifier: Apache-2.0 */
/* One traced thread of the target: stop, registers, memory, let go. Every wait is bounded. */
#ifndef XP_INJECT_TRACEE_H
#define XP_INJECT_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>
#include <time.h>

enum { XP_VECTOR_MAX = 16384 };
struct xp_tracee {
	uint32_t tid;
	bool attached, stopped;
	int memory; /* /proc/TID/mem, -1 */
	struct user_regs_struct regs;
	uint64_t signal_mask;
	unsigned char vector[XP_VECTOR_MAX];
	size_t vector_size;
	uint64_t deadline_ns;
	bool cancelled; /* SIGINT, SIGTERM or SIGHUP came to this process */
};
enum xp_stop { XP_STOP_NONE = -1, XP_STOP_GONE = -2, XP_STOP_GROUP = -3, XP_STOP_TRAP = 0, XP_STOP_CALL = 0x100 }; /* else: signal number */

static inline uint64_t xp_inject_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* All return 0 or -errno. -ETIME: no stop in time, -ESRCH: the thread ended, -EINTR: another stop than the one wanted came first. */
/* Up to 2 ms, 0: a look only; ended early by anything that happens to children, and by the signals that set `cancelled`. */
void xp_tracee_pause(struct xp_tracee *tracee, uint64_t ns);
int xp_tracee_stop(struct xp_tracee *tracee, uint32_t tid, uint64_t within_ns);
int xp_tracee_interrupt(struct xp_tracee *tracee, uint64_t within_ns);
/* Waits for any stop; enum xp_stop. A wait of `within_ns` that ends without one is XP_STOP_NONE. */
int xp_tracee_wait(struct xp_tracee *tracee, uint64_t within_ns);
int xp_tracee_save(struct xp_tracee *tracee);
int xp_tracee_set_regs(struct xp_tracee *tracee, const struct user_regs_struct *regs);
int xp_tracee_get_regs(struct xp_tracee *tracee, struct user_regs_struct *ret_regs);
int xp_tracee_set_mask(struct xp_tracee *tracee, uint64_t mask);
int xp_tracee_set_vector(struct xp_tracee *tracee);
int xp_tracee_resume(struct xp_tracee *tracee, bool to_call, int signal);
/* Never fails to let go: a thread that is not stopped is left to the end of this process. */
void xp_tracee_let_go(struct xp_tracee *tracee, int signal);
int xp_tracee_read(const struct xp_tracee *tracee, uint64_t address, void *bytes, size_t size);
int xp_tracee_write(const struct xp_tracee *tracee, uint64_t address, const void *bytes, size_t size);
/* A signal with a handler is about to be delivered to the stopped thread. */
bool xp_tracee_signal_waits(const struct xp_tracee *tracee);

#endif
