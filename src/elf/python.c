// SPDX-License-Identifier: Apache-2.0
/* CPython in a target. In: mappings and memory. Out: its release, its layout, or why it cannot be read. Owns struct xp_python. */
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "elf/python_priv.h"

enum { PLACES_MAX = 8 };

const char *const xp_python_status_names[XP_PYTHON_STATUS_COUNT] = {
	[XP_PYTHON_NOT_DETECTED] = "not_detected",
	[XP_PYTHON_INACTIVE] = "inactive",
	[XP_PYTHON_ACTIVE] = "active",
	[XP_PYTHON_UNSUPPORTED] = "unsupported",
};

bool xp_python_peek(const struct xp_python *python, uint64_t address, void *bytes, size_t size)
{
	struct iovec local = { bytes, size }, remote = { (void *)(uintptr_t)address, size };

	return process_vm_readv((pid_t)xp_target_pid(python->target), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

bool xp_python_peek_word(const struct xp_python *python, uint64_t address, uint64_t *ret_word)
{
	return xp_python_peek(python, address, ret_word, sizeof(*ret_word));
}

static struct xp_python_release release_of_hex(uint64_t hex)
{
	return (struct xp_python_release){ .major = hex >> 24 & 255,
					   .minor = hex >> 16 & 255,
					   .micro = hex >> 8 & 255,
					   .level = hex >> 4 & 15,
					   .serial = hex & 15,
					   .micro_known = true };
}

/* Py_Version, else the runtime's table of offsets, else what the file says. */
static struct xp_python_release read_release(const struct xp_python *python)
{
	uint64_t words[2];

	if (python->place.hex && xp_python_peek_word(python, python->place.hex, words) && words[0])
		return release_of_hex(words[0]);
	if (xp_python_peek(python, python->place.runtime, words, sizeof(words)) && !memcmp(words, "xdebugpy", 8))
		return release_of_hex(words[1]);
	return python->place.release;
}

/* Takes one file with a runtime for the interpreter and says what can be done with it. */
static void judge(struct xp_python *python, const struct xp_python_place *place)
{
	bool running = false;

	python->place = *place;
	python->code_type = place->code_type;
	python->status = XP_PYTHON_UNSUPPORTED;
	struct xp_python_release release = read_release(python);
	if (!release.minor) {
		python->why = xp_arena_fmt(python->arena, "a CPython of unknown release in %s", place->path);
		return;
	}
	python->version = xp_python_release_text(python->arena, &release);
	if (!xp_python_lay_out(python, &release) || !xp_python_check(python, &running))
		return;
	python->status = running ? XP_PYTHON_ACTIVE : XP_PYTHON_INACTIVE;
}

/* The first that runs counts; else one that cannot be read, which must be told, before one that is only loaded. */
static bool is_better(const struct xp_python *candidate, const struct xp_python *best)
{
	static const int rank[XP_PYTHON_STATUS_COUNT] = { [XP_PYTHON_INACTIVE] = 1, [XP_PYTHON_UNSUPPORTED] = 2, [XP_PYTHON_ACTIVE] = 3 };

	return rank[candidate->status] > rank[best->status];
}

static void choose(struct xp_python *python, const struct xp_python_place *places, size_t n)
{
	struct xp_python best = *python;

	for (size_t i = 0; i < n && best.status != XP_PYTHON_ACTIVE; i++) {
		struct xp_python candidate = *python;

		judge(&candidate, &places[i]);
		if (is_better(&candidate, &best))
			best = candidate;
	}
	*python = best;
	if (python->status != XP_PYTHON_ACTIVE)
		python->layout = (struct xp_python_layout){ 0 };
}

/* An interpreter without a runtime that could be found: older than 3.7, or its file cannot be opened. */
static void refuse_named(struct xp_python *python, const struct xp_python_release *named)
{
	python->status = XP_PYTHON_UNSUPPORTED;
	python->version = xp_python_release_text(python->arena, named);
	if (xp_python_lay_out(python, named))
		python->why =
			xp_arena_fmt(python->arena, "CPython %s: its runtime was not found, or its file cannot be opened", python->version);
	python->layout = (struct xp_python_layout){ 0 };
}

int xp_python_open(struct xp_target *target, struct xp_python **ret_python, struct xp_err *reterr)
{
	struct xp_python_place places[PLACES_MAX];
	struct xp_python_release named = { 0 };
	struct xp_arena *arena = xp_arena_new();
	struct xp_python *python = xp_arena_new_of(arena, struct xp_python);

	python->arena = arena;
	python->target = target;
	python->status = XP_PYTHON_NOT_DETECTED;
	size_t n = xp_python_find(target, arena, places, PLACES_MAX, &named);
	choose(python, places, n);
	if (!n && named.major)
		refuse_named(python, &named);
	*ret_python = python;
	return 0;
}

void xp_python_free(struct xp_python *python)
{
	if (!python)
		return;
	xp_map_done(&python->states);
	xp_map_done(&python->texts);
	xp_map_done(&python->codes);
	xp_map_done(&python->lines);
	xp_arena_free(python->arena);
}

enum xp_python_status xp_python_status(const struct xp_python *python)
{
	return python->status;
}

const char *xp_python_version(const struct xp_python *python)
{
	return python->version;
}

const char *xp_python_why(const struct xp_python *python)
{
	return python->status == XP_PYTHON_UNSUPPORTED ? python->why : NULL;
}

const struct xp_python_layout *xp_python_layout(const struct xp_python *python)
{
	return &python->layout;
}
