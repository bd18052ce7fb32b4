/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX in a capture: memory, hooks on, hooks off; and the start by NVTX_INJECTION64_PATH. A program's libraries each have a copy of the
 * NVTX header's globals; without a tool their slots are empty. State: xp_agent.nvtx.
 */
#include "agent/nvtx.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/compat.h"

#define THREADS_BYTES (NVTX_THREADS * sizeof(struct nvtx_thread))
#define USED_BYTES (NVTX_THREADS * sizeof(uint16_t))
#define RANGES_BYTES (NVTX_RANGES * sizeof(struct nvtx_range))

static bool make_texts(struct nvtx_texts *texts, uint32_t capacity)
{
	struct xp_agent_nvtx_text *memory, *none = NULL;

	if (__atomic_load_n(&texts->at, __ATOMIC_ACQUIRE))
		return true;
	memory = xp_agent_map(capacity * sizeof(*memory));
	texts->capacity = capacity;
	/* Two threads may begin at once; the loser's pages were never touched. */
	if (memory && !__atomic_compare_exchange_n(&texts->at, &none, memory, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		munmap(memory, capacity * sizeof(*memory));
	return memory || texts->at;
}

static bool make_handles(void)
{
	return make_texts(&xp_agent.nvtx.domains, NVTX_DOMAINS) && make_texts(&xp_agent.nvtx.strings, NVTX_STRINGS);
}

static bool make_tables(void)
{
	struct nvtx *nvtx = &xp_agent.nvtx;

	if (!nvtx->threads)
		nvtx->threads = xp_agent_map(THREADS_BYTES);
	if (!nvtx->used)
		nvtx->used = xp_agent_map(USED_BYTES);
	if (!nvtx->ranges)
		nvtx->ranges = xp_agent_map(RANGES_BYTES);
	if (!nvtx->copies)
		nvtx->copies = xp_agent_map(XP_AGENT_SITES * sizeof(*nvtx->copies));
	nvtx->names.at = (struct xp_agent_nvtx_text *)(xp_agent.memory + XP_AGENT_NVTX_NAMES_OFFSET);
	nvtx->names.capacity = XP_AGENT_NVTX_NAMES;
	return nvtx->threads && nvtx->used && nvtx->ranges && nvtx->copies && make_handles();
}

/* What an earlier capture left: private memory reads as zeros afterwards, the shared one loses its pages. */
static bool clear_tables(void)
{
	struct nvtx *nvtx = &xp_agent.nvtx;

	nvtx->n_copies = 0;
	nvtx->n_used = 0;
	nvtx->unnamed = 0;
	nvtx->unplaced = 0;
	memset(&xp_agent.control->nvtx, 0, sizeof(xp_agent.control->nvtx));
	return !madvise(nvtx->threads, THREADS_BYTES, MADV_DONTNEED) && !madvise(nvtx->ranges, RANGES_BYTES, MADV_DONTNEED) &&
	       !madvise(nvtx->copies, XP_AGENT_SITES * sizeof(*nvtx->copies), MADV_DONTNEED) &&
	       !fallocate(xp_agent.fd, 3 /* FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE */, XP_AGENT_NVTX_NAMES_OFFSET,
			  XP_AGENT_NVTX_NAMES_BYTES);
}

/* With a tool in the environment an unused copy will load it at its first call; unless that tool is us, it is left to it. */
static bool another_tool_will_come(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	Dl_info self;

	return path && *path && !(dladdr(&xp_agent, &self) && self.dli_fname && !strcmp(self.dli_fname, path));
}

static void choose_filters(void)
{
	const struct xp_agent_request *request = &xp_agent.request;
	struct nvtx *nvtx = &xp_agent.nvtx;

	nvtx->start_bits = 0;
	nvtx->end_bits = 0;
	for (unsigned i = 0; i < request->n_filters; i++) {
		nvtx->start_bits |= (uint8_t)((request->filters[i].kind == XP_CAPTURE_NVTX_START) << i);
		nvtx->end_bits |= (uint8_t)((request->filters[i].kind == XP_CAPTURE_NVTX_END) << i);
		nvtx->same_as[i] = (uint8_t)i;
		for (unsigned k = i; k-- > 0;)
			if (request->filters[k].kind >= XP_CAPTURE_NVTX_START && request->filters[k].match == request->filters[i].match &&
			    !strcmp(request->filters[k].name, request->filters[i].name))
				nvtx->same_as[i] = (uint8_t)k;
	}
}

int xp_agent_nvtx_on(void)
{
	struct nvtx *nvtx = &xp_agent.nvtx;

	if (!make_tables() || !clear_tables())
		return xp_agent_say(XP_AGENT_NO_MEMORY, "mmap", errno, "NVTX tables");
	choose_filters();
	nvtx->foreign_start = another_tool_will_come();
	__atomic_store_n(&nvtx->generation, xp_agent.generation, __ATOMIC_SEQ_CST);
	xp_agent_nvtx_walk();
	return XP_AGENT_OK;
}

static void sum_up(void)
{
	struct xp_agent_nvtx *told = &xp_agent.control->nvtx;

	told->calls = xp_agent_nvtx_calls();
	told->unnamed = __atomic_load_n(&xp_agent.nvtx.unnamed, __ATOMIC_RELAXED);
	told->unplaced = __atomic_load_n(&xp_agent.nvtx.unplaced, __ATOMIC_RELAXED);
}

void xp_agent_nvtx_tick(void)
{
	if (!xp_agent.nvtx.generation)
		return;
	xp_agent_nvtx_walk();
	sum_up();
}

/* The last look tells of copies that were loaded or wiped since; nobody is followed from then on. */
void xp_agent_nvtx_off(void)
{
	xp_agent_nvtx_walk();
	__atomic_store_n(&xp_agent.nvtx.generation, 0, __ATOMIC_SEQ_CST);
	xp_agent_nvtx_restore();
	xp_agent_nvtx_drain();
	sum_up();
}

/*
 * A copy that is being initialised by its library's first call. Handles are made from now on, so that later captures know their texts; the
 * other slots only while a capture runs, whose stop may come at the same time: who sees the other takes the hooks off.
 */
static void take_copy(struct nvtx_globals *globals)
{
	for (unsigned i = 0; i < NVTX_SLOTS; i++)
		if (xp_agent_nvtx_makes_handles(i))
			__atomic_store_n(&globals->slots[i], xp_agent_nvtx_hooks[i], __ATOMIC_RELEASE);
	if (!__atomic_load_n(&xp_agent.nvtx.generation, __ATOMIC_SEQ_CST) || !xp_agent_nvtx_hook(globals))
		return;
	__atomic_fetch_add(&xp_agent.control->nvtx.copies, 1, __ATOMIC_RELAXED);
	if (!__atomic_load_n(&xp_agent.nvtx.generation, __ATOMIC_SEQ_CST))
		xp_agent_nvtx_restore();
}

/* NVTX_INJECTION64_PATH: called by each copy of the header at its library's first call; 1 is good. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(const void *(*get_export_table)(uint32_t id));
int InitializeInjectionNvtx2(const void *(*get_export_table)(uint32_t id))
{
	const struct nvtx_globals shape = { .callbacks_size = 16, .version_size = 24, .version = NVTX_VERSION };
	const char *table = get_export_table ? get_export_table(1 /* NVTX_ETID_CALLBACKS */) : NULL;
	struct nvtx_globals *globals = table ? (struct nvtx_globals *)(table - offsetof(struct nvtx_globals, callbacks_size)) : NULL;

	if (xprobe_agent_start() || !make_handles())
		return 0;
	if (!globals || globals->callbacks_size != shape.callbacks_size || globals->version_size != shape.version_size ||
	    globals->version != shape.version || globals->core[1] != &globals->slots[NVTX_CORE] ||
	    globals->core2[1] != &globals->slots[NVTX_CORE2])
		return 0;
	take_copy(globals);
	return 1;
}
