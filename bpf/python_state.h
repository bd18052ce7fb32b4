/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the walk of CPython's frames knows and where it stands. In: the layout of one target as a constant, whose offsets the verifier
 * knows, or of several in a table. State: what was found out about each thread, and one walk a CPU.
 */
#ifndef XP_BPF_PYTHON_STATE_H
#define XP_BPF_PYTHON_STATE_H

#include "targets.h"
#include "wire/sample.h"

#define PYTHON_STATES_MAX 8192	   /* thread states and interpreters looked at in one search */
#define PYTHON_STATES_UNROLLED 256 /* without bpf_loop, where the verifier follows every round */
#define PYTHON_FRAMES_UNROLLED 200
#define PYTHON_FRAME_BYTES 112	  /* PyFrameObject up to f_lasti, 3.8-3.10 */
#define PYTHON_FRAME_BYTES_311 80 /* _PyInterpreterFrame: the last one of a memory area may end there */
#define PYTHON_OFFSET_MASK 127	  /* of an offset inside a frame that the verifier does not know */

const volatile struct xp_python_layout xp_python; /* of the only target */
const volatile __u32 xp_some_python;		  /* of several targets at least one may run Python */
const volatile __u32 xp_has_loop;		  /* the kernel has bpf_loop (5.17, commit e6f2dd0f8067) */

/* What was found out about a thread. tstate 0: none, as long as the newest thread state is still `newest`. */
struct python_known {
	__u64 tstate;
	__u64 newest;
};

/* Of several targets, by their index. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xp_python_layout);
} xp_pythons SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64); /* FS base, and in its unused top byte the index of the target: forked processes have equal addresses */
	__type(value, struct python_known);
} xp_python_threads SEC(".maps");

/* Where a walk stands; per CPU, because the stack of a program is too small for a frame. */
struct python_walk {
	__u64 fs_base, sp;
	__u64 others;	      /* not 0: there are sub-interpreters */
	__u64 interp, tstate; /* what the search reads next */
	__u64 found;	      /* a state of this thread */
	__u64 frame;	      /* what the walk reads next; 0: the end */
	__u32 n;
	__u32 failed; /* a read failed, or a list is longer than we follow it */
	__u32 target;
	struct xp_python_layout layout; /* of several targets: a copy, which holds still */
	__u8 bytes[PYTHON_OFFSET_MASK + 1 + 8];
	struct xp_python_identity identity;
};

/* A member of the layout; one that is an offset inside walk->bytes, or a length that walk->identity has room for. */
#define PYTHON(walk, member) (xp_several ? (walk)->layout.member : xp_python.member)
#define PYTHON_AT(walk, member) (xp_several ? (walk)->layout.member & PYTHON_OFFSET_MASK : xp_python.member)
/* One of a code object, inside walk->identity. */
#define PYTHON_HEAD_AT(walk, member) \
	(xp_several ? ((walk)->layout.member - (walk)->layout.code_start) & PYTHON_OFFSET_MASK : xp_python.member - xp_python.code_start)

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
	__u64 at = python_word(walk, tstate + PYTHON(walk, tstate_frame));

	return PYTHON(walk, has_cframe) && at ? python_word(walk, at + PYTHON(walk, cframe_frame)) : at;
}

#endif
