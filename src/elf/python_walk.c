// SPDX-License-Identifier: Apache-2.0
/* Thread states and frames, read from outside. In: the layout. Out: frames of threads that do not run. No state. */
#include "elf/python_identity.h"

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* No further than the last member: memory may end behind the struct. */
uint32_t xp_python_frame_bytes(const struct xp_python_layout *layout)
{
	return larger(larger(larger(layout->frame_back, layout->frame_code), layout->frame_instr) + 8, layout->frame_owner + 1);
}

static int32_t read_instr(const struct xp_python_layout *layout, const unsigned char *bytes, uint64_t code)
{
	int32_t offset;
	uint64_t address;

	if (layout->instr_is_int) {
		memcpy(&offset, bytes + layout->frame_instr, sizeof(offset));
		return offset;
	}
	memcpy(&address, bytes + layout->frame_instr, sizeof(address));
	return (int32_t)(address - code);
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
	ret_raw->record.instr = read_instr(layout, bytes, XP_PYTHON_CODE(ret_raw->record.code));
	ret_raw->record.mark = 0;
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
	uint64_t interp, next;

	if (!xp_python_peek_word(python, python->layout.runtime + python->layout.interpreters_head, &interp))
		return false;
	for (size_t i = 0; interp; i++) {
		if (i == XP_PYTHON_INTERPRETERS_MAX || !xp_python_peek_word(python, interp + python->layout.interp_next, &next))
			return false;
		/* Before 3.11 nothing tells who runs a sub-interpreter's code: the main interpreter, the last of the list, is all. */
		if ((python->layout.has_owner || !next) && !each_of(python, interp, &left, &stopped, fn, arg))
			return false;
		if (stopped)
			return true;
		interp = next;
	}
	return true;
}

/* Whose mark can't be taken is found torn when it is read. */
static void mark_frames(const struct xp_python *python, struct xp_rec_python_frame *frames, size_t n)
{
	uint64_t codes[XP_PYTHON_BATCH];
	uint32_t marks[XP_PYTHON_BATCH];
	size_t place[XP_PYTHON_BATCH], filled = 0;

	for (size_t i = 0; i < n; i++) {
		if (!xp_python_is_shim(python, &frames[i])) {
			place[filled] = i;
			codes[filled++] = xp_python_code_of(&frames[i]);
		}
		if (filled < XP_PYTHON_BATCH && i + 1 < n)
			continue;
		bool marked = xp_python_identify(python, codes, filled, marks);
		for (size_t k = 0; k < filled; k++)
			frames[place[k]].mark = marked ? marks[k] : 0;
		filled = 0;
	}
}

size_t xp_python_walk_blocked(struct xp_python *python, uint32_t tid, uint64_t sp, struct xp_rec_python_frame *ret_frames, size_t max)
{
	struct xp_python_raw raw;
	uint64_t tstate = python->status == XP_PYTHON_ACTIVE ? xp_python_thread_state(python, tid, sp) : 0;
	uint64_t address = tstate ? xp_python_first_frame(python, tstate) : 0;
	size_t n = 0;

	while (address && n < max) {
		if (!xp_python_frame_peek(python, address, &raw))
			return 0;
		ret_frames[n++] = raw.record;
		address = raw.back;
	}
	mark_frames(python, ret_frames, n);
	return n;
}
