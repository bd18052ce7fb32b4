/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers that CUPTI fills: handed out on any thread by a lock-free stack, collected on any thread into a lock-free list, parsed on the
 * agent's thread alone. State: xp_agent.buffers.
 */
#include "agent/work.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WAKE_AT = 16, SMALLEST_RECORD = 88 };

static uint8_t *buffer_at(uint32_t index)
{
	return xp_agent.buffers.memory + (size_t)index * AGENT_BUFFER_BYTES;
}

/* Every list: the upper half counts operations, so that a list that came back to the same top is not taken for the old one. */
static void push(uint64_t *list, uint32_t index)
{
	struct buffers *buffers = &xp_agent.buffers;
	uint64_t top = __atomic_load_n(list, __ATOMIC_RELAXED), new_top;

	do {
		__atomic_store_n(&buffers->next[index], (uint32_t)top, __ATOMIC_RELAXED);
		new_top = ((top >> 32) + 1) << 32 | (index + 1);
	} while (!__atomic_compare_exchange_n(list, &top, new_top, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* Index + 1, or 0. */
static uint32_t pop(uint64_t *list)
{
	struct buffers *buffers = &xp_agent.buffers;
	uint64_t top = __atomic_load_n(list, __ATOMIC_ACQUIRE), new_top;

	do {
		if (!(uint32_t)top)
			return 0;
		new_top = ((top >> 32) + 1) << 32 | __atomic_load_n(&buffers->next[(uint32_t)top - 1], __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(list, &top, new_top, true, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE));
	return (uint32_t)top;
}

/*
 * When CUPTI gets no buffer it crashes before 12.9, and takes memory of its own later (tens of megabytes a second). So one that is full and
 * not read yet is given again, and its records are lost.
 */
static uint32_t take_unread(void)
{
	struct buffers *buffers = &xp_agent.buffers;
	uint32_t index = pop(&buffers->done) ?: pop(&buffers->turned);

	if (!index)
		return 0;
	__atomic_sub_fetch(&buffers->waiting, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&buffers->lost_bytes, buffers->valid[index - 1], __ATOMIC_RELAXED);
	return index;
}

/* By the mean size of the records read so far: all kernels have one size. */
uint64_t xp_agent_buffers_lost(void)
{
	const struct buffers *buffers = &xp_agent.buffers;
	uint64_t bytes = __atomic_exchange_n(&xp_agent.buffers.lost_bytes, 0, __ATOMIC_RELAXED);

	if (!buffers->read)
		return (bytes + SMALLEST_RECORD - 1) / SMALLEST_RECORD;
	return (uint64_t)(((unsigned __int128)bytes * buffers->read + buffers->read_bytes / 2) / buffers->read_bytes);
}

uint64_t xp_agent_buffers_losses(void)
{
	return __atomic_load_n(&xp_agent.buffers.lost_bytes, __ATOMIC_RELAXED) +
	       __atomic_load_n(&xp_agent.buffers.refused, __ATOMIC_RELAXED);
}

void xp_agent_buffers_forget(void)
{
	size_t dropped;

	xp_agent_buffers_drop();
	xp_agent_buffers_lost();
	XP_AGENT_CALL(dropped(NULL, 0, &dropped));
}

/* The pool lives for ever: CUPTI may hold buffers of an earlier capture. */
int xp_agent_buffers_new(void)
{
	struct buffers *buffers = &xp_agent.buffers;

	if (buffers->memory)
		return XP_AGENT_OK;
	buffers->memory = xp_agent_map((size_t)AGENT_BUFFERS * AGENT_BUFFER_BYTES);
	if (!buffers->memory)
		return xp_agent_say(XP_AGENT_NO_MEMORY, "mmap", 0, "activity buffers");
	for (size_t i = 0; i < (size_t)AGENT_WARM_BUFFERS * AGENT_BUFFER_BYTES; i += 4096)
		((volatile uint8_t *)buffers->memory)[i] = 0;
	for (uint32_t i = AGENT_BUFFERS; i-- > 0;)
		push(&buffers->free, i);
	return XP_AGENT_OK;
}

/* Where CUPTI holds all buffers itself there is none to give: it counts what it drops. */
void xp_agent_buffer_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	bool live = xp_agent_is_live();
	uint32_t index = live ? pop(&xp_agent.buffers.free) : 0;

	if (live && !index)
		index = take_unread();

	*buffer = index ? buffer_at(index - 1) : NULL;
	*size = index ? AGENT_BUFFER_BYTES : 0;
	*max_records = 0;
	__atomic_fetch_add(index ? &xp_agent.buffers.requested : &xp_agent.buffers.refused, 1, __ATOMIC_RELAXED);
}

/* Full buffers that come before the next tick wake the agent, one call in many records. */
void xp_agent_buffer_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	struct buffers *buffers = &xp_agent.buffers;
	size_t offset = (size_t)(buffer - buffers->memory);
	uint32_t index = (uint32_t)(offset / AGENT_BUFFER_BYTES);

	if (!xp_agent_is_live() || !buffer || offset >= (size_t)AGENT_BUFFERS * AGENT_BUFFER_BYTES)
		return;
	buffers->valid[index] = (uint32_t)(valid < AGENT_BUFFER_BYTES ? valid : AGENT_BUFFER_BYTES);
	push(&buffers->done, index);
	if (__atomic_add_fetch(&buffers->waiting, 1, __ATOMIC_RELAXED) == WAKE_AT && !xp_agent_on_own_thread())
		syscall(SYS_futex, &xp_agent.control->word.sequence, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Marked once as a call into CUPTI, not once a record. */
static uint64_t parse(uint32_t index)
{
	uint8_t *record = NULL;
	uint64_t n = 0;

	__atomic_store_n(&xp_agent.in_cupti, true, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&xp_agent.exiting, __ATOMIC_SEQ_CST) &&
	       !xp_agent.cupti.next_record(buffer_at(index), xp_agent.buffers.valid[index], &record) && record) {
		xp_agent_record(record);
		n++;
	}
	__atomic_store_n(&xp_agent.in_cupti, false, __ATOMIC_SEQ_CST);
	return n;
}

/* The newest is taken first, so each pushed onto another list comes out in the order of completion. */
static void turn(void)
{
	struct buffers *buffers = &xp_agent.buffers;
	uint32_t index;

	while ((index = pop(&buffers->done)))
		push(&buffers->turned, index - 1);
}

uint64_t xp_agent_buffers_read(void)
{
	struct buffers *buffers = &xp_agent.buffers;
	uint64_t n = 0;
	uint32_t index;

	turn();
	while ((index = pop(&buffers->turned))) {
		__atomic_sub_fetch(&buffers->waiting, 1, __ATOMIC_RELAXED);
		n += parse(index - 1);
		buffers->read_bytes += buffers->valid[index - 1];
		push(&buffers->free, index - 1);
	}
	buffers->read += n;
	return n;
}

void xp_agent_buffers_drop(void)
{
	struct buffers *buffers = &xp_agent.buffers;
	uint32_t index;

	while ((index = pop(&buffers->done))) {
		__atomic_sub_fetch(&buffers->waiting, 1, __ATOMIC_RELAXED);
		push(&buffers->free, index - 1);
	}
}
