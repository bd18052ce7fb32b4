/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a perf map, and as kallsyms: what is named is covered by the last line that says so, and nothing is read outside. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

#include "elf/kallsyms.h"
#include "elf/perf_map.h"

enum { N = 48 };

static void check(const uint64_t *addresses, const struct xp_code_name *names)
{
	for (size_t i = 0; i < N; i++)
		if (names[i].name && (names[i].start > addresses[i] || !*names[i].name))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_code_name names[N];
	struct xp_perf_map_account account = { 0 };
	uint64_t addresses[N];
	size_t ends = 0;
	char *text = malloc(size + !size); /* no byte to spare: a read behind the end is seen */

	for (size_t i = 0; i < N; i++)
		addresses[i] = i < N / 2 ? 0x1000 + i * 24 : 0xffffffff81000000 + i * 24;
	memcpy(text, data, size);
	xp_perf_map_resolve(text, size, addresses, N, arena, names, &account);
	check(addresses, names);
	for (size_t i = 0; i < size; i++)
		ends += text[i] == '\n';
	if (account.lines != ends + (size && text[size - 1] != '\n') || account.broken > account.lines)
		abort();
	free(text);

	xp_auto_fd fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		return 0;
	xp_kallsyms_resolve(fd, addresses, N, arena, names);
	check(addresses, names);
	return 0;
}
