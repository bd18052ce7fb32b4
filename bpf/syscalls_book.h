/* SPDX-License-Identifier: Apache-2.0 */
/* What kinds of calls there are, and the booking of a call that is over. State: syscalls_state.h. */
#ifndef XP_BPF_SYSCALLS_BOOK_H
#define XP_BPF_SYSCALLS_BOOK_H

#include "syscalls_state.h"

#define BPF_NOEXIST 1

static __always_inline bool is_restart(long result)
{
	return result == -512 || result == -513 || result == -514 || result == -516;
}

static __always_inline bool is_sigreturn(__u32 nr, __u32 compat)
{
	return compat ? nr == NR_32_SIGRETURN || nr == NR_32_RT_SIGRETURN : nr == NR_RT_SIGRETURN;
}

static __always_inline bool is_restart_call(__u32 nr, __u32 compat)
{
	return compat ? nr == NR_32_RESTART_SYSCALL : nr == NR_RESTART_SYSCALL;
}

/* Without branches, whose combinations the verifier would walk one by one: every bit below the highest one is set, then they are counted.
 */
static __always_inline __u32 log2_bucket(__u64 ns)
{
	ns |= 1;
	for (int step = 1; step < 64; step *= 2)
		ns |= ns >> step;
	ns -= ns >> 1 & 0x5555555555555555;
	ns = (ns & 0x3333333333333333) + (ns >> 2 & 0x3333333333333333);
	ns = (ns + (ns >> 4)) & 0x0f0f0f0f0f0f0f0f;
	__u32 bucket = (ns * 0x0101010101010101 >> 56) - 1;

	return bucket < XP_SYS_BUCKETS ? bucket : XP_SYS_BUCKETS - 1;
}

static __always_inline void release_slot(const struct xp_sys_call *call)
{
	if (call->flags & XP_SYS_SLOT)
		__sync_fetch_and_sub(&xp_inflight, 1);
}

static __noinline struct xp_sys_cell *new_cell(struct xp_sys_thread *thread, const struct xp_sys_key *key)
{
	__u64 group = key->nr | (__u64)key->compat << 32;
	__u32 one = 1;

	/* A lost race for the same group is no loss; a full table is. */
	if (!bpf_map_lookup_elem(&groups, &group) && bpf_map_update_elem(&groups, &group, &one, BPF_NOEXIST) &&
	    !bpf_map_lookup_elem(&groups, &group))
		return NULL;
	if (bpf_map_update_elem(&cells, key, (const void *)&xp_empty_cell, BPF_NOEXIST))
		return NULL;
	if (key->compat || key->nr >= XP_SYS_NATIVE)
		thread->flags |= XP_SYS_THREAD_ODD;
	else
		thread->native[key->nr / 64 % (XP_SYS_NATIVE / 64)] |= 1ULL << key->nr % 64;
	return bpf_map_lookup_elem(&cells, key);
}

static __noinline int count_error(struct xp_sys_cell *cell, __u32 errnum)
{
	cell->errors++;
	for (int i = 0; i < XP_SYS_ERRNOS; i++) {
		struct xp_sys_errno *slot = &cell->errnos[i];

		if (!slot->errnum)
			slot->errnum = errnum;
		if (slot->errnum == errnum) {
			slot->n++;
			return 0;
		}
	}
	cell->errno_other++;
	return 0;
}

/* The call is over: into its cell, or into the account of what was lost. */
static __noinline int finish(struct xp_sys_thread *thread, const struct xp_sys_call *call, __u64 end_ns, long result)
{
	struct xp_sys_key key = { .thread = thread->thread, .nr = call->nr, .compat = !!(call->flags & XP_SYS_COMPAT) };
	__u64 ns = end_ns - call->start_ns;

	if (!(call->flags & XP_SYS_COUNTED)) {
		thread->open_at_start_ended += xp_counting;
		return 0;
	}
	release_slot(call);
	struct xp_sys_cell *cell = bpf_map_lookup_elem(&cells, &key);
	if (!cell)
		cell = new_cell(thread, &key);
	if (!cell) {
		thread->dropped_table++;
		return 0;
	}
	thread->matched++;
	if (!cell->count || ns < cell->min_ns)
		cell->min_ns = ns;
	if (ns > cell->max_ns)
		cell->max_ns = ns;
	cell->count++;
	cell->total_ns += ns;
	cell->interrupted += call->interrupted;
	cell->buckets[log2_bucket(ns)]++;
	if (result < 0 && result >= -4095 && !is_restart(result))
		count_error(cell, -result);
	return 0;
}

#endif
