/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the perf rings. In: mmapped rings. Out: struct xp_rec_sample, thread names, counts of threads and losses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/perf_ring_priv.h"

#define LIST_EVERY_NS 100000000u /* where new threads are not inherited */

struct cursor {
	const uint8_t *at, *end;
};

static uint64_t take_u64(struct cursor *cursor)
{
	uint64_t value = 0;

	if ((size_t)(cursor->end - cursor->at) < sizeof(value)) {
		cursor->at = cursor->end;
		return 0;
	}
	memcpy(&value, cursor->at, sizeof(value));
	cursor->at += sizeof(value);
	return value;
}

/* Kernel addresses, leaf first; markers between the parts of a chain are "negative" numbers below 4,096 in size. */
static void take_chain(struct cursor *cursor, struct xp_rec_sample *sample, uint64_t *ret_frames)
{
	uint64_t n = take_u64(cursor);

	for (uint64_t i = 0; i < n && cursor->at < cursor->end; i++) {
		uint64_t address = take_u64(cursor);

		if (address < (uint64_t)PERF_CONTEXT_MAX && (int64_t)address < 0 && sample->n_kernel < XP_KERNEL_FRAMES_MAX)
			ret_frames[sample->n_kernel++] = address;
	}
}

static void take_stack(struct cursor *cursor, struct xp_rec_sample *sample, uint8_t *to)
{
	uint64_t size = take_u64(cursor);
	const uint8_t *bytes = cursor->at;

	if (!size || size > XP_STACK_COPY_MAX || size > (uint64_t)(cursor->end - cursor->at))
		return;
	cursor->at += size;
	uint64_t filled = take_u64(cursor);

	sample->stack_bytes = (uint32_t)(filled < size ? filled : size);
	memcpy(to, bytes, sample->stack_bytes);
	/* The kernel trims the request, so that a record keeps within its 64 KiB. */
	if (sample->stack_bytes && sample->stack_bytes == size)
		sample->flags |= XP_SAMPLE_STACK_SHORT;
}

/* Layout of PERF_RECORD_SAMPLE: linux/perf_event.h, in the order of the bits of sample_type. */
static size_t make_sample(struct xp_perf_ring *ring, const struct perf_event_header *header)
{
	struct cursor cursor = { .at = (const uint8_t *)(header + 1), .end = (const uint8_t *)header + header->size };
	struct xp_rec_sample *sample = (struct xp_rec_sample *)ring->sample;
	uint64_t ids = take_u64(&cursor), *frames = (uint64_t *)(sample + 1);

	*sample = (struct xp_rec_sample){ .kind = XP_SAMPLE_CPU, .pid = (uint32_t)ids, .tid = (uint32_t)(ids >> 32) };
	sample->t_ns = take_u64(&cursor);
	if ((header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
		sample->flags |= XP_SAMPLE_IN_KERNEL;
	if (ring->attr.sample_type & PERF_SAMPLE_CALLCHAIN)
		take_chain(&cursor, sample, frames);
	if (take_u64(&cursor) == PERF_SAMPLE_REGS_ABI_NONE) {
		sample->flags |= XP_SAMPLE_NO_USER;
	} else {
		sample->bp = take_u64(&cursor);
		sample->sp = take_u64(&cursor);
		sample->ip = take_u64(&cursor);
	}
	take_stack(&cursor, sample, (uint8_t *)(frames + sample->n_kernel));
	xp_perf_ring_know(ring, sample->tid, NULL);
	memcpy(sample->comm, xp_perf_ring_name(ring, sample->tid), strlen(xp_perf_ring_name(ring, sample->tid)) + 1);
	sample->size = (uint32_t)((sizeof(*sample) + sample->n_kernel * sizeof(*frames) + sample->stack_bytes + 7) & ~7ull);
	ring->samples++;
	ring->kernel += !!(sample->flags & XP_SAMPLE_IN_KERNEL);
	return sample->size;
}

/* PERF_RECORD_FORK and _EXIT: pid, ppid, tid, ptid. A thread begins with its maker's name. */
static void take_task(struct xp_perf_ring *ring, const struct perf_event_header *header)
{
	uint32_t ids[4] = { 0 };

	memcpy(ids, header + 1, sizeof(ids));
	if (header->type == PERF_RECORD_EXIT) {
		ring->ended += ids[0] == ring->pid;
		return;
	}
	if (ids[0] != ring->pid) {
		ring->children++;
		return;
	}
	ring->started++;
	if (!ring->listing && xp_perf_ring_know(ring, ids[2], xp_perf_ring_name(ring, ids[3]))) {
		ring->observed++;
		ring->attached++;
	}
}

/* PERF_RECORD_COMM: pid, tid, text. */
static void take_comm(struct xp_perf_ring *ring, const struct perf_event_header *header)
{
	uint32_t ids[2];
	char name[16] = "";
	size_t bytes = header->size - sizeof(*header) - sizeof(ids);

	memcpy(ids, header + 1, sizeof(ids));
	memcpy(name, (const uint8_t *)(header + 1) + sizeof(ids), bytes < sizeof(name) - 1 ? bytes : sizeof(name) - 1);
	if (ids[0] == ring->pid)
		xp_perf_ring_know(ring, ids[1], name);
}

static int take_record(struct xp_perf_ring *ring, const struct perf_event_header *header, int (*take)(void *, void *, size_t), void *arg)
{
	switch (header->type) {
	case PERF_RECORD_SAMPLE:
		return take(arg, ring->sample, make_sample(ring, header));
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		take_task(ring, header);
		return 0;
	case PERF_RECORD_COMM:
		take_comm(ring, header);
		return 0;
	case PERF_RECORD_LOST:
		ring->lost_records += ring->attr.read_format ? 0 : *((const uint64_t *)(header + 1) + 1);
		return 0;
	case PERF_RECORD_THROTTLE:
		ring->throttles++;
		return 0;
	default:
		return 0;
	}
}

/* Copies out of the ring, over its end where needed. */
static void copy_out(const uint8_t *data, size_t size, uint64_t from, void *to, size_t bytes)
{
	size_t at = from & (size - 1), first = bytes < size - at ? bytes : size - at;

	memcpy(to, data + at, first);
	memcpy((uint8_t *)to + first, data, bytes - first);
}

static int read_cpu(struct xp_perf_ring *ring, struct xp_perf_cpu *cpu, int (*take)(void *, void *, size_t), void *arg,
		    struct xp_err *reterr)
{
	const uint8_t *data = (const uint8_t *)cpu->page + cpu->page->data_offset;
	uint64_t head = __atomic_load_n(&cpu->page->data_head, __ATOMIC_ACQUIRE), tail = cpu->page->data_tail;
	struct perf_event_header header;
	int r = 0;

	while (tail < head && !r) {
		copy_out(data, cpu->page->data_size, tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			return xp_fail(reterr, XP_E_INTERNAL, "the sample ring of CPU %d holds a record of wrong size", cpu->cpu);
		copy_out(data, cpu->page->data_size, tail, ring->record, header.size);
		tail += header.size;
		r = take_record(ring, (const struct perf_event_header *)ring->record, take, arg);
		__atomic_store_n(&cpu->page->data_tail, tail, __ATOMIC_RELEASE);
	}
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int xp_perf_ring_read(struct xp_perf_ring *ring, int (*take)(void *arg, void *record, size_t size), void *arg, struct xp_err *reterr)
{
	uint64_t now = now_ns();
	int r = 0;

	if (ring->listing && ring->on && now - ring->listed_ns > LIST_EVERY_NS) {
		ring->listed_ns = now;
		r = xp_perf_ring_open_threads(ring, reterr);
	}
	for (size_t i = 0; i < ring->n_cpus && !r; i++)
		r = read_cpu(ring, &ring->cpus[i], take, arg, reterr);
	return r;
}
