/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython's frames of the interrupted thread: the only moment when they are whole. In: xp_python, set between open and load. Out: frames,
 * leaf first, and how the walk ended. State: what is known of each thread. The verifier knows every offset, since rodata is frozen.
 */
#ifndef XP_BPF_PYTHON_WALK_H
#define XP_BPF_PYTHON_WALK_H

#include "kernel.h"
#include "wire/sample.h"

#define PYTHON_STATES_MAX 8192	   /* thread states and interpreters looked at in one search */
#define PYTHON_STATES_UNROLLED 256 /* without bpf_loop, where the verifier follows every round */
#define PYTHON_FRAMES_UNROLLED 200
#define PYTHON_FRAME_BYTES 112	  /* PyFrameObject up to f_lasti, 3.8-3.10 */
#define PYTHON_FRAME_BYTES_311 80 /* _PyInterpreterFrame: the last one of a memory area may end there */

const volatile struct xp_python_layout xp_python;
const volatile __u32 xp_has_loop; /* the kernel has bpf_loop (5.17, commit e6f2dd0f8067) */

/* What was found out about a thread. tstate 0: none, as long as the newest thread state is still `newest`. */
struct python_known {
	__u64 tstate;
	__u64 newest;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64); /* FS base */
	__type(value, struct python_known);
} xp_python_threads SEC(".maps");

/* Where a walk stands; per CPU, because the stack of a program is too small for a frame. */
struct python_walk {
	__u64 fs_base;
	__u64 interp, tstate; /* what the search reads next */
	__u64 found;	      /* a state of this thread */
	__u64 frame;	      /* what the walk reads next; 0: the end */
	__u32 n;
	__u32 failed; /* a read failed, or a list is longer than we follow it */
	__u8 bytes[PYTHON_FRAME_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct python_walk);
} xp_python_walks SEC(".maps");

static __always_inline struct python_walk *python_place(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&xp_python_walks, &zero);
}

static __always_inline __u64 python_word(struct python_walk *walk, __u64 address)
{
	__u64 word = 0;

	if (bpf_probe_read_user(&word, sizeof(word), (const void *)address))
		walk->failed = 1;
	return word;
}

static __always_inline __u64 python_frame_of(struct python_walk *walk, __u64 tstate)
{
	__u64 at = python_word(walk, tstate + xp_python.tstate_frame);

	return xp_python.has_cframe && at ? python_word(walk, at + xp_python.cframe_frame) : at;
}

/*
 * One step over the interpreters and their thread states, newest first. A thread may have a state in several: the one that runs code is
 * meant. 1: the search ends here.
 */
static long python_search_step(__u32 i, void *arg)
{
	struct python_walk *walk = python_place();

	if (!walk || walk->failed || (!walk->tstate && !walk->interp))
		return 1;
	if (!walk->tstate) {
		walk->tstate = python_word(walk, walk->interp + xp_python.interp_threads_head);
		walk->interp = python_word(walk, walk->interp + xp_python.interp_next);
		return 0;
	}
	if (python_word(walk, walk->tstate + xp_python.tstate_thread_id) == walk->fs_base) {
		walk->found = walk->tstate;
		walk->frame = python_frame_of(walk, walk->tstate);
		if (walk->frame)
			return 1;
	}
	walk->tstate = python_word(walk, walk->tstate + xp_python.tstate_next);
	return 0;
}

static __always_inline void python_search(struct python_walk *walk, __u64 first)
{
	walk->interp = first;
	walk->tstate = 0;
	if (xp_has_loop)
		bpf_loop(PYTHON_STATES_MAX, python_search_step, NULL, 0);
	else
		for (__u32 i = 0; i < PYTHON_STATES_UNROLLED && !python_search_step(i, NULL); i++)
			;
	if (!walk->frame && (walk->tstate || walk->interp))
		walk->failed = 1;
}

/*
 * Sets walk->frame to the thread's newest frame, 0 when it runs no Python. New thread states and interpreters come to the head of their
 * lists, so a thread without a state is looked for again only when the head is another one.
 */
static __always_inline void python_start(struct python_walk *walk)
{
	__u64 first = python_word(walk, xp_python.runtime + xp_python.interpreters_head);
	__u64 newest = first ? python_word(walk, first + xp_python.interp_threads_head) : 0;
	__u64 others = first ? python_word(walk, first + xp_python.interp_next) : 0;
	struct python_known known = {}, *found = bpf_map_lookup_elem(&xp_python_threads, &walk->fs_base);

	if (!first || walk->failed)
		return;
	if (found && !others) {
		known = *found;
		if (known.tstate && python_word(walk, known.tstate + xp_python.tstate_thread_id) == walk->fs_base) {
			walk->frame = python_frame_of(walk, known.tstate);
			return;
		}
		walk->failed = 0; /* a state that is gone cannot be read: look again */
		if (!known.tstate && known.newest == newest)
			return;
	}
	python_search(walk, first);
	if (walk->failed)
		return;
	known.tstate = walk->found;
	known.newest = newest;
	bpf_map_update_elem(&xp_python_threads, &walk->fs_base, &known, BPF_ANY);
}

#endif
