/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython in the target: which build, where its runtime lies, what its frames say. Frames themselves are collected by the sampling
 * programs (wire/sample.h); here only immutable objects are read: code objects, names, line tables.
 */
#ifndef XP_ELF_PYTHON_H
#define XP_ELF_PYTHON_H

#include "target/target.h"
#include "wire/sample.h"

enum xp_python_status { XP_PYTHON_NOT_DETECTED, XP_PYTHON_INACTIVE, XP_PYTHON_ACTIVE, XP_PYTHON_UNSUPPORTED, XP_PYTHON_STATUS_COUNT };
extern const char *const xp_python_status_names[XP_PYTHON_STATUS_COUNT]; /* contract 10.8 */

struct xp_python;

/*
 * Looks for an interpreter in the target's mappings. Not there: 0 with status NOT_DETECTED. A build whose layout is not known (pre-release,
 * unknown version, failed self-check): 0 with status UNSUPPORTED and why. Touches nothing; reads memory by process_vm_readv.
 */
int xp_python_open(struct xp_target *target, struct xp_python **ret_python, struct xp_err *reterr);
void xp_python_free(struct xp_python *python);
XP_DEFINE_AUTO(struct xp_python *, xp_python_free);

enum xp_python_status xp_python_status(const struct xp_python *python);
const char *xp_python_version(const struct xp_python *python); /* "3.11.2"; NULL when not detected */
const char *xp_python_why(const struct xp_python *python);     /* of UNSUPPORTED; NULL otherwise */
/* For the BPF programs; layout->version 0 unless ACTIVE. */
const struct xp_python_layout *xp_python_layout(const struct xp_python *python);

/* One frame made readable; strings live as long as `python`. */
struct xp_python_frame {
	const char *qualname, *source_path;
	struct xp_opt_u32 line;
	bool shim;   /* a boundary between native evaluations (3.12+), not shown; has no names */
	bool entry;  /* last Python frame of its native evaluation (before 3.12) */
	bool hidden; /* the interpreter's own helper, as behind a specialised call of a class: not shown, no boundary */
};
/*
 * Makes the n frames of one stack readable, without a system call where their code objects are known. Cached by code object and
 * instruction; equal texts are the same pointer. A line is not set when the code object was freed before its lines were read. False: one is
 * not the code object any more that its frame was taken with, or none of a program's first 65,536 (the caller counts the stack's Python
 * part as torn).
 */
bool xp_python_frames_read(struct xp_python *python, const struct xp_rec_python_frame *frames, size_t n,
			   struct xp_python_frame *ret_frames);
bool xp_python_frame_read(struct xp_python *python, const struct xp_rec_python_frame *frame, struct xp_python_frame *ret_frame);
/*
 * True when this native function is the interpreter's evaluation loop, also its cold part and tail-call handlers. function_offset (file
 * offset of the start) finds a cold part without a name; symbol may be NULL.
 */
bool xp_python_is_eval(const struct xp_python *python, const char *symbol, const char *module_path, struct xp_opt_u64 function_offset);
/* True for a part of the loop that stands on top of it (3.14 compiled with tail calls: one function an instruction). */
bool xp_python_is_handler(const struct xp_python *python, const char *symbol, const char *module_path);
/* True for the interpreter's own call plumbing, which a mixed stack hides, and for what has no name in a stripped interpreter. */
bool xp_python_is_plumbing(const struct xp_python *python, const char *symbol, const char *module_path);
/* True for the garbage collector. In a stripped interpreter with markers it is found by its place; symbol may be NULL. */
bool xp_python_is_collector(const struct xp_python *python, const char *symbol, const char *module_path, struct xp_opt_u64 function_offset);
/*
 * Frames of a thread that is known not to run (blocked): read from outside, leaf first. The caller checks that the thread did not run
 * meanwhile. sp, its stack pointer, tells whose frames a sub-interpreter's are (up to 3.12); 0: not known. Returns the number of frames, at
 * most max.
 */
size_t xp_python_walk_blocked(struct xp_python *python, uint32_t tid, uint64_t sp, struct xp_rec_python_frame *ret_frames, size_t max);

#endif
