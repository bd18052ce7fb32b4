/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI's callbacks on application threads: API records and the table of launches. No allocation, no lock, no system call. In: one call's
 * entry or exit. Out: ring records, launch slots, counters in the thread's shard.
 */
#include "agent/ring.h"

#include <string.h>

#include "agent/shard.h"
#include "agent/work.h"

#include "src/event/api_name.h"

enum { STATE_BITS = 8, GENERATION_BITS = 24, LAUNCHES_AHEAD = 8 };
/* In a call's cell: an entry time, no mark; taken behind the stop mark. */
#define TIMED (1ull << 63)
#define TIMED_AFTER (1ull << 62)

static uint64_t launch_key(uint32_t correlation, uint64_t generation)
{
	return (uint64_t)correlation << 32 | (generation & ((1u << GENERATION_BITS) - 1)) << STATE_BITS;
}

static struct launch *slot_of(uint32_t correlation)
{
	return &xp_agent.launches[correlation % AGENT_LAUNCHES];
}

struct launch *xp_agent_launch(uint32_t correlation)
{
	struct launch *launch = slot_of(correlation);
	uint64_t key = __atomic_load_n(&launch->key, __ATOMIC_ACQUIRE);

	return key >> STATE_BITS == launch_key(correlation, xp_agent.generation) >> STATE_BITS ? launch : NULL;
}

/* Launches that returned and have no record; those into a stream that was being captured, in the window, apart. */
static uint64_t without_record(bool captured)
{
	uint64_t n = 0, mask = launch_key(0, UINT64_MAX), generation = launch_key(0, xp_agent.generation);

	for (unsigned i = 0; i < AGENT_LAUNCHES; i++) {
		const struct launch *launch = &xp_agent.launches[i];
		uint64_t key = __atomic_load_n(&launch->key, __ATOMIC_RELAXED);

		if ((key & mask) != generation || (key & (LAUNCH_RETURNED | LAUNCH_SEEN | LAUNCH_FAILED)) != LAUNCH_RETURNED)
			continue;
		n += captured ? (key & (LAUNCH_CAPTURED | LAUNCH_GRAPH)) == LAUNCH_CAPTURED && xp_agent_in_window(launch->entry_ns)
			      : !(key & LAUNCH_CAPTURED);
	}
	return n;
}

uint64_t xp_agent_unmatched(void)
{
	return without_record(false);
}

void xp_agent_launches_settled(void)
{
	xp_agent.captured_launches = without_record(true);
}

/* Launches before the window are noted too, since their kernels may run in it; only those inside it are counted and waited for. */
static void launch_enter(const struct capture_view *view, struct shard *shard, uint16_t want, const struct cupti_callback_data *data,
			 uint64_t now_ns, bool inside)
{
	struct launch *launch = slot_of(data->correlation_id);
	uint64_t key = launch_key(data->correlation_id, view->generation);
	__u64 first = 0;

	if (__atomic_load_n(&launch->key, __ATOMIC_RELAXED) >> STATE_BITS == key >> STATE_BITS)
		xp_agent_count(shard, &shard->duplicates);
	if (want & WANT_GRAPH)
		key |= LAUNCH_GRAPH | (view->graphs && xp_agent_known_exec(data) ? LAUNCH_KNOWN_EXEC : 0);
	if (__atomic_load_n(&xp_agent.stream_captures, __ATOMIC_RELAXED) > 0)
		key |= LAUNCH_CAPTURED;
	__atomic_store_n(&launch->entry_ns, now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&launch->key, key, __ATOMIC_RELEASE);
	xp_agent_fetch(slot_of(data->correlation_id + LAUNCHES_AHEAD));
	if (!inside)
		return;
	xp_agent_count(shard, want & WANT_GRAPH ? &shard->graph_launches : &shard->api_launches);
	if (!xp_agent.control->counters.first_launch_ns && !(key & LAUNCH_CAPTURED))
		__atomic_compare_exchange_n(&xp_agent.control->counters.first_launch_ns, &first, now_ns, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
}

/* A launch that returns after the kinds went off may have no record: it is not waited for. */
static void launch_exit(const struct capture_view *view, const struct cupti_callback_data *data)
{
	struct launch *launch = slot_of(data->correlation_id);
	uint64_t key = launch_key(data->correlation_id, view->generation);
	bool failed = data->result && *(const int *)data->result;

	if (__atomic_load_n(&launch->key, __ATOMIC_RELAXED) >> STATE_BITS != key >> STATE_BITS)
		return;
	if (failed)
		__atomic_fetch_or(&launch->key, LAUNCH_FAILED, __ATOMIC_RELAXED);
	else if (!__atomic_load_n(&view->no_launches, __ATOMIC_RELAXED))
		__atomic_fetch_or(&launch->key, LAUNCH_RETURNED, __ATOMIC_RELAXED);
}

/* Written where it stays: building it elsewhere and copying it costs as much again. */
static void put_record(const struct capture_view *view, struct shard *shard, uint32_t kind, uint32_t domain, uint32_t cbid,
		       const struct cupti_callback_data *data, uint64_t now_ns)
{
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
		.tid = xp_agent_tid(),
		.device = XP_CAPTURE_UNKNOWN_ID,
		/* No context is current in some calls. */
		.context = data->context ? data->context_uid : XP_CAPTURE_UNKNOWN_ID,
		.stream = XP_CAPTURE_UNKNOWN_ID,
		.correlation = data->correlation_id,
		.callback_domain = domain,
		.callback_id = cbid,
		.runtime_correlation = XP_CAPTURE_UNKNOWN_ID,
	};
	slot->name = view->api_name[domain - 1][cbid];
	slot->flags = XP_CAPTURE_NAME_COMPLETE;
	slot->graph = 0;
	slot->src_memory = 0;
	slot->dst_memory = 0;
	slot->graph_node = 0;
	xp_agent_ring_commit(slot, position);
}

static void on_entry(const struct capture_view *view, struct shard *shard, uint16_t want, uint64_t mark, uint32_t domain, uint32_t cbid,
		     const struct cupti_callback_data *data)
{
	uint64_t now_ns = xp_agent_thread_now(shard);
	bool inside = xp_agent_in_window(now_ns), stopping = __atomic_load_n(&view->no_launches, __ATOMIC_RELAXED);

	*data->correlation_data = inside ? mark : 0;
	if ((want & (WANT_LAUNCH | WANT_GRAPH)) == WANT_LAUNCH && !inside && (stopping || __atomic_load_n(&view->timing, __ATOMIC_RELAXED)))
		*data->correlation_data = xp_agent_now() | TIMED | (stopping ? TIMED_AFTER : 0);
	if (want & WANT_LAUNCH && !stopping)
		launch_enter(view, shard, want, data, now_ns, inside);
	if (inside && want & WANT_ENTRY)
		put_record(view, shard, XP_CAPTURE_API_ENTRY, domain, cbid, data, now_ns);
}

/*
 * Both ends lie on the same side of a capture of activities: a call that spans an edge tells nothing. Both sides have the kernel's clock,
 * whose price is in what they are compared by.
 */
static void note_time(const struct capture_view *view, uint64_t cell)
{
	bool after = cell & TIMED_AFTER;

	if (after || __atomic_load_n(&view->timing, __ATOMIC_RELAXED))
		xp_agent_residual_note(xp_agent_now() - (cell & ~(TIMED | TIMED_AFTER)), after);
}

/* The clock is read only where the exit itself is wanted: most calls are there to be counted. */
static void on_exit_of(const struct capture_view *view, struct shard *shard, uint16_t want, uint64_t mark, uint32_t domain, uint32_t cbid,
		       const struct cupti_callback_data *data)
{
	uint64_t now_ns = want & WANT_EXIT ? xp_agent_thread_now(shard) : 0;

	if (want & (WANT_INSTANTIATE | WANT_CAPTURE_BEGIN | WANT_CAPTURE_END))
		xp_agent_note_graph(want, data);
	if (*data->correlation_data & TIMED)
		note_time(view, *data->correlation_data);
	if (*data->correlation_data != mark) {
		if (now_ns && xp_agent_in_window(now_ns))
			xp_agent_count(shard, &shard->late_exits);
		return;
	}
	if (want & WANT_LAUNCH)
		launch_exit(view, data);
	if (now_ns && xp_agent_in_window(now_ns))
		put_record(view, shard, XP_CAPTURE_API_EXIT, domain, cbid, data, now_ns);
}

/*
 * The user data is the capture's generation: a callback that cuptiUnsubscribe overtook finds another one, or none. The call's own cell
 * carries a mark from entry to exit, so that an exit whose entry an earlier capture saw, or none, is not taken for one of ours.
 */
void xp_agent_callback(void *user, uint32_t domain, uint32_t cbid, const void *call)
{
	const struct cupti_callback_data *data = call;
	const struct capture_view *view = &xp_agent.view;
	struct shard *shard;
	uint64_t mark;
	uint16_t want;

	if (!xp_agent_is_live() || xp_agent_on_own_thread() || domain - 1 > 1 || cbid >= AGENT_CBIDS ||
	    (uint64_t)(uintptr_t)user != __atomic_load_n(&view->generation, __ATOMIC_ACQUIRE) || !user)
		return;
	want = view->want[domain - 1][cbid];
	mark = view->generation << 32 | domain << 16 | cbid;
	shard = xp_agent_shard();
	xp_agent_count(shard, &shard->callbacks);
	if (data->site == CUPTI_SITE_ENTER)
		on_entry(view, shard, want, mark, domain, cbid, data);
	else
		on_exit_of(view, shard, want, mark, domain, cbid, data);
}

/* Callbacks and ranges wrote what the ring holds beside activities. */
static uint64_t callback_records(const struct xp_agent_counters *counters)
{
	return xp_agent.exact ? __atomic_load_n(&xp_agent.control->head, __ATOMIC_RELAXED) - counters->activity_records : 0;
}

static struct shard sum_of_shards(void)
{
	struct shard sum = { 0 };

	for (unsigned i = 0; i < AGENT_SHARDS; i++) {
		const struct shard *shard = &xp_agent.shards[i];

		sum.callbacks += __atomic_load_n(&shard->callbacks, __ATOMIC_RELAXED);
		sum.api_launches += __atomic_load_n(&shard->api_launches, __ATOMIC_RELAXED);
		sum.graph_launches += __atomic_load_n(&shard->graph_launches, __ATOMIC_RELAXED);
		sum.dropped += __atomic_load_n(&shard->dropped, __ATOMIC_RELAXED);
		sum.late_exits += __atomic_load_n(&shard->late_exits, __ATOMIC_RELAXED);
		sum.duplicates += __atomic_load_n(&shard->duplicates, __ATOMIC_RELAXED);
	}
	return sum;
}

/* The lines belong to threads that may be inside a late callback, so they count on; a capture has what came on top. */
void xp_agent_shards_begin(void)
{
	xp_agent.before = sum_of_shards();
}

void xp_agent_sum_shards(struct xp_agent_counters *counters)
{
	const struct shard now = sum_of_shards(), *before = &xp_agent.before;

	counters->callbacks = now.callbacks - before->callbacks;
	counters->api_launches = now.api_launches - before->api_launches - xp_agent.captured_launches;
	counters->graph_launches = now.graph_launches - before->graph_launches;
	counters->callback_records = callback_records(counters);
	counters->callback_dropped = now.dropped - before->dropped;
	counters->late_exits = now.late_exits - before->late_exits;
	counters->duplicate_ids = now.duplicates - before->duplicates;
}
