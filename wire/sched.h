/* SPDX-License-Identifier: Apache-2.0 */
/* What bpf/sched.bpf.c books about each thread and engine/bpf_sched.c reads. Long blocks come as struct xp_rec_sample. Native alignment. */
#ifndef XP_WIRE_SCHED_H
#define XP_WIRE_SCHED_H

#include "wire/wire.h"

#define XP_SCHED_SLOTS 16 /* different places that one thread blocks in; more are booked in XP_BLOCK_MANY */
#define XP_SCHED_NO_CALL 0xffffffffu

/* What a thread is doing; index of ns[]. */
#define XP_SCHED_RUNNING 0
#define XP_SCHED_RUNNABLE 1 /* ready, and waiting for a CPU */
#define XP_SCHED_BLOCKED 2
#define XP_SCHED_ENDED 3

/* Where it blocks. Calls are told apart further by number, in user space. */
#define XP_BLOCK_CALL 1	      /* inside a system call */
#define XP_BLOCK_CALL_IO 2    /* inside a system call, waiting for a device */
#define XP_BLOCK_PAGE_FAULT 3 /* outside of calls, not to be interrupted */
#define XP_BLOCK_STOPPED 4    /* by a signal or a tracer */
#define XP_BLOCK_EXIT 5	      /* while ending */
#define XP_BLOCK_OTHER 6
#define XP_BLOCK_MANY 7 /* the thread blocked in more than XP_SCHED_SLOTS places */

struct xp_sched_place {
	__u32 nr;    /* system call number, XP_SCHED_NO_CALL outside of calls */
	__u8 where;  /* XP_BLOCK_* */
	__u8 compat; /* the number is of the 32-bit table */
	__u8 pad[2];
};
XP_WIRE_SIZE(struct xp_sched_place, 8);

/* Blocks that left no stack: short ones, and long ones whose stack found no room. */
struct xp_sched_slot {
	struct xp_sched_place place;
	__u64 count, total_ns, max_ns;
};
XP_WIRE_SIZE(struct xp_sched_slot, 32);

/*
 * A thread, in its task storage. Its events follow each other (the run queue's lock orders them), so plain stores do. Copied into the ring
 * when it ends, listed by the iterator when it lives. Times are of the window only; the state it is in at the end is added by the reader:
 * ns[] + that = the thread's part of the window.
 */
struct xp_sched_thread {
	__u32 tid;   /* as the tool sees it; 0: not set up */
	__u8 state;  /* XP_SCHED_* */
	__u8 born;   /* it began after the programs were attached */
	__u8 target; /* index of its process */
	__u8 pad;
	__u64 since_ns;		     /* when it took its state, CLOCK_MONOTONIC */
	__u64 born_ns;		     /* first seen */
	__u64 ended_ns;		     /* 0: lives */
	__u64 ns[3];		     /* by XP_SCHED_*: running, runnable, blocked */
	__u64 switches;		     /* times it left a CPU */
	__u64 blocks;		     /* blocks ended: those in slots and those in samples */
	__u64 sampled, sampled_ns;   /* of these in samples */
	__u64 stacks_lost;	     /* long blocks without a stack */
	__u64 runs;		     /* how often it had been put on a CPU (third number of schedstat) when its block began */
	struct xp_sched_place place; /* of the block it is in, or of the call whose blocks are not booked yet */
	__u64 call_ns;		     /* time blocked so far in the call it is in */
	__u32 call_blocks;	     /* how often; 0: nothing is to be booked */
	__u32 n_slots;
	struct xp_sched_slot slots[XP_SCHED_SLOTS];
	char name[16]; /* at its end, or when it was listed */
};
XP_WIRE_SIZE(struct xp_sched_thread, 656);

/* Sums of threads whose record found no room, and why stacks were lost. */
struct xp_sched_lost {
	__u64 threads, ns[3], blocks;
	__u64 ring_full;   /* stacks */
	__u64 over_budget; /* stacks beyond what the tool allows a second */
	__u64 no_storage;  /* events of threads that got no storage */
};
XP_WIRE_SIZE(struct xp_sched_lost, 64);

#endif
