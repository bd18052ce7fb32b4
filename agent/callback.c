/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI's callbacks on application threads: API records and the table of launches. No allocation, no lock, no system call. In: one call's
 * entry or exit. Out: ring records, launch slots, counters in the thread's shard.
 */
#include "agent/work.h"

#include <string.h>

#include "src/event/api_name.h"

enum { STATE_BITS = 8, GENERATION_BITS = 24 };

static struct shard *my_shard(void)
{
	/* Thread blocks lie a stack apart, so neighbours differ in these bits. */
	return &xp_agent.shards[((uintptr_t)xp_agent_self() >> 12) % AGENT_SHARDS];
}

static void count(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

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

uint64_t xp_agent_unmatched(void)
{
	uint64_t n = 0, mask = launch_key(0, UINT64_MAX), generation = launch_key(0, xp_agent.generation);

	for (unsigned i = 0; i < AGENT_LAUNCHES; i++) {
		uint64_t key = __atomic_load_n(&xp_agent.launches[i].key, __ATOMIC_RELAXED);

		n += (key & mask) == generation && (key & (LAUNCH_RETURNED | LAUNCH_SEEN | LAUNCH_FAILED)) == LAUNCH_RETURNED;
	}
	return n;
}

static void **exec_slot(void *exec)
{
	uint64_t h = (uintptr_t)exec * 0x9e3779b97f4a7c15ull >> 40;

	for (unsigned i = 0; i < AGENT_EXECS; i++) {
		void **slot = &xp_agent.execs[(h + i) % AGENT_EXECS];
		void *held = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

		if (!held || held == exec)
			return slot;
	}
	return NULL;
}

/* The first parameter of every graph instantiation points to the handle that it makes. */
static void note_exec(const struct cupti_callback_data *data)
{
	void *const *const *params = data->params;
	void *exec = params && *params ? (void *)**params : NULL, *none = NULL, **slot = exec ? exec_slot(exec) : NULL;

	while (slot && !__atomic_compare_exchange_n(slot, &none, exec, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED) && none != exec) {
		none = NULL;
		slot = exec_slot(exec);
	}
}

/* The first parameter of a graph launch is the handle. */
static bool known_exec(const struct cupti_callback_data *data)
{
	void *const *params = data->params;
	void **slot = params && *params ? exec_slot(*params) : NULL;

	return slot && __atomic_load_n(slot, __ATOMIC_ACQUIRE) == *params;
}

/* Launches before the window are noted too, since their kernels may run in it; only those inside it are counted and waited for. */
static void launch_enter(const struct capture_view *view, uint8_t want, const struct cupti_callback_data *data, uint64_t now_ns,
			 bool inside)
{
	struct shard *shard = my_shard();
	struct launch *launch = slot_of(data->correlation_id);
	uint64_t key = launch_key(data->correlation_id, view->generation);
	__u64 first = 0;

	if (__atomic_load_n(&launch->key, __ATOMIC_RELAXED) >> STATE_BITS == key >> STATE_BITS)
		count(&shard->duplicates);
	if (want & WANT_GRAPH)
		key |= LAUNCH_GRAPH | (view->graphs && known_exec(data) ? LAUNCH_KNOWN_EXEC : 0);
	__atomic_store_n(&launch->entry_ns, now_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&launch->key, key, __ATOMIC_RELEASE);
	if (!inside)
		return;
	count(want & WANT_GRAPH ? &shard->graph_launches : &shard->api_launches);
	if (!xp_agent.control->counters.first_launch_ns)
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

static void put_record(const struct capture_view *view, uint32_t kind, uint32_t domain, uint32_t cbid,
		       const struct cupti_callback_data *data, uint64_t now_ns)
{
	struct shard *shard = my_shard();
	const struct xp_agent_slot slot = {
		.event = {
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
		},
		.name = view->api_name[domain - 1][cbid],
		.flags = XP_CAPTURE_NAME_COMPLETE,
	};

	count(xp_agent_ring_put(&slot) ? &shard->records : &shard->dropped);
}

static bool in_window(uint64_t now_ns)
{
	const struct xp_agent_lease *lease = &xp_agent.control->lease;
	uint64_t open_ns = __atomic_load_n(&lease->open_ns, __ATOMIC_RELAXED),
		 close_ns = __atomic_load_n(&lease->close_ns, __ATOMIC_RELAXED);

	return open_ns && now_ns >= open_ns && (!close_ns || now_ns < close_ns);
}

static void on_entry(const struct capture_view *view, uint8_t want, uint64_t mark, uint32_t domain, uint32_t cbid,
		     const struct cupti_callback_data *data)
{
	uint64_t now_ns = xp_agent_now();
	bool inside = in_window(now_ns);

	*data->correlation_data = inside ? mark : 0;
	if (want & WANT_LAUNCH && !__atomic_load_n(&view->no_launches, __ATOMIC_RELAXED))
		launch_enter(view, want, data, now_ns, inside);
	if (inside && want & WANT_ENTRY)
		put_record(view, XP_CAPTURE_API_ENTRY, domain, cbid, data, now_ns);
}

/* The clock is read only where the exit itself is wanted: most calls are there to be counted. */
static void on_exit_of(const struct capture_view *view, uint8_t want, uint64_t mark, uint32_t domain, uint32_t cbid,
		       const struct cupti_callback_data *data)
{
	uint64_t now_ns = want & WANT_EXIT ? xp_agent_now() : 0;

	if (want & WANT_INSTANTIATE && data->result && !*(const int *)data->result)
		note_exec(data);
	if (*data->correlation_data != mark) {
		if (now_ns && in_window(now_ns))
			count(&my_shard()->late_exits);
		return;
	}
	if (want & WANT_LAUNCH)
		launch_exit(view, data);
	if (now_ns && in_window(now_ns))
		put_record(view, XP_CAPTURE_API_EXIT, domain, cbid, data, now_ns);
}

/*
 * The user data is the capture's generation: a callback that cuptiUnsubscribe overtook finds another one, or none. The call's own cell
 * carries a mark from entry to exit, so that an exit whose entry an earlier capture saw, or none, is not taken for one of ours.
 */
void xp_agent_callback(void *user, uint32_t domain, uint32_t cbid, const void *call)
{
	const struct cupti_callback_data *data = call;
	const struct capture_view *view = &xp_agent.view;
	uint64_t mark;
	uint8_t want;

	if (!xp_agent_is_live() || xp_agent_on_own_thread() || domain - 1 > 1 || cbid >= AGENT_CBIDS ||
	    (uint64_t)(uintptr_t)user != __atomic_load_n(&view->generation, __ATOMIC_ACQUIRE) || !user)
		return;
	want = view->want[domain - 1][cbid];
	mark = view->generation << 32 | domain << 16 | cbid;
	count(&my_shard()->callbacks);
	if (data->site == CUPTI_SITE_ENTER)
		on_entry(view, want, mark, domain, cbid, data);
	else
		on_exit_of(view, want, mark, domain, cbid, data);
}

void xp_agent_sum_shards(struct xp_agent_counters *counters)
{
	struct shard sum = { 0 };

	for (unsigned i = 0; i < AGENT_SHARDS; i++) {
		const struct shard *shard = &xp_agent.shards[i];

		sum.callbacks += __atomic_load_n(&shard->callbacks, __ATOMIC_RELAXED);
		sum.api_launches += __atomic_load_n(&shard->api_launches, __ATOMIC_RELAXED);
		sum.graph_launches += __atomic_load_n(&shard->graph_launches, __ATOMIC_RELAXED);
		sum.records += __atomic_load_n(&shard->records, __ATOMIC_RELAXED);
		sum.dropped += __atomic_load_n(&shard->dropped, __ATOMIC_RELAXED);
		sum.late_exits += __atomic_load_n(&shard->late_exits, __ATOMIC_RELAXED);
		sum.duplicates += __atomic_load_n(&shard->duplicates, __ATOMIC_RELAXED);
	}
	counters->callbacks = sum.callbacks;
	counters->api_launches = sum.api_launches;
	counters->graph_launches = sum.graph_launches;
	counters->callback_records = sum.records;
	counters->callback_dropped = sum.dropped;
	counters->late_exits = sum.late_exits;
	counters->duplicate_ids = sum.duplicates;
}
