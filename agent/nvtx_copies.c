/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From places that look like globals of an NVTX header to copies that are: inside a loaded object, of exactly the known shape, and
 * nobody's. Everything is touched inside xp_agent_objects, where the loader's lock keeps objects from being unmapped meanwhile. In: the
 * tool's sites. Out: hooks and what became of the sites.
 */
#include "agent/nvtx.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

/* Their unused copies are left alone: their ranges have no text for us, and each is one more library that changes its behaviour. */
static const char *const maths[] = { "libcublas",   "libcudnn",	 "libcufft", "libcurand", "libcusolver",
				     "libcusparse", "libnvjpeg", "libnpp",   "libcufile", "libcutensor" };

struct walk {
	const struct xp_agent_sites *sites;
	uint32_t n_sites, found;
	uint64_t fresh, foreign, refused, twins, maths, loads;
	bool later; /* not the first look of this capture */
};

static bool lies_in(const struct dl_phdr_info *info, uint32_t flag, uintptr_t at, size_t size)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type == PT_LOAD && phdr->p_flags & flag && at >= start && at - start < phdr->p_memsz &&
		    phdr->p_memsz - (at - start) >= size)
			return true;
	}
	return false;
}

static bool is_code(const struct dl_phdr_info *info, const void *function)
{
	return lies_in(info, PF_X, (uintptr_t)function, 1);
}

static bool table_fits(void **const *table, void *const *slots, unsigned n)
{
	if (table[0] || table[n + 1])
		return false;
	for (unsigned i = 0; i < n; i++)
		if (table[i + 1] != (void **)&slots[i])
			return false;
	return true;
}

static bool has_shape(const struct dl_phdr_info *info, const struct nvtx_globals *globals)
{
	return globals->state <= NVTX_COMPLETE && !globals->pad && globals->callbacks_size == 16 && globals->version_size == 24 &&
	       globals->version == NVTX_VERSION && is_code(info, globals->get_table) && is_code(info, globals->set_version) &&
	       table_fits(globals->core, &globals->slots[NVTX_CORE], 15) && table_fits(globals->core2, &globals->slots[NVTX_CORE2], 15);
}

/*
 * The header defines its globals weak: of the objects that were linked into one library each brought a copy, of which the linker chose one
 * for all. The others are never read; their tables were bound to the chosen one.
 */
static bool is_twin(const struct dl_phdr_info *info, const struct nvtx_globals *globals)
{
	uintptr_t slot = (uintptr_t)globals->core[1];
	const struct nvtx_globals *chosen = (const void *)(slot - offsetof(struct nvtx_globals, slots));

	return globals->callbacks_size == 16 && globals->version_size == 24 && is_code(info, globals->get_table) && chosen != globals &&
	       lies_in(info, PF_W, (uintptr_t)chosen, sizeof(*chosen)) && slot % 8 == 0 && has_shape(info, chosen);
}

/* Of a copy in use the slots that we want are empty or ours; of an unused one every slot is the header's own. */
static bool is_nobodys(const struct dl_phdr_info *info, const struct nvtx_globals *globals, bool fresh)
{
	for (unsigned i = 0; i < NVTX_SLOTS; i++) {
		const void *held = __atomic_load_n(&globals->slots[i], __ATOMIC_RELAXED);
		bool wanted = fresh || xp_agent_nvtx_hooks[i];

		if (wanted && !xp_agent_nvtx_is_ours(held) && (fresh ? !is_code(info, held) : held != NULL))
			return false;
	}
	return true;
}

static bool is_maths(const struct dl_phdr_info *info)
{
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL, *name = slash ? slash + 1 : info->dlpi_name;

	for (unsigned i = 0; name && i < sizeof(maths) / sizeof(maths[0]); i++)
		if (!strncmp(name, maths[i], strlen(maths[i])))
			return true;
	return false;
}

/* A copy that is in use when it is first seen in the middle of a capture may have been called before. */
static void hook(struct walk *walk, struct nvtx_globals *globals, bool fresh)
{
	if (!xp_agent_nvtx_hook(globals)) {
		walk->refused++;
		return;
	}
	xp_agent.control->nvtx.copies++;
	if (walk->later && !fresh)
		xp_agent.control->nvtx.missed++;
	walk->fresh += fresh;
}

static void look_at(struct walk *walk, const struct dl_phdr_info *info, struct nvtx_globals *globals)
{
	uint32_t state;

	if (!has_shape(info, globals)) {
		*(is_twin(info, globals) ? &walk->twins : &walk->refused) += 1;
		return;
	}
	state = __atomic_load_n(&globals->state, __ATOMIC_ACQUIRE);
	if (xp_agent_nvtx_is_hooked(globals))
		walk->fresh += state == NVTX_FRESH;
	else if (state == NVTX_STARTED)
		walk->refused++; /* until the next look */
	else if (!is_nobodys(info, globals, state == NVTX_FRESH) || (state == NVTX_FRESH && xp_agent.nvtx.foreign_start))
		walk->foreign++;
	else if (state == NVTX_FRESH && is_maths(info))
		walk->maths++;
	else
		hook(walk, globals, state == NVTX_FRESH);
}

/* Index of the next writable segment with room for a copy; -1: no more. */
static int next_segment(const struct dl_phdr_info *info, int index, uintptr_t *ret_start, uintptr_t *ret_last)
{
	for (index++; index < info->dlpi_phnum; index++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[index];

		*ret_start = info->dlpi_addr + phdr->p_vaddr;
		*ret_last = *ret_start + phdr->p_memsz - sizeof(struct nvtx_globals);
		if (phdr->p_type == PT_LOAD && phdr->p_flags & PF_W && phdr->p_memsz >= sizeof(struct nvtx_globals))
			return index;
	}
	return -1;
}

static int look_through(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct walk *walk = arg;
	uintptr_t start, last;

	walk->loads = info->dlpi_adds;
	for (int k = next_segment(info, -1, &start, &last); k >= 0; k = next_segment(info, k, &start, &last))
		for (uint32_t i = 0; i < walk->n_sites; i++) {
			/* The other side may write there at any time. */
			uintptr_t at = __atomic_load_n(&walk->sites->sites[i], __ATOMIC_RELAXED);

			if (at % 8 || at < start || at > last)
				continue;
			walk->found++;
			look_at(walk, info, (struct nvtx_globals *)at);
		}
	return 0;
}

void xp_agent_nvtx_walk(void)
{
	struct xp_agent_nvtx *told = &xp_agent.control->nvtx;
	const struct xp_agent_sites *sites = (const struct xp_agent_sites *)(xp_agent.memory + XP_AGENT_SITES_OFFSET);
	struct walk walk = { .sites = sites, .later = told->loads != 0 };
	uint64_t begin_ns = xp_agent_now();

	walk.n_sites = __atomic_load_n(&sites->n_sites, __ATOMIC_ACQUIRE);
	if (walk.n_sites > XP_AGENT_SITES)
		walk.n_sites = XP_AGENT_SITES;
	xp_agent_objects(look_through, &walk);
	told->fresh = walk.fresh;
	told->foreign = walk.foreign;
	told->maths = walk.maths;
	told->twins = walk.twins;
	/* Sites in no object: loaded where we cannot see, or not fit for a table of this size. */
	told->refused = walk.refused + (walk.n_sites - walk.found) + sites->overflow;
	told->walk_ns = xp_agent_now() - begin_ns;
	__atomic_store_n(&told->loads, walk.loads, __ATOMIC_RELEASE);
}

static int restore_in(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct nvtx *nvtx = &xp_agent.nvtx;
	uint32_t n = __atomic_load_n(&nvtx->n_copies, __ATOMIC_ACQUIRE);
	uintptr_t start, last;

	for (int k = next_segment(info, -1, &start, &last); k >= 0; k = next_segment(info, k, &start, &last))
		for (uint32_t i = 0; i < n && i < XP_AGENT_SITES; i++) {
			struct nvtx_copy *copy = &nvtx->copies[i];
			uintptr_t at = (uintptr_t)copy->at;

			if (__atomic_load_n(&copy->ready, __ATOMIC_ACQUIRE) && at >= start && at <= last)
				xp_agent_nvtx_unhook(copy);
		}
	return 0;
}

void xp_agent_nvtx_restore(void)
{
	xp_agent_objects(restore_in, NULL);
}
