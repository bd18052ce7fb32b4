/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython's frames of the interrupted thread: the only moment when they are whole. In: a scratch record with its kernel frames. Out: the
 * Python frames behind them, leaf first, and how the walk ended. No branch of the loop changes a counter, or the verifier gives up.
 */
#ifndef XP_BPF_PYTHON_WALK_H
#define XP_BPF_PYTHON_WALK_H

#include "python_mark.h"
#include "python_thread.h"
#include "sample_record.h"

/*
 * One frame of the walk into the record. 1: the walk ends here. What differs between layouts is reckoned, not branched on: of several
 * targets the verifier would follow each combination.
 */
static long python_frame_step(__u32 i, void *arg)
{
	struct python_walk *walk = python_place();
	struct scratch *scratch = scratch_of_cpu();
	struct xp_rec_python_frame frame;
	__s64 is_int, instr;
	__u32 bytes;
	__u64 at;

	if (!walk || !scratch || !walk->frame)
		return 1;
	bytes = PYTHON_FRAME_BYTES - (PYTHON_FRAME_BYTES - PYTHON_FRAME_BYTES_311) * (PYTHON(walk, has_owner) & 1);
	if (bpf_probe_read_user(walk->bytes, bytes, (const void *)walk->frame)) {
		walk->failed = 1;
		return 1;
	}
	frame.code = *(__u64 *)(walk->bytes + PYTHON_AT(walk, frame_code)) & ~(__u64)PYTHON(walk, code_tag_mask) & 0xffffffffffffull;
	frame.mark = python_mark(walk, frame.code);
	is_int = PYTHON(walk, instr_is_int);
	instr = *(__s64 *)(walk->bytes + PYTHON_AT(walk, frame_instr)) - (__s64)frame.code;
	frame.instr = is_int * *(__s32 *)(walk->bytes + PYTHON_AT(walk, frame_instr)) + (1 - is_int) * instr;
	frame.code |= (__u64)walk->bytes[PYTHON_AT(walk, frame_owner)] * PYTHON(walk, has_owner) << 56;
	frame.code |= (__u64)(walk->bytes[PYTHON_AT(walk, frame_is_entry)] & PYTHON(walk, has_is_entry)) << 48;
	walk->frame = *(__u64 *)(walk->bytes + PYTHON_AT(walk, frame_back));
	at = scratch->head.n_kernel * 8 + walk->n * sizeof(frame);
	if (at > KERNEL_BYTES + PYTHON_BYTES - sizeof(frame))
		return 1;
	__builtin_memcpy(scratch->rest + at, &frame, sizeof(frame));
	walk->n++;
	return 0;
}

/* False: there is no Python in this target. */
static __always_inline bool python_choose(struct python_walk *walk, __u32 target)
{
	struct xp_python_layout *layout;

	walk->target = target;
	if (!xp_several)
		return xp_python.version;
	if (!xp_some_python)
		return false;
	layout = bpf_map_lookup_elem(&xp_pythons, &target);
	if (!layout || !layout->version)
		return false;
	walk->layout = *layout;
	/* Behind the bytes that are read there are zeros, also when the last target's layout had more of them. */
	__builtin_memset(walk->identity.head, 0, sizeof(walk->identity.head));
	return true;
}

static __always_inline void take_python(struct scratch *scratch, __u32 target)
{
	struct python_walk *walk = python_place();

	if (!walk || !python_choose(walk, target))
		return;
	walk->fs_base = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), thread.fsbase);
	walk->sp = scratch->head.sp;
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

#endif
