/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold for every system call inventory, and look-ups in one. */
#ifndef XP_TESTS_SYSCALLS_CHECK_H
#define XP_TESTS_SYSCALLS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "inventory/syscalls.h"
#include "wire/syscalls.h"

/* The shortest call lies in the first bucket that holds any, the longest in the last; the last bucket of all takes what is longer, too. */
static inline void check_buckets(const struct xp_syscall_group *group)
{
	const size_t n = XP_LEN(group->histogram_log2_ns.bucket);
	size_t first = n, last = 0;

	for (size_t b = 0; b < n; b++)
		if (group->histogram_log2_ns.bucket[b]) {
			first = first < n ? first : b;
			last = b;
		}
	assert_true(first < n && last < XP_SYS_BUCKETS);
	assert_true(group->duration_ns.min >> first <= 1 && (group->duration_ns.min >> first || !first));
	assert_int_equal(group->duration_ns.max >> last, group->duration_ns.max ? 1 : 0);
}

/* The books close, whatever happened. */
static inline void check_identity(const struct xp_syscalls *value)
{
	const struct xp_syscall_collection *c = &value->collection;
	uint64_t counts = 0, by_pattern = 0, rows = 0;

	assert_int_equal(c->observed_entries,
			 c->matched_exits + c->inflight_at_end - c->open_at_start_still_open + c->no_return_calls + c->dropped_aggregates);
	for (size_t i = 0; i < value->inventory.n_groups; i++) {
		const struct xp_syscall_group *group = &value->inventory.groups[i];
		uint64_t buckets = 0, errors = 0;

		for (size_t b = 0; b < XP_LEN(group->histogram_log2_ns.bucket); b++)
			buckets += group->histogram_log2_ns.bucket[b];
		for (size_t e = 0; e < group->n_errors_by_errno; e++)
			errors += group->errors_by_errno[e].n;
		assert_int_equal(buckets, group->count);
		if (group->count)
			check_buckets(group);
		assert_int_equal(errors, group->errors);
		assert_true(group->duration_ns.min <= group->duration_ns.max && group->duration_ns.max <= group->duration_ns.total);
		counts += group->count;
	}
	for (size_t i = 0; i < value->n_threads; i++)
		by_pattern += value->threads[i].calls;
	for (size_t i = 0; i < value->n_thread_calls; i++)
		rows += value->thread_calls[i].count;
	assert_int_equal(counts, c->matched_exits);
	assert_int_equal(by_pattern, c->matched_exits);
	for (size_t i = 0; i < value->n_threads; i++) /* threads whose record was lost have no row */
		rows += strcmp(value->threads[i].name_pattern, "*") ? 0 : value->threads[i].calls;
	assert_int_equal(rows, c->matched_exits);
	assert_int_equal(c->sources[0].emitted, c->sources[0].delivered + c->sources[0].dropped + c->sources[0].filtered);
	assert_int_equal(c->open_at_start >= c->open_at_start_still_open, true);
}

static inline const struct xp_syscall_group *find_group(const struct xp_syscalls *value, long nr, bool compat)
{
	for (size_t i = 0; i < value->inventory.n_groups; i++)
		if (value->inventory.groups[i].syscall_number == (uint32_t)nr && value->inventory.groups[i].compat == compat)
			return &value->inventory.groups[i];
	return NULL;
}

static inline uint64_t find_count(const struct xp_syscalls *value, long nr)
{
	const struct xp_syscall_group *group = find_group(value, nr, false);

	return group ? group->count : 0;
}

static inline uint64_t find_errors(const struct xp_syscalls *value, long nr, const char *name)
{
	const struct xp_syscall_group *group = find_group(value, nr, false);

	for (size_t i = 0; group && i < group->n_errors_by_errno; i++)
		if (!strcmp(group->errors_by_errno[i].name, name))
			return group->errors_by_errno[i].n;
	return 0;
}

#endif
