/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our functions into the slots of one copy, and what was there back. A slot is one aligned word that each call reads once, so a copy can be
 * hooked while its library runs. In: a copy. State: the list of hooked copies.
 *
 * A copy that no call has gone through yet (FRESH) is hooked in every slot and left FRESH: then no call of it can run the header's own
 * initialisation, which would wipe our functions, and at the stop it becomes byte for byte what it was.
 */
#include "agent/nvtx.h"

enum { PUSH_A = NVTX_CORE + 8 };

bool xp_agent_nvtx_is_ours(const void *function)
{
	if (function == (const void *)xp_agent_nvtx_nothing)
		return true;
	for (unsigned i = 0; i < NVTX_SLOTS; i++)
		if (function && xp_agent_nvtx_hooks[i] == function)
			return true;
	return false;
}

bool xp_agent_nvtx_is_hooked(const struct nvtx_globals *globals)
{
	return __atomic_load_n(&globals->slots[PUSH_A], __ATOMIC_ACQUIRE) == xp_agent_nvtx_hooks[PUSH_A];
}

/* The place of this copy when an earlier look hooked it, else a new one; NULL: no room. */
static struct nvtx_copy *place_of(const struct nvtx_globals *globals)
{
	struct nvtx *nvtx = &xp_agent.nvtx;
	uint32_t n = __atomic_load_n(&nvtx->n_copies, __ATOMIC_ACQUIRE), index;

	for (uint32_t i = 0; i < n && i < XP_AGENT_SITES; i++)
		if (__atomic_load_n(&nvtx->copies[i].ready, __ATOMIC_ACQUIRE) && nvtx->copies[i].at == globals)
			return &nvtx->copies[i];
	index = __atomic_fetch_add(&nvtx->n_copies, 1, __ATOMIC_ACQ_REL);
	return index < XP_AGENT_SITES ? &nvtx->copies[index] : NULL;
}

static void put(struct nvtx_copy *copy, unsigned slot, void *function)
{
	void *before = __atomic_load_n(&copy->at->slots[slot], __ATOMIC_ACQUIRE);

	if (before == function)
		return;
	copy->before[slot] = before;
	if (__atomic_compare_exchange_n(&copy->at->slots[slot], &before, function, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		copy->ours |= 1ull << slot;
}

bool xp_agent_nvtx_hook(struct nvtx_globals *globals)
{
	struct nvtx_copy *copy = place_of(globals);
	bool fresh = __atomic_load_n(&globals->state, __ATOMIC_ACQUIRE) == NVTX_FRESH;

	if (!copy)
		return false;
	__atomic_store_n(&copy->ready, 0, __ATOMIC_RELAXED);
	copy->at = globals;
	copy->ours = 0;
	/* Handles first: a range may use one at once. */
	for (unsigned i = NVTX_SLOTS; i-- > 0;) {
		if (xp_agent_nvtx_hooks[i])
			put(copy, i, xp_agent_nvtx_hooks[i]);
		else if (fresh)
			put(copy, i, (void *)xp_agent_nvtx_nothing);
	}
	__atomic_store_n(&copy->ready, 1, __ATOMIC_RELEASE);
	return true;
}

/*
 * The header's own functions go back only into a copy that is still FRESH: in a COMPLETE one they would call themselves for ever. Slots
 * that something else has changed meanwhile are left to it. Its library may have been unloaded and another one lie there now, in pages that
 * are read-only, where even an exchange that fails would end the program: so a slot is read first.
 */
void xp_agent_nvtx_unhook(struct nvtx_copy *copy)
{
	bool fresh = __atomic_load_n(&copy->at->state, __ATOMIC_ACQUIRE) == NVTX_FRESH;

	for (unsigned i = 0; i < NVTX_SLOTS; i++) {
		void *hook = xp_agent_nvtx_hooks[i] ? xp_agent_nvtx_hooks[i] : (void *)xp_agent_nvtx_nothing;

		if (copy->ours >> i & 1 && __atomic_load_n(&copy->at->slots[i], __ATOMIC_ACQUIRE) == hook)
			__atomic_compare_exchange_n(&copy->at->slots[i], &hook, fresh ? copy->before[i] : NULL, false, __ATOMIC_SEQ_CST,
						    __ATOMIC_SEQ_CST);
	}
	copy->ours = 0;
}
