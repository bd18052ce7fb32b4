/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges on application threads: which filters want them, which end belongs to which beginning. No allocation, no lock, no system call, no
 * thread-local storage (its first use in a thread allocates). In: messages of nvtx_hooks.c. Out: ring records, counters.
 */
#include "agent/nvtx.h"
#include "agent/ring.h"
#include "agent/shard.h"
#include "agent/work.h"

#include <sched.h>
#include <string.h>

enum { MOST_PROBES = 64, MOST_TRIES = 8, DRAIN_MS = 500, YIELDS = 100, THREAD_RANGE = 1, PROCESS_RANGE = 2 };
#define RANGE_MARK 0x5850ull /* in the upper bits of an id: one of ours */

static void unplaced(void)
{
	__atomic_fetch_add(&xp_agent.nvtx.unplaced, 1, __ATOMIC_RELAXED);
}

static struct nvtx_thread *thread_at(uintptr_t self)
{
	uint64_t h = self * 0x9e3779b97f4a7c15ull >> 40;

	for (unsigned i = 0; i < MOST_PROBES; i++) {
		struct nvtx_thread *thread = &xp_agent.nvtx.threads[(h + i) % NVTX_THREADS];
		uintptr_t owner = __atomic_load_n(&thread->owner, __ATOMIC_RELAXED);

		if (!owner && __atomic_compare_exchange_n(&thread->owner, &owner, self, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			/* A call that began in an earlier capture may have taken a place that was cleared since: then there is one too
			 * many. */
			uint32_t n = __atomic_fetch_add(&xp_agent.nvtx.n_used, 1, __ATOMIC_RELAXED);

			if (n < NVTX_THREADS)
				xp_agent.nvtx.used[n] = (uint16_t)((h + i) % NVTX_THREADS);
			return thread;
		}
		if (owner == self)
			return thread;
	}
	unplaced();
	return NULL;
}

/*
 * NULL: no capture runs, or this very call interrupts another one (a signal handler). `busy` is set before the capture is looked at again,
 * so that a stop that has seen it clear knows that nothing is written any more.
 */
static struct nvtx_thread *enter(void)
{
	struct nvtx *nvtx = &xp_agent.nvtx;
	struct nvtx_thread *thread;
	uint64_t generation;
	uint32_t tid;

	if (!xp_agent_is_live())
		return NULL;
	generation = __atomic_load_n(&nvtx->generation, __ATOMIC_ACQUIRE);
	if (!generation || __atomic_load_n(&xp_agent.exiting, __ATOMIC_RELAXED))
		return NULL;
	thread = thread_at((uintptr_t)xp_agent_self());
	if (!thread || __atomic_exchange_n(&thread->busy, 1, __ATOMIC_SEQ_CST))
		return NULL;
	if (__atomic_load_n(&nvtx->generation, __ATOMIC_SEQ_CST) != generation) {
		__atomic_store_n(&thread->busy, 0, __ATOMIC_RELEASE);
		return NULL;
	}
	tid = xp_agent_tid();
	thread->calls++;
	/* Another thread may have lived at this address. */
	if (thread->generation != generation || thread->tid != tid) {
		thread->generation = generation;
		thread->tid = tid;
		thread->depth = 0;
		thread->over = 0;
	}
	return thread;
}

static void leave(struct nvtx_thread *thread)
{
	__atomic_store_n(&thread->busy, 0, __ATOMIC_RELEASE);
}

static uint8_t bits_of(const struct nvtx_message *message)
{
	const struct xp_agent_request *request = &xp_agent.request;
	uint8_t wanted = xp_agent.nvtx.start_bits | xp_agent.nvtx.end_bits, bits = 0;

	if (!message->text) {
		__atomic_fetch_add(&xp_agent.nvtx.unnamed, 1, __ATOMIC_RELAXED);
		return 0;
	}
	for (unsigned i = 0; i < request->n_filters; i++)
		if (wanted >> i & 1) {
			uint8_t same = xp_agent.nvtx.same_as[i];
			bool accepts = same < i ? bits >> same & 1 : xp_agent_accepts(&request->filters[i], message->text, message->length);

			bits |= (uint8_t)(accepts << i);
		}
	return bits;
}

static uint32_t name_of_domain(uint32_t domain)
{
	const struct nvtx *nvtx = &xp_agent.nvtx;
	const struct xp_agent_nvtx_text *text = &nvtx->domains.at[domain - 1];
	const struct nvtx_message name = { .text = text->text, .length = text->length, .complete = text->ready == 1 };

	return xp_agent_nvtx_text(&nvtx->names, &name);
}

/* Written where it stays: building it elsewhere and copying it costs as much again. */
static void put_record(struct shard *shard, const struct nvtx_frame *frame, uint32_t kind, uint8_t bits, uint64_t now_ns, uint64_t id,
		       uint32_t range_kind, uint32_t tid, uint32_t start_tid)
{
	uint32_t domain = frame->domain && frame->domain <= NVTX_DOMAINS ? name_of_domain(frame->domain) : 0;
	uint64_t position;
	struct xp_agent_slot *slot = xp_agent_ring_reserve(&position);

	if (!slot) {
		xp_agent_count(shard, &shard->dropped);
		return;
	}
	slot->event = (struct xp_capture_event){
		.t_ns = now_ns,
		.kind = kind,
		.pid = xp_agent.pid,
		.tid = tid,
		.device = XP_CAPTURE_UNKNOWN_ID,
		.context = XP_CAPTURE_UNKNOWN_ID,
		.stream = XP_CAPTURE_UNKNOWN_ID,
		.correlation = XP_CAPTURE_UNKNOWN_ID,
		.grid = { (uint32_t)id, (uint32_t)(id >> 32), range_kind },
		.block = { start_tid, frame->complete },
		.runtime_correlation = XP_CAPTURE_UNKNOWN_ID,
	};
	slot->name = frame->name;
	slot->flags = 0;
	slot->graph = domain;
	slot->src_memory = bits;
	slot->dst_memory = 0;
	slot->graph_node = 0;
	xp_agent_ring_commit(slot, position);
}

/* A frame for a range that begins; its record, when the window is open and a filter wants it. */
static void begin(struct nvtx_frame *frame, uint32_t domain, const struct nvtx_message *message, uint32_t tid, uint64_t id,
		  uint32_t range_kind)
{
	const struct nvtx *nvtx = &xp_agent.nvtx;
	struct shard *shard;
	uint64_t now_ns;

	frame->bits = bits_of(message);
	frame->domain = (uint16_t)domain;
	frame->name = 0;
	frame->inside = false;
	if (!frame->bits)
		return;
	frame->name = xp_agent_nvtx_text(&nvtx->names, message);
	frame->complete = frame->name && message->complete && message->length < XP_AGENT_NVTX_TEXT;
	if (!frame->name)
		unplaced();
	shard = xp_agent_shard();
	now_ns = xp_agent_thread_now(shard);
	frame->inside = xp_agent_in_window(now_ns);
	if (frame->inside && frame->bits & nvtx->start_bits)
		put_record(shard, frame, XP_CAPTURE_NVTX_START, frame->bits & nvtx->start_bits, now_ns, id, range_kind, tid, tid);
}

static void finish(const struct nvtx_frame *frame, uint32_t tid, uint32_t start_tid, uint64_t id, uint32_t range_kind)
{
	uint8_t bits = frame->bits & xp_agent.nvtx.end_bits;
	struct shard *shard;
	uint64_t now_ns;

	if (!bits)
		return;
	shard = xp_agent_shard();
	now_ns = xp_agent_thread_now(shard);
	if (!xp_agent_in_window(now_ns))
		return;
	if (frame->inside)
		put_record(shard, frame, XP_CAPTURE_NVTX_END, bits, now_ns, id, range_kind, tid, start_tid);
	else
		xp_agent_count(shard, &shard->late_exits);
}

/* Contract 9: made of thread and nesting level; each domain nests by itself. */
static uint64_t thread_range_id(uint32_t tid, const struct nvtx_frame *frame)
{
	return (uint64_t)tid << 32 | (uint32_t)frame->domain << 16 | frame->level;
}

void xp_agent_nvtx_push(uint32_t domain, const struct nvtx_message *message)
{
	struct nvtx_thread *thread = enter();
	struct nvtx_frame *frame;

	if (!thread)
		return;
	if (thread->depth == NVTX_DEPTH) {
		thread->over++;
		unplaced();
		return leave(thread);
	}
	frame = &thread->frames[thread->depth];
	frame->level = 0;
	for (uint32_t i = 0; i < thread->depth; i++)
		frame->level += thread->frames[i].domain == domain;
	frame->domain = (uint16_t)domain;
	begin(frame, domain, message, thread->tid, thread_range_id(thread->tid, frame), THREAD_RANGE);
	thread->depth++;
	leave(thread);
}

/* Pops without a push, as those of ranges that were open when the capture began, are not ours. */
void xp_agent_nvtx_pop(uint32_t domain)
{
	struct nvtx_thread *thread = enter();
	struct nvtx_frame *frame;
	uint32_t i;

	if (!thread)
		return;
	i = thread->depth;
	while (i && thread->frames[i - 1].domain != domain)
		i--;
	if (thread->over) {
		thread->over--;
	} else if (i) {
		frame = &thread->frames[i - 1];
		finish(frame, thread->tid, thread->tid, thread_range_id(thread->tid, frame), THREAD_RANGE);
		memmove(frame, frame + 1, (thread->depth - i) * sizeof(*frame));
		thread->depth--;
	}
	leave(thread);
}

/* A place whose last range has ended; ids of one capture are never given twice. */
static struct nvtx_range *place_range(uint64_t generation, uint64_t *ret_id)
{
	struct nvtx *nvtx = &xp_agent.nvtx;

	for (unsigned i = 0; i < MOST_TRIES; i++) {
		uint32_t n = (uint32_t)__atomic_add_fetch(&nvtx->next_range, 1, __ATOMIC_RELAXED);
		struct nvtx_range *range = &nvtx->ranges[n % NVTX_RANGES];
		uint64_t id = RANGE_MARK << 48 | (generation & 0xffff) << 32 | n, none = 0;

		if (__atomic_compare_exchange_n(&range->id, &none, id, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			*ret_id = id;
			return range;
		}
	}
	unplaced();
	return NULL;
}

uint64_t xp_agent_nvtx_start(uint32_t domain, const struct nvtx_message *message)
{
	struct nvtx_thread *thread = enter();
	struct nvtx_range *range;
	uint64_t id = 0;

	if (!thread)
		return 0;
	range = place_range(thread->generation, &id);
	if (range) {
		range->tid = thread->tid;
		begin(&range->frame, domain, message, thread->tid, id, PROCESS_RANGE);
		/* Nobody will ask for it: the place is free at once. */
		if (!range->frame.bits) {
			__atomic_store_n(&range->id, 0, __ATOMIC_RELEASE);
			id = 0;
		}
	}
	leave(thread);
	return id;
}

/* Ids of earlier captures, of other tools and of ranges that we did not follow find no place. */
void xp_agent_nvtx_end(uint64_t id)
{
	struct nvtx_thread *thread = id >> 48 == RANGE_MARK ? enter() : NULL;
	struct nvtx_range *range, held;
	uint64_t expected = id;

	if (!thread)
		return;
	range = &xp_agent.nvtx.ranges[(uint32_t)id % NVTX_RANGES];
	if (__atomic_load_n(&range->id, __ATOMIC_ACQUIRE) == id) {
		held = *range;
		if (__atomic_compare_exchange_n(&range->id, &expected, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			finish(&held.frame, thread->tid, held.tid, id, PROCESS_RANGE);
	}
	leave(thread);
}

static bool any_busy(void)
{
	const struct nvtx *nvtx = &xp_agent.nvtx;
	uint32_t n = __atomic_load_n(&nvtx->n_used, __ATOMIC_SEQ_CST);

	for (uint32_t i = 0; i < n; i++)
		if (__atomic_load_n(&nvtx->threads[nvtx->used[i]].busy, __ATOMIC_SEQ_CST))
			return true;
	return false;
}

uint64_t xp_agent_nvtx_calls(void)
{
	const struct nvtx *nvtx = &xp_agent.nvtx;
	uint32_t n = __atomic_load_n(&nvtx->n_used, __ATOMIC_ACQUIRE);
	uint64_t calls = 0;

	for (uint32_t i = 0; i < n; i++)
		calls += __atomic_load_n(&nvtx->threads[nvtx->used[i]].calls, __ATOMIC_RELAXED);
	return calls;
}

void xp_agent_nvtx_drain(void)
{
	for (unsigned i = 0; i < YIELDS && any_busy(); i++)
		sched_yield();
	for (unsigned waited = 0; waited < DRAIN_MS && any_busy(); waited++)
		xp_agent_sleep_ms(1);
}
