// SPDX-License-Identifier: Apache-2.0
/* Which of CPython's thread states belongs to a thread. In: thread ids. Out: addresses. State: where the C library keeps ids. */
#include <stdio.h>
#include <stdlib.h>

#include "elf/python_priv.h"
#include "target/status.h"

enum { GLIBC_TID = 720, PTHREAD_BYTES = 2048, PTHREADS_MAX = 64, STATUS_BYTES = 8192 };

struct wanted {
	struct xp_python *python;
	uint32_t tid;	  /* as the target's own PID namespace numbers it */
	uint64_t sp;	  /* 0: not known */
	uint64_t pthread; /* of the thread, once a state tells it */
	uint64_t tstate;  /* 0: not found */
};

/* A thread has a state in each interpreter that it ran; the newest interpreter comes first, and one that evaluates nothing is left. */
static bool take_state(struct wanted *wanted, uint64_t tstate)
{
	bool evaluates = xp_python_first_frame(wanted->python, tstate);

	if (evaluates || !wanted->tstate)
		wanted->tstate = tstate;
	return !evaluates;
}

/* By the id that CPython keeps (native), or by the C library's. */
static bool state_tid(const struct xp_python *python, uint64_t tstate, bool native, uint32_t *ret_tid)
{
	uint64_t word;

	if (!xp_python_peek_word(python, tstate + (native ? python->layout.tstate_native_id : python->layout.tstate_thread_id), &word))
		return false;
	*ret_tid = (uint32_t)word;
	return native || xp_python_peek(python, word + python->pthread_tid, ret_tid, sizeof(*ret_tid));
}

static bool has_native_id(uint64_t interp, uint64_t tstate, void *arg)
{
	struct wanted *wanted = arg;
	uint32_t tid;

	return !state_tid(wanted->python, tstate, true, &tid) || tid != wanted->tid || take_state(wanted, tstate);
}

static bool has_pthread(uint64_t interp, uint64_t tstate, void *arg)
{
	struct wanted *wanted = arg;
	uint32_t tid;

	return !state_tid(wanted->python, tstate, false, &tid) || tid != wanted->tid || take_state(wanted, tstate);
}

/* The thread's number in its innermost PID namespace. */
static bool inner_tid(const struct xp_python *python, uint32_t tid, uint32_t *ret_tid)
{
	struct xp_process_status status;
	char path[40], text[STATUS_BYTES];

	snprintf(path, sizeof(path), "task/%u/status", tid);
	if (xp_target_read(python->target, path, text, sizeof(text)) <= 0 || !xp_status_parse(text, &status) || !status.n_ns_pid)
		return false;
	*ret_tid = status.ns_pid[status.n_ns_pid - 1];
	return true;
}

/* What is looked at to learn where an id stands behind a pthread id: the structs of some threads, and the ids that there are. */
struct study {
	struct xp_python *python;
	unsigned char (*structs)[PTHREAD_BYTES];
	uint64_t pthreads[PTHREADS_MAX];
	size_t n;
	uint32_t *tids;
	size_t n_tids;
};

/* A thread has a state in each interpreter that it ran. */
static bool add_struct(uint64_t interp, uint64_t tstate, void *arg)
{
	struct study *study = arg;
	uint64_t pthread;

	if (!xp_python_peek_word(study->python, tstate + study->python->layout.tstate_thread_id, &pthread))
		return true;
	for (size_t i = 0; i < study->n; i++)
		if (study->pthreads[i] == pthread)
			return true;
	study->pthreads[study->n] = pthread;
	study->n += xp_python_peek(study->python, pthread, study->structs[study->n], PTHREAD_BYTES);
	return study->n < PTHREADS_MAX;
}

static bool is_tid(const struct study *study, uint32_t value)
{
	for (size_t i = 0; i < study->n_tids; i++)
		if (value && study->tids[i] == value)
			return true;
	return false;
}

/* In each struct another thread's id stands there: small ids, as in a PID namespace, are found in many places. */
static bool holds_ids(const struct study *study, uint32_t at)
{
	uint32_t values[PTHREADS_MAX];

	for (size_t i = 0; i < study->n; i++) {
		memcpy(&values[i], study->structs[i] + at, sizeof(values[i]));
		for (size_t j = 0; j < i; j++)
			if (values[j] == values[i])
				return false;
		if (!is_tid(study, values[i]))
			return false;
	}
	return study->n;
}

/* glibc's place first, else anywhere in the struct. */
static bool learn_place(struct xp_python *python)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct study study = { .python = python, .structs = xp_arena_zalloc(arena, (size_t)PTHREADS_MAX * PTHREAD_BYTES) };
	xp_auto_err err = { 0 };

	if (xp_target_threads(python->target, arena, &study.tids, &study.n_tids, &err))
		return false;
	for (size_t i = 0; i < study.n_tids; i++)
		if (!inner_tid(python, study.tids[i], &study.tids[i]))
			study.tids[i] = 0; /* ended meanwhile; no thread has this id */
	xp_python_each_thread(python, add_struct, &study);
	for (uint32_t i = 0; i <= PTHREAD_BYTES / 4; i++) {
		python->pthread_tid = i ? (i - 1) * 4 : GLIBC_TID;
		if (holds_ids(&study, python->pthread_tid))
			return true;
	}
	return false;
}

/* Does the evaluation of this state lie on the thread's stack? Only the first thread's stack lies above its thread control block. */
static bool runs_on_stack(uint64_t interp, uint64_t tstate, void *arg)
{
	struct wanted *wanted = arg;
	uint64_t cframe;

	if (!xp_python_peek_word(wanted->python, tstate + wanted->python->layout.tstate_frame, &cframe) || cframe < wanted->sp ||
	    (wanted->pthread > wanted->sp && cframe > wanted->pthread))
		return true;
	return take_state(wanted, tstate);
}

/*
 * Up to 3.12, run_string of a sub-interpreter borrows the state of the thread that made the interpreter: ids tell the wrong thread. From
 * 3.11 on the state's _PyCFrame, a local of the evaluation loop, tells the right one. Before, the main interpreter's states alone do.
 */
static uint64_t look_by_stack(struct wanted *wanted, uint64_t tstate)
{
	const struct xp_python *python = wanted->python;

	wanted->tstate = 0;
	if (!wanted->sp || !xp_python_peek_word(python, tstate + python->layout.tstate_thread_id, &wanted->pthread))
		return 0;
	xp_python_each_thread(python, runs_on_stack, wanted);
	return wanted->tstate;
}

static bool knows_pthread(struct xp_python *python)
{
	if (!python->pthread_tried)
		python->pthread_known = learn_place(python);
	python->pthread_tried = true;
	return python->pthread_known;
}

static uint64_t look_by_id(struct wanted *wanted)
{
	struct xp_python *python = wanted->python;

	if (python->layout.tstate_native_id) {
		xp_python_each_thread(python, has_native_id, wanted);
		if (wanted->tstate)
			return wanted->tstate;
	}
	if (knows_pthread(python))
		xp_python_each_thread(python, has_pthread, wanted);
	return wanted->tstate;
}

/* 0: two states have this id. */
static bool index_state(uint64_t interp, uint64_t tstate, void *arg)
{
	struct xp_python *python = arg;
	uint32_t tid;
	bool new;

	if (!state_tid(python, tstate, python->layout.tstate_native_id, &tid))
		return true;
	uint64_t *place = xp_map_at(&python->states, tid, NULL, NULL, &new);
	if (place)
		*place = new ? tstate : 0;
	return true;
}

/* One walk for all threads, or thousands of them take a second. What is not in it is younger or ambiguous; what is may be gone. */
static uint64_t look_in_index(struct wanted *wanted)
{
	struct xp_python *python = wanted->python;
	bool native = python->layout.tstate_native_id;
	uint32_t tid;

	if (!native && !knows_pthread(python))
		return 0;
	if (!python->states.n)
		xp_python_each_thread(python, index_state, python);
	const uint64_t *found = xp_map_find(&python->states, wanted->tid, NULL, NULL);
	return found && *found && state_tid(python, *found, native, &tid) && tid == wanted->tid ? *found : 0;
}

/* The id that CPython keeps (3.11 and newer) is stale in a child that C code forked; the C library's is not. */
uint64_t xp_python_thread_state(struct xp_python *python, uint32_t tid, uint64_t sp)
{
	struct wanted wanted = { .python = python, .sp = sp };
	uint64_t first = 0, others = 0;

	if (!inner_tid(python, tid, &wanted.tid) ||
	    !xp_python_peek_word(python, python->layout.runtime + python->layout.interpreters_head, &first) || !first ||
	    !xp_python_peek_word(python, first + python->layout.interp_next, &others))
		return 0;
	uint64_t tstate = others ? 0 : look_in_index(&wanted);

	if (tstate || !look_by_id(&wanted) || !others || !python->layout.has_cframe)
		return tstate ? tstate : wanted.tstate;
	return look_by_stack(&wanted, wanted.tstate);
}
