/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building of one struct xp_rec_sample. In: a scratch record whose head has flags, registers and n_kernel. Out: the same with Python frames
 * and the copied stack. State: one scratch record a CPU, so a program that may be preempted must not share it.
 */
#ifndef XP_BPF_SAMPLE_RECORD_H
#define XP_BPF_SAMPLE_RECORD_H

#include "python_walk.h"

#define RECORD_HEAD sizeof(struct xp_rec_sample)
#define KERNEL_BYTES (XP_KERNEL_FRAMES_MAX * 8)
#define PYTHON_BYTES (XP_PYTHON_FRAMES_MAX * sizeof(struct xp_rec_python_frame))
#define RECORD_BYTES_MAX (RECORD_HEAD + KERNEL_BYTES + PYTHON_BYTES + XP_STACK_COPY_MAX)
#define PAGE 4096
#define PAGES_MAX (XP_STACK_COPY_MAX / PAGE + 1)

struct scratch {
	struct xp_rec_sample head;
	__u8 rest[RECORD_BYTES_MAX - RECORD_HEAD + PAGE]; /* the verifier sees no more than that the last copy begins in bounds */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} xp_scratch SEC(".maps");

static __always_inline struct scratch *scratch_of_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&xp_scratch, &zero);
}

/* One frame of the walk into the record. 1: the walk ends here. */
static long python_frame_step(__u32 i, void *arg)
{
	struct python_walk *walk = python_place();
	struct scratch *scratch = scratch_of_cpu();
	__u32 bytes = xp_python.has_owner ? PYTHON_FRAME_BYTES_311 : PYTHON_FRAME_BYTES;
	struct xp_rec_python_frame frame;
	__u64 at;

	if (!walk || !scratch || !walk->frame)
		return 1;
	if (bpf_probe_read_user(walk->bytes, bytes, (const void *)walk->frame)) {
		walk->failed = 1;
		return 1;
	}
	frame.code = *(__u64 *)(walk->bytes + xp_python.frame_code) & ~(__u64)xp_python.code_tag_mask & 0xffffffffffffull;
	if (xp_python.has_owner)
		frame.code |= (__u64)walk->bytes[xp_python.frame_owner] << 56;
	if (xp_python.frame_is_entry)
		frame.code |= (__u64)(walk->bytes[xp_python.frame_is_entry] & 1) << 48;
	if (xp_python.instr_is_int)
		frame.instr = (__s64) * (__s32 *)(walk->bytes + xp_python.frame_instr);
	else
		frame.instr = *(__u64 *)(walk->bytes + xp_python.frame_instr);
	walk->frame = *(__u64 *)(walk->bytes + xp_python.frame_back);
	at = scratch->head.n_kernel * 8 + walk->n * sizeof(frame);
	if (at > KERNEL_BYTES + PYTHON_BYTES - sizeof(frame))
		return 1;
	__builtin_memcpy(scratch->rest + at, &frame, sizeof(frame));
	walk->n++;
	return 0;
}

static __always_inline void take_python(struct scratch *scratch)
{
	struct python_walk *walk = python_place();

	if (!xp_python.version || !walk)
		return;
	walk->fs_base = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), thread.fsbase);
	walk->found = walk->frame = 0;
	walk->n = walk->failed = 0;
	if (!walk->fs_base)
		return;
	python_start(walk);
	if (xp_has_loop)
		bpf_loop(XP_PYTHON_FRAMES_MAX, python_frame_step, NULL, 0);
	else
		for (__u32 i = 0; i < PYTHON_FRAMES_UNROLLED && !python_frame_step(i, NULL); i++)
			;
	if (walk->failed) {
		scratch->head.python = XP_PYTHON_TORN;
		return;
	}
	if (!walk->n)
		return;
	scratch->head.n_python = walk->n;
	scratch->head.python = walk->frame ? XP_PYTHON_DEEP : XP_PYTHON_WHOLE;
}

/* Page by page: a copy that meets an absent page fails as a whole, and the page behind a stack's end is often absent. */
static __always_inline void take_stack(struct scratch *scratch)
{
	__u64 at = (__u64)scratch->head.n_kernel * 8 + (__u64)scratch->head.n_python * sizeof(struct xp_rec_python_frame);
	__u64 begin = at, address = scratch->head.sp, bytes;

	if (scratch->head.flags & XP_SAMPLE_NO_USER)
		return;
	for (int i = 0; i < PAGES_MAX; i++) {
		bytes = PAGE - (address & (PAGE - 1));
		if (at - begin + bytes > XP_STACK_COPY_MAX)
			bytes = XP_STACK_COPY_MAX - (at - begin);
		bytes &= 2 * PAGE - 1; /* at most PAGE already; said once more to the verifier */
		if (bytes > PAGE || at > KERNEL_BYTES + PYTHON_BYTES + XP_STACK_COPY_MAX)
			break;
		if (!bytes || bpf_probe_read_user(scratch->rest + at, bytes, (const void *)address))
			break;
		at += bytes;
		address += bytes;
	}
	scratch->head.stack_bytes = at - begin;
	if (at - begin == XP_STACK_COPY_MAX)
		scratch->head.flags |= XP_SAMPLE_STACK_SHORT;
}

#endif
