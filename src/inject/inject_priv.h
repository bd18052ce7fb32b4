/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share: the survey of a target, its threads, the work on one of them. */
#ifndef XP_INJECT_INJECT_PRIV_H
#define XP_INJECT_INJECT_PRIV_H

#include "base/arena.h"
#include "elf/modules.h"
#include "elf/unwind.h"
#include "inject/inject.h"
#include "inject/tracee.h"

enum { XP_INJECT_TIMEOUT_MS = 10000, XP_INJECT_MAX_THREADS = 4096 };

/* Addresses in the target, found in its files before anything is stopped. */
struct xp_inject_places {
	uint64_t open, close, error, find; /* dlopen and its kin; error may be 0 */
	uint64_t open_flags;
	uint64_t errno_location, format; /* __errno_location, snprintf */
	uint64_t code;			 /* room for xp_injection_size() bytes, executable, used by nobody */
};

/* tid: a live thread, to read memory through. */
int xp_inject_find_places(struct xp_target *target, uint32_t tid, struct xp_arena *arena, struct xp_inject_places *ret_places,
			  struct xp_err *reterr);

/* The library itself: readable, and the target's C library is new enough for it. */
int xp_inject_check_image(struct xp_target *target, const struct xp_inject_request *request, struct xp_err *reterr);

/* What an address of the target belongs to. */
enum xp_inject_part { XP_PART_NONE, XP_PART_OTHER, XP_PART_LIBC, XP_PART_LOADER };
enum xp_inject_part xp_inject_part_of(const struct xp_mapping *mapping);
/* libc.so.6, libc-2.31.so, libdl, libpthread, ld-linux: `name` is without version and suffix, such as "libdl". */
bool xp_inject_is_library(const struct xp_mapping *mapping, const char *name);

/* A thread that might be used. */
struct xp_inject_thread {
	uint32_t tid, own_tid; /* in xprobe's namespace; in the target's own */
	int rank;	       /* lower is better; XP_RANK_BUSY: runs */
	uint64_t sp, pc;       /* of a thread that waits */
};
enum { XP_RANK_BUSY = 9 };
int xp_inject_threads(struct xp_target *target, struct xp_arena *arena, struct xp_inject_thread **ret_threads, size_t *ret_n,
		      struct xp_err *reterr);
/* May a thread be used that was found in this call? Its rank, or 0. */
int xp_inject_call_rank(long nr, const uint64_t args[6]);
/* Id of the thread that holds a lock of the dynamic loader, in the target's own namespace; 0: none. Memory is read through live thread tid.
 */
uint32_t xp_inject_loader_lock(struct xp_target *target, uint32_t tid);

/* Looks whether the frames of a stopped thread leave no lock held that loading takes. `busy`: it is not in a system call. */
struct xp_inject_frames;
struct xp_inject_frames *xp_inject_frames_new(struct xp_target *target);
void xp_inject_frames_free(struct xp_inject_frames *frames);
XP_DEFINE_AUTO(struct xp_inject_frames *, xp_inject_frames_free);
/* NULL: innocent; else why not, static. */
const char *xp_inject_frames_refuse(struct xp_inject_frames *frames, uint32_t tid, const struct xp_unwind_regs *regs, bool busy);

/* Do all filters of the stopped thread let it make the system calls of loading, or answer them by an errno? 0 or -errno. */
int xp_inject_seccomp_ok(const struct xp_tracee *tracee, bool *ret_ok);

/* Every refusal that needs no stop, and what it found on the way. *ret_filtered: the target has a seccomp filter. */
struct xp_inject_ground {
	struct xp_inject_places places;
	uint32_t live_tid; /* a thread that is alive: the first one may have ended */
	bool filtered;
};
int xp_inject_survey(struct xp_target *target, const struct xp_inject_request *request, struct xp_arena *arena,
		     struct xp_inject_ground *ret_ground, struct xp_err *reterr);
/* The whole work with ptrace; runs in a process of its own that may die at any time. Only control_fd of the result is left to the caller.
 */
int xp_inject_work(struct xp_target *target, const struct xp_inject_request *request, const struct xp_inject_ground *ground,
		   struct xp_inject_result *ret_result, struct xp_err *reterr);

/* Moves the stopped, saved thread through the steps and back; it is let go in every case. */
int xp_inject_load(struct xp_target *target, struct xp_tracee *tracee, const struct xp_inject_request *request,
		   const struct xp_inject_places *places, struct xp_inject_result *ret_result, struct xp_err *reterr);

#endif
