/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a target's file and as its memory: places of NVTX globals lie inside writable mappings of that file, nothing else is read.
 */
#include "elf/nvtx.c"
#define add add_place
#include "elf/nvtx_clients.c"

#include "fuzz.h"

enum { INODE = 7, BASE = 0x10000, ROOM = 1 << 16 };

/* Writable: the second one alone, at another offset of the same file; the others are its code, another file, and a shared one. */
static const struct xp_mapping mappings[] = {
	{ .start = BASE, .end = BASE + ROOM, .exec = true, .inode = INODE, .path = "code" },
	{ .start = 8 * BASE, .end = 8 * BASE + ROOM, .offset = 0x100, .write = true, .inode = INODE, .path = "data" },
	{ .start = 16 * BASE, .end = 16 * BASE + ROOM, .write = true, .inode = INODE + 1, .path = "/memfd:xprobe-agent-5" },
	{ .start = 32 * BASE, .end = 32 * BASE + ROOM, .write = true, .shared = true, .inode = INODE, .path = "shared" },
};
static const struct xp_maps maps = { .n = XP_LEN(mappings), .at = mappings };

static void check_place(void *arg, const struct xp_nvtx_file *file, uint64_t address)
{
	if (address - mappings[1].start >= ROOM)
		abort();
	add_place(arg, file, address);
}

static void look_at_memory(const uint8_t *data, size_t size)
{
	struct xp_nvtx_clients clients = { 0 };
	uint64_t word[WORDS] = { 0 };

	memcpy(word, data, size < sizeof(word) ? size : sizeof(word));
	for (size_t i = 0; i < maps.n; i++)
		judge(&maps, word, mappings[i].start, &clients);
	if (clients.copies + clients.refused != maps.n || clients.usable + clients.foreign != clients.copies)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct places places;
	const struct xp_nvtx_visitor visitor = { .found = check_place, .arg = &places };
	const struct xp_nvtx_file file = { .start = BASE };
	xp_auto(xp_elf_close) struct xp_elf *elf = NULL;
	xp_auto_err ignored = { 0 };
	void *copy = malloc(size + 1);

	look_at_memory(data, size);
	memcpy(copy, data, size);
	places.n = 0;
	if (!xp_elf_open_bytes(copy, size, "fuzz", &elf, &ignored) && look_through_elf(elf, &maps, &mappings[0], &file, &visitor) > size)
		abort();
	return 0;
}
