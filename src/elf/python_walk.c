// SPDX-License-Identifier: Apache-2.0
/* Thread states and frames, read from outside. In: the layout. Out: frames of threads that do not run. State: where pthread keeps ids. */
#include <stdio.h>

#include "elf/python_priv.h"
#include "target/status.h"

enum { GLIBC_TID = 720, PTHREAD_BYTES = 2048, STATUS_BYTES = 8192 };

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* No further than the last member: memory may end behind the struct. */
uint32_t xp_python_frame_bytes(const struct xp_python_layout *layout)
{
	return larger(larger(larger(layout->frame_back, layout->frame_code), layout->frame_instr) + 8, layout->frame_owner + 1);
}

static uint64_t read_instr(const struct xp_python_layout *layout, const unsigned char *bytes)
{
	int32_t offset;
	uint64_t address;

	if (layout->instr_is_int) {
		memcpy(&offset, bytes + layout->frame_instr, sizeof(offset));
		return (uint64_t)(int64_t)offset;
	}
	memcpy(&address, bytes + layout->frame_instr, sizeof(address));
	return address;
}

bool xp_python_frame_peek(const struct xp_python *python, uint64_t address, struct xp_python_raw *ret_raw)
{
	const struct xp_python_layout *layout = &python->layout;
	unsigned char bytes[XP_PYTHON_FRAME_BYTES_MAX];
	uint64_t code;

	if (!xp_python_peek(python, address, bytes, xp_python_frame_bytes(layout)))
		return false;
	memcpy(&code, bytes + layout->frame_code, sizeof(code));
	memcpy(&ret_raw->back, bytes + layout->frame_back, sizeof(ret_raw->back));
	ret_raw->record.code = XP_PYTHON_CODE(code & ~(uint64_t)layout->code_tag_mask);
	if (layout->has_owner)
		ret_raw->record.code |= (uint64_t)bytes[layout->frame_owner] << 56;
	if (layout->frame_is_entry)
		ret_raw->record.code |= (uint64_t)(bytes[layout->frame_is_entry] & 1) << 48;
	ret_raw->record.instr = read_instr(layout, bytes);
	return true;
}

uint64_t xp_python_first_frame(const struct xp_python *python, uint64_t tstate)
{
	const struct xp_python_layout *layout = &python->layout;
	uint64_t at = 0;

	if (!xp_python_peek_word(python, tstate + layout->tstate_frame, &at) || !at || !layout->has_cframe)
		return at;
	return xp_python_peek_word(python, at + layout->cframe_frame, &at) ? at : 0;
}

static bool each_of(const struct xp_python *python, uint64_t interp, size_t *left, bool *ret_stopped,
		    bool (*fn)(uint64_t interp, uint64_t tstate, void *arg), void *arg)
{
	uint64_t tstate;

	if (!xp_python_peek_word(python, interp + python->layout.interp_threads_head, &tstate))
		return false;
	while (tstate) {
		if (!(*left)--)
			return false;
		if (!fn(interp, tstate, arg)) {
			*ret_stopped = true;
			return true;
		}
		if (!xp_python_peek_word(python, tstate + python->layout.tstate_next, &tstate))
			return false;
	}
	return true;
}

bool xp_python_each_thread(const struct xp_python *python, bool (*fn)(uint64_t interp, uint64_t tstate, void *arg), void *arg)
{
	size_t left = XP_PYTHON_THREADS_MAX;
	bool stopped = false;
	uint64_t interp;

	if (!xp_python_peek_word(python, python->layout.runtime + python->layout.interpreters_head, &interp))
		return false;
	for (size_t i = 0; interp; i++) {
		if (i == XP_PYTHON_INTERPRETERS_MAX || !each_of(python, interp, &left, &stopped, fn, arg))
			return false;
		if (stopped)
			return true;
		if (!xp_python_peek_word(python, interp + python->layout.interp_next, &interp))
			return false;
	}
	return true;
}

struct wanted {
	struct xp_python *python;
	uint32_t tid;	 /* as the target's own PID namespace numbers it */
	uint64_t tstate; /* 0: not found */
};

static bool has_native_id(uint64_t interp, uint64_t tstate, void *arg)
{
	struct wanted *wanted = arg;
	uint64_t id;

	if (xp_python_peek_word(wanted->python, tstate + wanted->python->layout.tstate_native_id, &id) && id == wanted->tid)
		wanted->tstate = tstate;
	return !wanted->tstate;
}

/* Where the id stands behind a pthread id: glibc's place first, else anywhere in the struct. */
static bool find_tid(const unsigned char *bytes, uint32_t tid, uint32_t *ret_at)
{
	for (uint32_t i = 0; i <= PTHREAD_BYTES / 4; i++) {
		uint32_t at = i ? (i - 1) * 4 : GLIBC_TID, value;

		memcpy(&value, bytes + at, sizeof(value));
		if (value != tid)
			continue;
		*ret_at = at;
		return true;
	}
	return false;
}

static bool has_pthread(uint64_t interp, uint64_t tstate, void *arg)
{
	struct wanted *wanted = arg;
	struct xp_python *python = wanted->python;
	unsigned char bytes[PTHREAD_BYTES];
	uint64_t pthread;
	uint32_t tid = 0;

	if (!xp_python_peek_word(python, tstate + python->layout.tstate_thread_id, &pthread))
		return true;
	if (python->pthread_known) {
		xp_python_peek(python, pthread + python->pthread_tid, &tid, sizeof(tid));
	} else if (xp_python_peek(python, pthread, bytes, sizeof(bytes)) && find_tid(bytes, wanted->tid, &python->pthread_tid)) {
		python->pthread_known = true;
		tid = wanted->tid;
	}
	if (tid == wanted->tid)
		wanted->tstate = tstate;
	return !wanted->tstate;
}

/* The thread's number in its innermost PID namespace; tid itself when that is ours. */
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

/* The id that CPython keeps is stale in a child that C code forked; the C library's is not. */
static uint64_t find_tstate(struct xp_python *python, uint32_t tid)
{
	struct wanted wanted = { .python = python };

	if (!inner_tid(python, tid, &wanted.tid))
		return 0;
	if (python->layout.tstate_native_id)
		xp_python_each_thread(python, has_native_id, &wanted);
	if (!wanted.tstate)
		xp_python_each_thread(python, has_pthread, &wanted);
	return wanted.tstate;
}

size_t xp_python_walk_blocked(struct xp_python *python, uint32_t tid, struct xp_rec_python_frame *ret_frames, size_t max)
{
	struct xp_python_raw raw;
	uint64_t tstate = python->status == XP_PYTHON_ACTIVE ? find_tstate(python, tid) : 0;
	uint64_t address = tstate ? xp_python_first_frame(python, tstate) : 0;
	size_t n = 0;

	while (address && n < max) {
		if (!xp_python_frame_peek(python, address, &raw))
			return 0;
		ret_frames[n++] = raw.record;
		address = raw.back;
	}
	return n;
}
