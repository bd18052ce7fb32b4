/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One stack out of its kernel, native and Python parts. Python frames stand where the interpreter evaluated them, its call plumbing is
 * left out, other native frames (C extensions) stay in place.
 */
#ifndef XP_INVENTORY_STACK_MERGE_H
#define XP_INVENTORY_STACK_MERGE_H

#include "elf/unwind.h"
#include "inventory/stack.h"

/* Leaf first, each part; n 0: there is none. A torn Python part is passed as none: the native frames then stay as they are. */
struct xp_stack_parts {
	const struct xp_symbolized *kernel, *native;
	size_t n_kernel, n_native;
	enum xp_unwind_end end;		      /* of the native part */
	const struct xp_python_frame *python; /* by xp_python_frames_read */
	size_t n_python;
	bool python_deep; /* its outermost frames are missing (XP_PYTHON_DEEP) */
};

/* One native or kernel address as a frame; borrows its texts. */
struct xp_frame xp_frame_of_native(const struct xp_symbolized *native);
struct xp_frame xp_frame_of_python(const struct xp_python_frame *python);

/* `python` may be NULL when n_python is 0. Borrows all texts. Returns the number of frames, at most max; *ret_cut: there were more. */
size_t xp_stack_merge(const struct xp_python *python, const struct xp_stack_parts *parts, struct xp_frame *ret_frames, size_t max,
		      bool *ret_cut);

#endif
