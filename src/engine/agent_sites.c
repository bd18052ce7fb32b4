/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of places that the agent looks at for NVTX (wire/agent_nvtx.h). In: the target's files. Out: the shared list, which only this
 * side writes; what it says of files that are still mapped where they were is kept from capture to capture.
 */
#include "engine/agent_sites.h"

#include <string.h>
#include <time.h>

#include "elf/nvtx.h"
#include "engine/agent_link_priv.h"

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static struct xp_agent_sites *sites_of(const struct xp_agent_link *link)
{
	return (struct xp_agent_sites *)(link->memory + XP_AGENT_SITES_OFFSET);
}

/* The target may have written there: counts are bounded before each use. */
static uint32_t bounded(uint32_t n, uint32_t most)
{
	return n < most ? n : most;
}

static bool knows(void *arg, const struct xp_nvtx_file *file)
{
	const struct xp_agent_sites *sites = arg;
	uint32_t n = bounded(sites->n_files, XP_AGENT_SITE_FILES);

	for (uint32_t i = 0; i < n; i++)
		if (sites->files[i].start == file->start && sites->files[i].file == file->file)
			return true;
	return false;
}

static void looked(void *arg, const struct xp_nvtx_file *file, uint64_t bytes)
{
	struct xp_agent_sites *sites = arg;
	uint32_t n = bounded(sites->n_files, XP_AGENT_SITE_FILES);

	sites->looked_bytes += bytes;
	if (n == XP_AGENT_SITE_FILES)
		return;
	sites->files[n].start = file->start;
	sites->files[n].file = file->file;
	sites->n_files = n + 1;
}

static void found(void *arg, const struct xp_nvtx_file *file, uint64_t address)
{
	struct xp_agent_sites *sites = arg;
	uint32_t n = bounded(sites->n_sites, XP_AGENT_SITES);

	for (uint32_t i = 0; i < n; i++)
		if (sites->sites[i] == address)
			return;
	if (n == XP_AGENT_SITES) {
		sites->overflow++;
		return;
	}
	sites->sites[n] = address;
	__atomic_store_n(&sites->n_sites, n + 1, __ATOMIC_RELEASE);
}

void xp_agent_sites_update(struct xp_agent_link *link, struct xp_target *target)
{
	const struct xp_nvtx_visitor visitor = { .knows = knows, .looked = looked, .found = found, .arg = sites_of(link) };

	struct xp_agent_sites *sites = sites_of(link);
	uint64_t begin_ns = now_ns(), before = sites->looked_bytes;

	xp_nvtx_find(target, &visitor);
	sites->last_ns = now_ns() - begin_ns;
	if (sites->looked_bytes != before)
		sites->looked_ns += sites->last_ns;
}

/*
 * Places in files that have gone would count as out of reach. Before ARM, when nobody reads the list. A file may come back to where it was:
 * once a place was dropped, every file is looked through again.
 */
void xp_agent_sites_prune(struct xp_agent_link *link, struct xp_target *target)
{
	struct xp_agent_sites *sites = sites_of(link);
	const struct xp_maps *maps = xp_target_maps(target);
	uint32_t n = bounded(sites->n_sites, XP_AGENT_SITES), kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct xp_mapping *mapping = xp_maps_find(maps, sites->sites[i]);

		if (mapping && mapping->inode && mapping->write)
			sites->sites[kept++] = sites->sites[i];
	}
	sites->n_sites = kept;
	if (sites->overflow || kept < n)
		sites->n_files = 0;
	sites->overflow = 0;
}

struct xp_agent_nvtx xp_agent_link_nvtx(const struct xp_agent_link *link)
{
	return link->control->nvtx;
}

bool xp_agent_link_nvtx_name(const struct xp_agent_link *link, uint32_t id, char ret_text[XP_AGENT_NVTX_TEXT], uint32_t *ret_length)
{
	const struct xp_agent_nvtx_text *names = (const struct xp_agent_nvtx_text *)(link->memory + XP_AGENT_NVTX_NAMES_OFFSET);
	const struct xp_agent_nvtx_text *entry = &names[id - 1];

	if (!id || id > XP_AGENT_NVTX_NAMES || !__atomic_load_n(&entry->ready, __ATOMIC_ACQUIRE))
		return false;
	*ret_length = bounded(entry->length, XP_AGENT_NVTX_TEXT - 1);
	memcpy(ret_text, entry->text, *ret_length);
	ret_text[*ret_length] = '\0';
	return true;
}
