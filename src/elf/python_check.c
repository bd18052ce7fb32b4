// SPDX-License-Identifier: Apache-2.0
/* Does a runtime in memory look as its layout says? In: struct xp_python with a layout. Out: yes, or why not. No state. */
#include "elf/python_priv.h"

/* Lists change while they are read, and frames are overwritten: a look that fails is repeated before the build is called strange. */
enum { LIST_TRIES = 5, CODE_TRIES = 32, CODE_THREADS = 64, SHIMS_MAX = 4 };

struct look {
	struct xp_python *python;
	size_t threads, codes, strange;
};

static bool belongs(uint64_t interp, uint64_t tstate, void *arg)
{
	struct look *look = arg;
	uint64_t owner;

	if (!xp_python_peek_word(look->python, tstate + look->python->objects.interp_of_tstate, &owner) || owner != interp) {
		look->strange++;
		return false;
	}
	look->threads++;
	return true;
}

/* The first frame of this thread that evaluates something: its code must be a code object. */
static bool evaluates_code(uint64_t interp, uint64_t tstate, void *arg)
{
	struct look *look = arg;
	struct xp_python_raw raw;
	uint64_t address = xp_python_first_frame(look->python, tstate);

	for (int i = 0; i < SHIMS_MAX && address; i++, address = raw.back) {
		if (!xp_python_frame_peek(look->python, address, &raw)) {
			look->strange++;
			break;
		}
		if (xp_python_is_shim(look->python, &raw.record))
			continue;
		if (xp_python_is_code(look->python, xp_python_code_of(&raw.record)))
			look->codes++;
		else
			look->strange++;
		break;
	}
	return !look->codes && ++look->threads < CODE_THREADS;
}

static bool lists_are_sane(struct xp_python *python)
{
	for (int try = 0; try < LIST_TRIES; try++) {
		struct look look = { .python = python };

		if (xp_python_each_thread(python, belongs, &look) && !look.strange && look.threads)
			return true; /* a runtime with an interpreter has at least the main thread's state */
	}
	return false;
}

/* A runtime whose threads evaluate nothing at all gives no evidence against the layout. */
static bool codes_are_sane(struct xp_python *python)
{
	size_t strange = 0;

	for (int try = 0; try < CODE_TRIES; try++) {
		struct look look = { .python = python };

		xp_python_each_thread(python, evaluates_code, &look);
		if (look.codes)
			return true;
		strange += look.strange;
	}
	return !strange;
}

static bool refuse(struct xp_python *python, const char *what)
{
	python->why = xp_arena_fmt(python->arena, "CPython %s in %s has %s of a layout that is not known; a patched or debug build",
				   python->version, python->place.path, what);
	return false;
}

bool xp_python_check(struct xp_python *python, bool *ret_running)
{
	uint64_t head;

	if (!xp_python_peek_word(python, python->place.runtime + python->layout.interpreters_head, &head)) {
		python->why = xp_arena_fmt(python->arena, "CPython %s: its memory cannot be read", python->version);
		return false;
	}
	if (head && !lists_are_sane(python))
		return refuse(python, "thread lists");
	if (head && !codes_are_sane(python))
		return refuse(python, "frames");
	*ret_running = head;
	return true;
}
