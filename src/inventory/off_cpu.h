/* SPDX-License-Identifier: Apache-2.0 */
/* The value of inventory `off_cpu`: blocked time by stack and reason (contract 10.8 `off_cpu`). Also part of CpuSampleInventoryResult. */
#ifndef XP_INVENTORY_OFF_CPU_H
#define XP_INVENTORY_OFF_CPU_H

#include "collect/collector.h"
#include "inventory/cuda_call.h"
#include "inventory/stack.h"

enum xp_block_reason {
	XP_REASON_SYSCALL,
	XP_REASON_PAGE_FAULT,
	XP_REASON_LOCK,
	XP_REASON_SLEEP,
	XP_REASON_IO,
	XP_REASON_STOPPED,
	XP_REASON_EXIT,
	XP_REASON_OTHER,
	XP_BLOCK_REASON_COUNT
};
extern const char *const xp_block_reason_names[XP_BLOCK_REASON_COUNT];

/* Blocks of one stack in threads of one name pattern. Frames are shared between groups; none: short blocks, or the stack was lost. */
struct xp_off_cpu_group {
	const char *thread_name_pattern;
	int reason;			      /* enum xp_block_reason */
	const char *syscall_name;	      /* NULL: outside of calls, or the number has no name */
	const char *wait_channel;	      /* kernel function, of blocks that were open at the end; NULL: not known */
	const struct xp_frame *const *frames; /* leaf first */
	size_t n_frames;
	uint64_t count, total_ns, max_ns, open_at_end; /* count: those that are open included */
	bool interpreter_lock;			       /* not written: Python's global lock */
	const struct xp_cuda_call *cuda_call;	       /* not written: that the stack lies under; NULL: none */
};

/* One thread's blocks in one call, for rules that judge threads. */
struct xp_off_cpu_use {
	uint32_t tid;
	const char *thread_name, *syscall_name; /* NULL: outside of calls */
	int reason;
	uint64_t count, total_ns;
	uint64_t lock_ns;			/* part of total_ns that waits for Python's global lock */
	uint64_t gpu_ns, copy_ns;		/* parts of it under CUDA calls that wait, that copy */
	const struct xp_off_cpu_group *longest; /* group of the stack that took most of it, locks and GPUs aside; NULL: no stack */
	const struct xp_off_cpu_group *lock;	/* longest wait for the interpreter's lock; NULL: none */
};

/* The books of one thread: on_cpu + runqueue + blocked = its part of the window. */
struct xp_off_cpu_thread {
	uint32_t tid;
	const char *name;
	uint64_t wall_ns, on_cpu_ns, runqueue_ns, blocked_ns;
	bool ended;
};

struct xp_off_cpu_value {
	uint64_t min_block_us;
	uint64_t blocks_total, blocks_listed, stacks_lost;
	uint64_t blocked_ns, runqueue_ns; /* sums over threads */
	struct xp_off_cpu_group *groups;  /* by total falling */
	size_t n_groups;
	/* Not written: */
	size_t n_groups_total;		   /* before max_groups cut */
	uint64_t threads_lost;		   /* threads whose books found no room: the value is incomplete */
	struct xp_account account;	   /* source ebpf_sched: blocks, those without the stack that they should have are dropped */
	const struct xp_off_cpu_use *uses; /* by total falling */
	size_t n_uses;
	const struct xp_cuda_use *cuda; /* blocks under CUDA calls, by thread and call */
	size_t n_cuda;
	const struct xp_off_cpu_thread *threads; /* by blocked time falling */
	size_t n_threads;
	bool deadline_reached;		/* naming stopped early */
	struct xp_arena *arena;		/* for names that the size budget cuts */
	struct xp_frame *const *frames; /* every frame that the groups share */
	size_t n_frames;
	bool names_cut;
};
extern const struct xp_record xp_off_cpu_record; /* "OffCpu" */

struct xp_arena;
struct xp_inventory_kind;
extern const struct xp_inventory_kind xp_inventory_off_cpu;

struct xp_text;
/* The value for people; lives in output/report_off_cpu.c, beside the other reports. */
void xp_report_off_cpu(const void *value, struct xp_text *out, bool color);
/* One step towards the size budget: shorter names and stacks, fewer groups, blocks_listed with them. False: nothing is left to cut. */
bool xp_off_cpu_shrink(void *value);

#endif
