/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stack samples that bpf/sample.bpf.c and bpf/sched.bpf.c write into their rings (engine/perf_ring.c makes the same ones where there is
 * no BPF), what they count, and the CPython layout that they are given.
 */
#ifndef XP_WIRE_SAMPLE_H
#define XP_WIRE_SAMPLE_H

#include "wire/wire.h"

#define XP_STACK_COPY_MAX 16384 /* bytes of user stack copied from sp upwards */
#define XP_KERNEL_FRAMES_MAX 127
#define XP_PYTHON_FRAMES_MAX 512 /* frames walked in one sample */

#define XP_SAMPLE_CPU 1	  /* the thread was running */
#define XP_SAMPLE_BLOCK 2 /* the thread has just ended a long blocking system call */

#define XP_SAMPLE_IN_KERNEL 1	/* interrupted in the kernel: n_kernel frames lie on top of the user stack */
#define XP_SAMPLE_NO_USER 2	/* no user registers (kernel thread, exiting) */
#define XP_SAMPLE_STACK_SHORT 4 /* the copy is as long as it may be: more of the stack may lie above it */
#define XP_SAMPLE_KERNEL_LOST 8 /* the kernel stack could not be taken */
#define XP_SAMPLE_IN_CALL 16	/* CPU: interrupted on behalf of system call nr of the 64-bit table */
/* How the walk of the interpreter's frames ended. */
#define XP_PYTHON_NONE 0 /* not asked for, or this thread runs no Python code */
#define XP_PYTHON_WHOLE 1
#define XP_PYTHON_DEEP 2 /* XP_PYTHON_FRAMES_MAX reached */
#define XP_PYTHON_TORN 3 /* a read failed half way: the frames are not kept */

/*
 * Head of a sample; behind it, in this order: n_kernel u64 kernel addresses (leaf first), n_python struct xp_rec_python_frame (leaf
 * first), stack_bytes bytes copied from sp upwards. size counts all of it, padded to 8.
 */
struct xp_rec_sample {
	__u32 size;
	__u8 kind;	  /* XP_SAMPLE_CPU or _BLOCK */
	__u8 flags;	  /* XP_SAMPLE_* bits */
	__u8 python;	  /* XP_PYTHON_* */
	__u8 where;	  /* BLOCK: XP_BLOCK_* of wire/sched.h */
	__u64 t_ns;	  /* CLOCK_MONOTONIC */
	__u32 pid, tid;	  /* as the tool sees them */
	__u64 ip, sp, bp; /* user registers */
	__u16 n_kernel, n_python;
	__u32 stack_bytes;
	__u64 block_ns; /* BLOCK: how long the thread was off the CPU in this call */
	__u32 nr;	/* BLOCK, and with XP_SAMPLE_IN_CALL: system call number */
	__u32 compat;	/* BLOCK: the number is of the 32-bit table */
	char comm[16];
};
XP_WIRE_SIZE(struct xp_rec_sample, 88);

#define XP_PYTHON_CODE(word) ((word)&0xffffffffffffull)
#define XP_PYTHON_OWNER(word) ((word) >> 56)	    /* the frame's owner byte; 0 before 3.11 */
#define XP_PYTHON_IS_ENTRY(word) ((word) >> 48 & 1) /* 3.11: last frame of its native evaluation */

/* One interpreter frame as found in the interrupted thread. What the words mean depends on the layout's version. */
struct xp_rec_python_frame {
	__u64 code;  /* address of the code object in bits 0-47; XP_PYTHON_OWNER, XP_PYTHON_IS_ENTRY of the rest */
	__s32 instr; /* f_lasti (3.8-3.10), or the distance of prev_instr / instr_ptr from the code object's address */
	__u32 mark;  /* xp_python_mark of the code object */
};
XP_WIRE_SIZE(struct xp_rec_python_frame, 16);

/* What tells a code object from another one that takes its place in memory later. None of it changes while the object lives. */
#define XP_PYTHON_HEAD_MAX 96
struct xp_python_identity {
	__u64 head[XP_PYTHON_HEAD_MAX / 8]; /* its members from code_start on, zeros behind code_bytes */
	__u64 name[3], file[3];		    /* of these texts: length, hash, last 8 bytes */
};
XP_WIRE_SIZE(struct xp_python_identity, 144);
static inline __attribute__((always_inline)) __u32 xp_python_mark(const struct xp_python_identity *identity)
{
	const __u64 *words = (const __u64 *)identity;
	__u64 mark = 0;

	for (unsigned i = 0; i < sizeof(*identity) / sizeof(*words); i++) {
		mark = (mark ^ words[i]) * 0x9e3779b97f4a7c15ull;
		mark ^= mark >> 29;
	}
	return mark >> 32;
}

/* One CPU's counters. emitted = records in the ring + ring_full + filtered. */
struct xp_rec_sample_counts {
	__u64 ticks;   /* times that a clock of ours ran here while samples were wanted, also beside the target */
	__u64 emitted; /* of them in the target */
	__u64 ring_full;
	__u64 filtered; /* the thread's name is known not to be wanted */
	__u64 kernel;	/* emitted ones that interrupted the kernel */
	__u64 torn;	/* records whose Python frames were given up (XP_PYTHON_TORN) */
};
XP_WIRE_SIZE(struct xp_rec_sample_counts, 48);

/*
 * Byte offsets inside CPython's structs for one build, filled by src/elf/python_layout.c, read by the BPF walk, which finds a thread's
 * state by its pthread id = FS base, in every version. 0 in tstate_native_id: the build has none (before 3.11).
 */
struct xp_python_layout {
	__u32 version; /* 0x030b for 3.11; 0: no Python, do not walk */
	__u32 free_threaded;
	__u64 runtime;		 /* run-time address of _PyRuntime */
	__u32 interpreters_head; /* in _PyRuntime */
	__u32 interp_next, interp_threads_head;
	__u32 tstate_next, tstate_frame; /* frame: PyFrameObject*, _PyCFrame* or _PyInterpreterFrame*, see cframe_frame */
	__u32 tstate_thread_id, tstate_native_id;
	__u32 cframe_frame; /* offset of current_frame in _PyCFrame */
	__u32 has_cframe;   /* 3.11 and 3.12: tstate_frame leads to a _PyCFrame */
	__u32 frame_back, frame_code, frame_instr, frame_owner;
	__u32 instr_is_int;	      /* frame_instr is an i32 f_lasti */
	__u32 has_owner;	      /* 3.11+ (3.11: is_entry in bit 0 at frame_is_entry too) */
	__u32 frame_is_entry;	      /* 3.11 only, else 0 */
	__u32 code_tag_mask;	      /* 3.14: low bits of f_executable to clear */
	__u32 code_start, code_bytes; /* what struct xp_python_identity holds of a code object: from its first line to its line table */
	__u32 code_name, code_file;   /* in between: the qualified name where there is one (3.11), the path */
	__u32 text_length, text_data; /* in a str object: its length, behind it the hash; the first character if all are ASCII */
	__u32 has_is_entry;	      /* frame_is_entry is one */
};
XP_WIRE_SIZE(struct xp_python_layout, 112);

#endif
