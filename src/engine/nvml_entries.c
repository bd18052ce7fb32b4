// SPDX-License-Identifier: Apache-2.0
/*
 * A process list of NVML, whatever the size of its entries. In: a call. Out: entries of one shape. No state.
 * The same symbol had entries of different sizes in different drivers, so the size is told from what was written into marked room.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/nvml_priv.h"

enum { MARK = 0xa5, FIRST_ROOM = 256, MAX_TRIES = 4 };

/* Bytes up to the last one that lost its mark. */
static size_t written(const unsigned char *room, size_t size)
{
	while (size && room[size - 1] == MARK)
		size--;
	return size;
}

/* 0: no known entry size explains `len` bytes of `n` entries. The last member of the last entry is always written. */
static size_t entry_size(size_t len, size_t n)
{
	static const struct {
		size_t size, last;
	} shapes[] = { { NV_PROCESS_V1, 8 }, { NV_PROCESS_V2, 4 }, { NV_PROCESS_LONG, 8 } };

	for (size_t i = 0; i < XP_LEN(shapes); i++)
		if (len <= n * shapes[i].size && len > n * shapes[i].size - shapes[i].last)
			return shapes[i].size;
	return 0;
}

static bool parse(const unsigned char *room, size_t size, unsigned n, struct xp_nvml_entry *ret_entries)
{
	for (unsigned i = 0; i < n; i++) {
		const unsigned char *at = room + i * size;
		struct xp_nvml_entry *entry = &ret_entries[i];

		memcpy(&entry->pid, at, sizeof(entry->pid));
		memcpy(&entry->memory, at + 8, sizeof(entry->memory));
		entry->gpu_instance = entry->compute_instance = (uint32_t)NV_NO_INSTANCE;
		if (size > NV_PROCESS_V1) {
			memcpy(&entry->gpu_instance, at + 16, sizeof(entry->gpu_instance));
			memcpy(&entry->compute_instance, at + 20, sizeof(entry->compute_instance));
		}
		if (entry->pid > NV_MAX_PID)
			return false;
	}
	return true;
}

static struct xp_nvml_fault fault_of(enum xp_nvml_fault_kind kind, int status, const char *symbol)
{
	struct xp_nvml_fault fault;

	xp_nvml_set_fault(&fault, kind, status, symbol);
	return fault;
}

/* What one call with `room` places wrote, as entries. */
static struct xp_nvml_fault take(const unsigned char *bytes, unsigned room, unsigned n, const char *symbol,
				 struct xp_nvml_entry **ret_entries)
{
	struct xp_nvml_entry *entries = calloc(n ? n : 1, sizeof(*entries));
	size_t size = n <= room ? entry_size(written(bytes, (size_t)room * NV_PROCESS_LONG), n) : 0;

	if (entries && (!n || (size && parse(bytes, size, n, entries)))) {
		*ret_entries = entries;
		return (struct xp_nvml_fault){ .kind = XP_NVML_OK };
	}
	free(entries);
	return fault_of(XP_NVML_NONSENSE, 0, symbol);
}

struct xp_nvml_fault xp_nvml_entries(int (*list)(void *, unsigned *, void *), const char *symbol, void *device, unsigned max,
				     struct xp_nvml_entry **ret_entries, unsigned *ret_n, unsigned *ret_lost)
{
	unsigned room = FIRST_ROOM;

	for (unsigned tries = 0; tries < MAX_TRIES; tries++) {
		xp_auto(xp_free) void *bytes = malloc((size_t)room * NV_PROCESS_LONG);
		unsigned n = room;

		if (!bytes)
			return fault_of(XP_NVML_STATUS, NV_INSUFFICIENT_SIZE, symbol);
		memset(bytes, MARK, (size_t)room * NV_PROCESS_LONG);
		int status = list(device, &n, bytes);
		if (status == NV_INSUFFICIENT_SIZE && n > room && n <= NV_MAX_PID) {
			room = n + n / 4; /* some come while we ask again */
			continue;
		}
		if (status)
			return fault_of(XP_NVML_STATUS, status, symbol);
		struct xp_nvml_fault fault = take(bytes, room, n, symbol, ret_entries);
		if (!fault.kind) {
			*ret_n = n < max ? n : max;
			*ret_lost = n - *ret_n;
		}
		return fault;
	}
	return fault_of(XP_NVML_STATUS, NV_INSUFFICIENT_SIZE, symbol);
}
