/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers that CUPTI fills: handed out on any thread by a lock-free stack, collected on any thread into a lock-free list, parsed on the
 * agent's thread alone. State: xp_agent.buffers.
 */
#include "agent/work.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WAKE_AT = 16 };

static uint8_t *buffer_at(uint32_t index)
{
	return xp_agent.buffers.memory + (size_t)index * AGENT_BUFFER_BYTES;
}

/* The upper half counts operations, so that a stack that came back to the same top is not taken for the old one. */
static void push_free(uint32_t index)
{
	struct buffers *buffers = &xp_agent.buffers;
	uint64_t top = __atomic_load_n(&buffers->free, __ATOMIC_RELAXED), new_top;

	do {
		__atomic_store_n(&buffers->next[index], (uint32_t)top, __ATOMIC_RELAXED);
		new_top = ((top >> 32) + 1) << 32 | (index + 1);
	} while (!__atomic_compare_exchange_n(&buffers->free, &top, new_top, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* Index + 1, or 0. */
static uint32_t pop_free(void)
{
	struct buffers *buffers = &xp_agent.buffers;
	uint64_t top = __atomic_load_n(&buffers->free, __ATOMIC_ACQUIRE), new_top;

	do {
		if (!(uint32_t)top)
			return 0;
		new_top = ((top >> 32) + 1) << 32 | __atomic_load_n(&buffers->next[(uint32_t)top - 1], __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(&buffers->free, &top, new_top, true, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE));
	return (uint32_t)top;
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
		push_free(i);
	return XP_AGENT_OK;
}

/* An empty pool answers with no buffer: CUPTI counts what it drops (safe from 12.9 on; older ones do not get here). */
void xp_agent_buffer_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	uint32_t index = xp_agent_is_live() ? pop_free() : 0;

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
	uint64_t top = __atomic_load_n(&buffers->done, __ATOMIC_RELAXED);

	if (!xp_agent_is_live() || !buffer || offset >= (size_t)AGENT_BUFFERS * AGENT_BUFFER_BYTES)
		return;
	buffers->valid[index] = (uint32_t)(valid < AGENT_BUFFER_BYTES ? valid : AGENT_BUFFER_BYTES);
	do {
		__atomic_store_n(&buffers->next[index], (uint32_t)top, __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(&buffers->done, &top, index + 1, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
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

/* The list is taken whole and turned round: records come in the order of completion. */
uint64_t xp_agent_buffers_read(void)
{
	struct buffers *buffers = &xp_agent.buffers;
	uint32_t list = (uint32_t)__atomic_exchange_n(&buffers->done, 0, __ATOMIC_ACQUIRE), turned = 0;
	uint64_t n = 0;

	while (list) {
		uint32_t next = __atomic_load_n(&buffers->next[list - 1], __ATOMIC_RELAXED);

		__atomic_store_n(&buffers->next[list - 1], turned, __ATOMIC_RELAXED);
		turned = list;
		list = next;
	}
	while (turned) {
		uint32_t next = __atomic_load_n(&buffers->next[turned - 1], __ATOMIC_RELAXED);

		__atomic_sub_fetch(&buffers->waiting, 1, __ATOMIC_RELAXED);
		n += parse(turned - 1);
		push_free(turned - 1);
		turned = next;
	}
	return n;
}
