/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building of one struct xp_rec_sample. In: a scratch record whose head has registers and the numbers of frames. Out: the same with the
 * copied stack. State: one scratch record a CPU, so a program that may be preempted must not share it.
 */
#ifndef XP_BPF_SAMPLE_RECORD_H
#define XP_BPF_SAMPLE_RECORD_H

#include "kernel.h"
#include "wire/sample.h"

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
