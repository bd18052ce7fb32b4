/* SPDX-License-Identifier: Apache-2.0 */
/* USDT notes. In: an image, a provider and a marker name. Out: its sites. No state. */
#include "elf/usdt.h"

#include <string.h>

enum { NT_STAPSDT = 3, MAX_SITES = 64 };

/* The description: three addresses, then provider, name and arguments as NUL-terminated texts. */
static bool read_note(const struct xp_elf_note *note, uint64_t ret_addresses[3], const char **ret_provider, const char **ret_name)
{
	size_t texts = 3 * sizeof(uint64_t);

	if (!xp_elf_note_is(note, "stapsdt", NT_STAPSDT) || note->desc_size < texts + 3)
		return false;
	memcpy(ret_addresses, note->desc, texts);
	const char *provider = (const char *)note->desc + texts, *end = (const char *)note->desc + note->desc_size;
	const char *stop = memchr(provider, 0, (size_t)(end - provider));
	if (!stop || stop + 1 == end || !memchr(stop + 1, 0, (size_t)(end - stop - 1)))
		return false;
	*ret_provider = provider;
	*ret_name = stop + 1;
	return true;
}

/* A note section that is loaded as well is met twice. */
static bool have_site(const struct xp_usdt_site *sites, size_t n, uint64_t vaddr)
{
	for (size_t i = 0; i < n; i++)
		if (sites[i].vaddr == vaddr)
			return true;
	return false;
}

size_t xp_elf_usdt(const struct xp_elf *elf, const char *provider, const char *name, struct xp_arena *arena,
		   struct xp_usdt_site **ret_sites)
{
	struct xp_elf_note_cursor cursor = { 0 };
	struct xp_usdt_site found[MAX_SITES];
	struct xp_elf_section base;
	struct xp_elf_note note;
	size_t n = 0;
	bool has_base = xp_elf_section(elf, ".stapsdt.base", &base);

	while (n < MAX_SITES && xp_elf_note_next(elf, &cursor, &note)) {
		const char *note_provider, *note_name;
		uint64_t at[3]; /* location, link base, semaphore */

		if (!read_note(&note, at, &note_provider, &note_name) || strcmp(note_provider, provider) || strcmp(note_name, name))
			continue;
		uint64_t moved = has_base ? base.vaddr - at[1] : 0;
		if (have_site(found, n, at[0] + moved))
			continue;
		found[n].vaddr = at[0] + moved;
		found[n].semaphore = at[2] ? at[2] + moved : 0;
		n++;
	}
	if (!n)
		return 0;
	*ret_sites = xp_arena_array(arena, struct xp_usdt_site, n);
	memcpy(*ret_sites, found, n * sizeof(found[0]));
	return n;
}
