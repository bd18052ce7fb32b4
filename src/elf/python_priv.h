/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of elf/python*.c: what is known of one interpreter, and reading its memory. */
#ifndef XP_ELF_PYTHON_PRIV_H
#define XP_ELF_PYTHON_PRIV_H

#include <string.h>

#include "base/hash.h"
#include "elf/image.h"
#include "elf/python.h"
#include "elf/python_lines.h"

enum {
	XP_PYTHON_INTERPRETERS_MAX = 64,
	XP_PYTHON_THREADS_MAX = 4096,
	XP_PYTHON_CODES_MAX = 65536,
	XP_PYTHON_COLD_MAX = 16,
	XP_PYTHON_COLLECTORS_MAX = 4,
	XP_PYTHON_CODE_BYTES_MAX = 256, /* head of a code object, as far as it is read */
	XP_PYTHON_FRAME_BYTES_MAX = 128,
	XP_PYTHON_SHIM_OWNER = 3, /* first owner byte of a C-stack shim, 3.12 and newer */
};

/* Byte offsets that only reading code objects and checking the runtime need. */
struct xp_python_objects {
	uint32_t object_type, type_name;
	uint32_t interp_of_tstate;
	uint32_t file, name, qualname;	      /* in a code object; qualname 0: it has none (before 3.11) */
	uint32_t first_line, lines, bytecode; /* bytecode 0: instructions are told as offsets already (before 3.11) */
	uint32_t bytes_size, bytes_data;
	uint32_t text_length, text_state, text_ascii, text_compact; /* the last two: where characters begin */
	enum xp_python_lines line_format;
};

/* A release level as in PY_VERSION_HEX; minor 0: not known. */
struct xp_python_release {
	uint32_t major, minor, micro;
	uint32_t level, serial; /* 0xa, 0xb, 0xc, final 0xf */
	bool micro_known;
};

/* A mapped file that has a runtime. */
struct xp_python_place {
	const char *path;
	uint64_t runtime, code_type, hex;  /* run-time addresses of _PyRuntime, PyCode_Type and Py_Version; 0: no such symbol */
	struct xp_python_release release;  /* by file name or text; Py_Version and the debug offsets say it better */
	uint64_t cold[XP_PYTHON_COLD_MAX]; /* file offsets of the evaluation loop's parts outside its symbol */
	size_t n_cold;
	uint64_t collectors[XP_PYTHON_COLLECTORS_MAX]; /* file offsets of the functions around the markers of its garbage collector */
	size_t n_collectors;
	bool tail_calls; /* the loop is one function an instruction (3.14) */
};

struct xp_python {
	struct xp_target *target; /* borrowed */
	struct xp_arena *arena;
	enum xp_python_status status;
	const char *version, *why;
	struct xp_python_place place;
	struct xp_python_layout layout;
	struct xp_python_objects objects;
	uint64_t code_type; /* 0: not seen yet */
	bool pthread_tried, pthread_known;
	uint32_t pthread_tid; /* where the C library keeps the thread id behind a pthread id */
	struct xp_map states; /* by thread id -> thread state, when there was one interpreter */
	struct xp_map texts;  /* by hash -> const char *, each text once */
	struct xp_map codes;  /* by address and mark -> struct code * of python_code.c */
	struct xp_map lines;  /* by code and instruction */
	uint32_t n_codes;
	size_t table_bytes; /* of line tables that are kept */
};

/* One frame as it stands in the target's memory. */
struct xp_python_raw {
	struct xp_rec_python_frame record;
	uint64_t back;
};

/* Whole range or false. */
bool xp_python_peek(const struct xp_python *python, uint64_t address, void *bytes, size_t size);
bool xp_python_peek_word(const struct xp_python *python, uint64_t address, uint64_t *ret_word);
/* python_find.c: fills at most `max` places with a runtime, programs first. *ret_named: an interpreter without one (2.7, 3.6). */
size_t xp_python_find(struct xp_target *target, struct xp_arena *arena, struct xp_python_place *ret_places, size_t max,
		      struct xp_python_release *ret_named);
/* python_layout.c: by release, from 3.13 on by the runtime's own table. False: python->why says what is not known. */
bool xp_python_lay_out(struct xp_python *python, const struct xp_python_release *release);
/* python_find.c, for texts: "3.14.0a3". */
const char *xp_python_release_text(struct xp_arena *arena, const struct xp_python_release *release);
/* How it was compiled: the evaluation loop (python_eval.c), the garbage collector by its markers (python_gc.c). */
void xp_python_eval_shape(struct xp_elf *elf, struct xp_python_place *place);
void xp_python_gc_shape(struct xp_elf *elf, struct xp_arena *arena, struct xp_python_place *place);
bool xp_python_is_its_file(const struct xp_python *python, const char *module_path);
/* python_check.c: does memory look as the layout says? *ret_running: the runtime has interpreters. False: python->why. */
bool xp_python_check(struct xp_python *python, bool *ret_running);
/* Bytes from the start of the struct to the last member that is read. */
uint32_t xp_python_code_bytes(const struct xp_python_objects *objects);
/* python_walk.c */
uint32_t xp_python_frame_bytes(const struct xp_python_layout *layout);
uint64_t xp_python_first_frame(const struct xp_python *python, uint64_t tstate);
bool xp_python_frame_peek(const struct xp_python *python, uint64_t address, struct xp_python_raw *ret_raw);
/* Calls `fn` for each thread state until it returns false; false when a list is damaged or longer than its bound. */
bool xp_python_each_thread(const struct xp_python *python, bool (*fn)(uint64_t interp, uint64_t tstate, void *arg), void *arg);
/* python_threads.c: the state of a thread, by its id as xprobe sees it; 0: it has none, or no way leads there. */
uint64_t xp_python_thread_state(struct xp_python *python, uint32_t tid, uint64_t sp);
/* python_code.c: by its type, which is learned from the type's name when the file exports none. */
bool xp_python_is_code(struct xp_python *python, uint64_t address);
/* python_text.c: a str object as UTF-8, at most max_chars characters, each text once; NULL: it is none. */
const char *xp_python_text(struct xp_python *python, uint64_t object, size_t max_chars);

/* The words of a record (wire/sample.h). */
static inline uint64_t xp_python_code_of(const struct xp_rec_python_frame *frame)
{
	return XP_PYTHON_CODE(frame->code);
}
static inline bool xp_python_is_shim(const struct xp_python *python, const struct xp_rec_python_frame *frame)
{
	return python->layout.version >= 0x030c && XP_PYTHON_OWNER(frame->code) >= XP_PYTHON_SHIM_OWNER;
}

#endif
