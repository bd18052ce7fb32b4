/* SPDX-License-Identifier: Apache-2.0 */
/* What the capture cost and where every record went (contract 15.1, 15.2). In: the engine's counters. Out: accounts. No state. */
#include "collect/exact_priv.h"

static enum xp_exact_source source_of_kind(unsigned count_kind)
{
	static const enum xp_exact_source sources[XP_COUNT_KINDS] = {
		[XP_COUNT_ENTRY] = XP_EXACT_UPROBE, [XP_COUNT_STEPPED] = XP_EXACT_UPROBE,  [XP_COUNT_RETURN] = XP_EXACT_UPROBE,
		[XP_COUNT_MARKER] = XP_EXACT_USDT,  [XP_COUNT_SYSCALL] = XP_EXACT_SYSCALL, [XP_COUNT_TRACEPOINT] = XP_EXACT_TRACEPOINT,
	};

	return sources[count_kind];
}

uint64_t xp_exact_cost_ns(const struct xp_exact *exact, uint64_t *ret_events)
{
	uint64_t ns = 0, events = 0;

	for (unsigned kind = 0; kind < XP_COUNT_KINDS; kind++) {
		uint64_t ran = exact->counts.kind[kind].delivered + exact->counts.kind[kind].dropped + exact->counts.kind[kind].passed;

		events += ran;
		ns += ran * xp_probes_floor(exact->probes, kind);
	}
	*ret_events = events;
	return ns;
}

static void sum_source(const struct xp_exact *exact, enum xp_exact_source source, struct xp_account *account)
{
	for (unsigned kind = 0; kind < XP_COUNT_KINDS; kind++) {
		if (source_of_kind(kind) != source)
			continue;
		account->delivered += exact->counts.kind[kind].delivered;
		account->dropped += exact->counts.kind[kind].dropped;
	}
	account->emitted = account->delivered + account->dropped;
}

static const char *const source_names[XP_EXACT_SOURCE_COUNT] = {
	[XP_EXACT_UPROBE] = "ebpf_uprobe",
	[XP_EXACT_SYSCALL] = "ebpf_syscall",
	[XP_EXACT_TRACEPOINT] = "ebpf_tracepoint",
	[XP_EXACT_USDT] = "ebpf_usdt",
};

enum xp_exact_source xp_exact_source_of_point(enum xp_point_at at)
{
	static const enum xp_exact_source sources[XP_POINT_AT_COUNT] = {
		[XP_POINT_ENTRY] = XP_EXACT_UPROBE,	     [XP_POINT_EXIT] = XP_EXACT_UPROBE,
		[XP_POINT_RETURN] = XP_EXACT_UPROBE,	     [XP_POINT_MARKER] = XP_EXACT_USDT,
		[XP_POINT_SYSCALL_ENTRY] = XP_EXACT_SYSCALL, [XP_POINT_SYSCALL_EXIT] = XP_EXACT_SYSCALL,
		[XP_POINT_TRACEPOINT] = XP_EXACT_TRACEPOINT,
	};

	return sources[at];
}

/* Starts of this source that wait for an end, over all edges. */
static uint64_t still_open(const struct xp_exact *exact, enum xp_exact_source source)
{
	uint64_t open = 0;

	for (unsigned i = 0; i < exact->plan->n_edges; i++) {
		uint32_t bit = exact->counters[i].start_bit;

		for (size_t p = 0; p < exact->n_points; p++) {
			if (!(exact->meanings[p].endpoints & bit) || xp_exact_source_of_point(exact->points[p].at) != source)
				continue;
			open += xp_pair_counter_open(&exact->counters[i]);
			break;
		}
	}
	return open;
}

struct xp_account *xp_exact_accounts(const struct xp_exact *exact, struct xp_arena *arena, size_t *ret_n)
{
	struct xp_account *accounts = xp_arena_array(arena, struct xp_account, XP_EXACT_SOURCE_COUNT);
	size_t n = 0;

	for (unsigned source = 0; source < XP_EXACT_SOURCE_COUNT; source++) {
		struct xp_account *account = &accounts[n];

		if (!exact->in_use[source])
			continue;
		account->source = source_names[source];
		account->still_open = still_open(exact, (enum xp_exact_source)source);
		sum_source(exact, (enum xp_exact_source)source, account);
		if (account->dropped) {
			account->dropped_reasons = xp_arena_new_of(arena, struct xp_count);
			*account->dropped_reasons = (struct xp_count){ .name = "ring_full", .n = account->dropped };
			account->n_dropped_reasons = 1;
		}
		n++;
	}
	*ret_n = n;
	return accounts;
}
