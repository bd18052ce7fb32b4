/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brings a shared library into a running process by ptrace. One innocent thread is stopped and moved onto code that finds back by itself,
 * so the target runs on, unharmed, whenever xprobe dies. Knows nothing of CUDA.
 */
#ifndef XP_INJECT_INJECT_H
#define XP_INJECT_INJECT_H

#include "target/target.h"

/* Everything is borrowed. */
struct xp_inject_request {
	const void *image; /* the library's file; links nothing but libc, no executable stack */
	size_t image_size;
	const char *image_name; /* of the memory file that is mapped: /memfd:NAME. The loader never takes it for an earlier one */
	/*
	 * `int ENTRY(int control, uint64_t arg)`, called in the stopped thread after loading, signals blocked; negative: failed. Short, and
	 * without nanosleep or a timed futex wait, which make the kernel forget how to restart the thread's own call. NULL: none is called.
	 */
	const char *entry;
	uint64_t entry_arg;
	/* Memory file made in the target and handed to the entry: close-on-exec, sealable, control_size bytes. NULL: none, control is -1.
	 */
	const char *control_name;
	uint64_t control_size;
	unsigned timeout_ms; /* of the whole injection; 0: 10,000 */
};

struct xp_inject_result {
	uint32_t tid;	   /* thread that was used, in xprobe's namespace */
	uint64_t handle;   /* what dlopen gave in the target */
	uint64_t base;	   /* load address */
	int entry_result;  /* >= 0 */
	int control;	   /* descriptor number in the target, -1: none. Stays open there, the only one */
	int control_fd;	   /* the same file here, read-write, close-on-exec; owned by the caller; -1: none */
	uint64_t stall_ns; /* from the order to stop until the thread ran its own code again */
	uint32_t attempts; /* threads stopped, that one counted; the others were let go untouched */
};

/*
 * Whatever can refuse is looked at here, without any ptrace call: PERMISSION_DENIED; TARGET_BUSY with `holder` (tracer) or stopped;
 * UNSUPPORTED_TARGET for machine type, C library (static, musl, both, too old), strict seccomp, a seccomp filter that nobody may read, a
 * mount view without /proc; TARGET_EXITED / TARGET_REUSED. A seccomp filter that may be read is read at the stop, before any change.
 */
int xp_inject_check(struct xp_target *target, const struct xp_inject_request *request, struct xp_arena *arena, struct xp_err *reterr);
/*
 * Checks, then injects. Besides the above: CUPTI_NOT_AVAILABLE when no thread is innocent or loading does not end in time (the target is
 * let go; a load that still waits undoes itself), or the loader or the entry refuses; CANCELLED by SIGINT, SIGTERM or SIGHUP to the process
 * group. After a failure nothing is left in the target.
 */
int xp_inject(struct xp_target *target, const struct xp_inject_request *request, struct xp_inject_result *ret_result,
	      struct xp_err *reterr);

#endif
