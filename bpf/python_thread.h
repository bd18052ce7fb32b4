/* SPDX-License-Identifier: Apache-2.0 */
/* The newest frame of the current thread. In: the runtime of the layout and the thread's FS base. Out: walk->frame, or 0. */
#ifndef XP_BPF_PYTHON_THREAD_H
#define XP_BPF_PYTHON_THREAD_H

#include "python_state.h"

/*
 * Up to 3.12, run_string of a sub-interpreter borrows the state of the thread that made the interpreter, so ids tell the wrong thread. But
 * the state's _PyCFrame is a local of the evaluation loop. Only the first thread's stack lies above its thread control block.
 */
static __always_inline bool python_is_mine(struct python_walk *walk)
{
	__u64 cframe;

	if (!walk->others || !PYTHON(walk, has_cframe))
		return python_word(walk, walk->tstate + PYTHON(walk, tstate_thread_id)) == walk->fs_base;
	cframe = python_word(walk, walk->tstate + PYTHON(walk, tstate_frame));
	return cframe >= walk->sp && (walk->fs_base < walk->sp || cframe < walk->fs_base);
}

/* Before 3.11 nothing tells who runs a sub-interpreter's code: only the main interpreter, the last of the list, is looked at. */
static __always_inline void python_next_interpreter(struct python_walk *walk)
{
	__u64 next = python_word(walk, walk->interp + PYTHON(walk, interp_next));

	if (!next || PYTHON(walk, has_owner))
		walk->tstate = python_word(walk, walk->interp + PYTHON(walk, interp_threads_head));
	walk->interp = next;
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
		python_next_interpreter(walk);
		return 0;
	}
	if (python_is_mine(walk)) {
		walk->found = walk->tstate;
		walk->frame = python_frame_of(walk, walk->tstate);
		if (walk->frame)
			return 1;
	}
	walk->tstate = python_word(walk, walk->tstate + PYTHON(walk, tstate_next));
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
	__u64 first = python_word(walk, PYTHON(walk, runtime) + PYTHON(walk, interpreters_head));
	__u64 newest = first ? python_word(walk, first + PYTHON(walk, interp_threads_head)) : 0;
	__u64 key = walk->fs_base | (__u64)walk->target << 56;
	struct python_known known = {}, *found = bpf_map_lookup_elem(&xp_python_threads, &key);

	walk->others = first ? python_word(walk, first + PYTHON(walk, interp_next)) : 0;
	if (!first || walk->failed)
		return;
	if (found && !walk->others) {
		known = *found;
		if (known.tstate && python_word(walk, known.tstate + PYTHON(walk, tstate_thread_id)) == walk->fs_base) {
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
	bpf_map_update_elem(&xp_python_threads, &key, &known, BPF_ANY);
}

#endif
