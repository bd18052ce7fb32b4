/* SPDX-License-Identifier: Apache-2.0 */
/* What the copies of the NVTX header in a target are: in use, unused, another tool's. In: its memory, read only. Out: counts. No state. */
#include "elf/nvtx.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/err.h"

enum { WORDS = 146, SLOTS = 64, FIRST_SLOT = 6, CORE_TABLE = 70, CORE2_TABLE = 121, CORE2_SLOT = 43, TABLE = 15, MOST = 8192 };

struct places {
	uint64_t at[MOST];
	size_t n;
};

static void add(void *arg, const struct xp_nvtx_file *file, uint64_t address)
{
	struct places *places = arg;

	if (places->n < MOST)
		places->at[places->n++] = address;
}

/* The header's own tables, which point at its slots. */
static bool has_shape(const uint64_t *word, uint64_t address)
{
	for (unsigned i = 0; i < TABLE; i++)
		if (word[CORE_TABLE + 1 + i] != address + 8 * (FIRST_SLOT + i) ||
		    word[CORE2_TABLE + 1 + i] != address + 8 * (FIRST_SLOT + CORE2_SLOT + i))
			return false;
	return word[0] <= 2 && word[1] == 16 && word[3] == 24 && word[4] == 3;
}

static bool same_file_at(const struct xp_maps *maps, uint64_t a, uint64_t b)
{
	const struct xp_mapping *one = xp_maps_find(maps, a), *other = xp_maps_find(maps, b);

	return one && other && one->inode && one->inode == other->inode && one->dev_minor == other->dev_minor &&
	       one->dev_major == other->dev_major;
}

static bool is_agent(const struct xp_maps *maps, uint64_t address)
{
	const struct xp_mapping *mapping = xp_maps_find(maps, address);

	return mapping && strstr(mapping->path, "xprobe-agent");
}

/* Slots that hold neither nothing, nor the library's own functions, nor ours. */
static bool is_foreign(const struct xp_maps *maps, const uint64_t *word, uint64_t address)
{
	static const uint8_t wanted[] = { 3, 4, 5, 6, 7, 8, 9, 10, CORE2_SLOT + 1, CORE2_SLOT + 2, CORE2_SLOT + 3, CORE2_SLOT + 4 };

	for (size_t i = 0; i < XP_LEN(wanted); i++) {
		uint64_t held = word[FIRST_SLOT + wanted[i]];

		if (held && !is_agent(maps, held) && (word[0] == 2 || !same_file_at(maps, held, address)))
			return true;
	}
	return false;
}

static void judge(const struct xp_maps *maps, const uint64_t *word, uint64_t address, struct xp_nvtx_clients *clients)
{
	if (!has_shape(word, address)) {
		clients->refused++;
		return;
	}
	clients->copies++;
	*(is_foreign(maps, word, address) ? &clients->foreign : &clients->usable) += 1;
}

int xp_nvtx_clients_read(struct xp_target *target, struct xp_nvtx_clients *ret_clients, struct xp_err *reterr)
{
	xp_auto(xp_free) void *memory = calloc(1, sizeof(struct places));
	struct places *places = memory;
	const struct xp_nvtx_visitor visitor = { .found = add, .arg = places };
	struct xp_nvtx_clients clients = { 0 };
	uint64_t word[WORDS];

	if (!places)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "places of NVTX");
	xp_nvtx_find(target, &visitor);
	for (size_t i = 0; i < places->n; i++) {
		struct iovec local = { word, sizeof(word) }, remote = { (void *)(uintptr_t)places->at[i], sizeof(word) };

		ssize_t len = process_vm_readv((pid_t)xp_target_pid(target), &local, 1, &remote, 1, 0);

		if (len == sizeof(word))
			judge(xp_target_maps(target), word, places->at[i], &clients);
		else if (len < 0 && errno == EPERM)
			return xp_fail_sys(reterr, errno, "process_vm_readv", "memory of process %u", xp_target_pid(target));
	}
	*ret_clients = clients;
	return 0;
}
