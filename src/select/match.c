/* SPDX-License-Identifier: Apache-2.0 */
/* Selectors against stored events. In: endpoints and a store. Out: endpoint bits. No state beyond one pass. */
#include "select/match.h"

#include <assert.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/hash.h"
#include "elf/demangle.h"
#include "family/cuda_names.h"
#include "family/pattern.h"

static bool same_text(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

/* A selector may name a link to the file that the capture names as the target mapped it. */
static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	if (!a || !b)
		return false;
	return !strcmp(a, b) || (!stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

static bool matches_uprobe(const struct xp_endpoint *endpoint, const struct xp_site *site)
{
	bool named = same_text(site->symbol, endpoint->uprobe.name);

	switch (endpoint->uprobe.target) {
	case XP_UPROBE_OFFSET:
		named = site->offset.set && site->offset.v == endpoint->uprobe.offset;
		break;
	case XP_UPROBE_FULL_NAME:
		named = named || same_text(site->symbol_demangled, endpoint->uprobe.name) ||
			(site->symbol && xp_demangles_to(site->symbol, strlen(site->symbol), endpoint->uprobe.name));
		break;
	case XP_UPROBE_SYMBOL:
		break;
	}
	return named && same_file(site->binary_path, endpoint->uprobe.path);
}

static bool matches_host(const struct xp_endpoint *endpoint, const struct xp_event *event, const struct xp_site *site)
{
	if (!site)
		return false;
	if (event->type == XP_EV_HOST_FUNCTION_ENTRY || event->type == XP_EV_HOST_FUNCTION_EXIT)
		return matches_uprobe(endpoint, site);
	if (event->type == XP_EV_SYSCALL_ENTRY || event->type == XP_EV_SYSCALL_EXIT)
		return !(event->flags & XP_EVF_COMPAT) && same_text(site->symbol, endpoint->syscall.name);
	if (event->type == XP_EV_TRACEPOINT)
		return same_text(site->category, endpoint->tracepoint.category) && same_text(site->symbol, endpoint->tracepoint.name);
	return event->type == XP_EV_PYTHON_GC_START || event->type == XP_EV_PYTHON_GC_END;
}

static int matches_name(const struct xp_endpoint *endpoint, const char *name, struct xp_err *reterr)
{
	if (!endpoint->cuda.pattern || endpoint->cuda.match == XP_MATCH_ANY)
		return 1;
	return name ? xp_pattern_match(endpoint, name, strlen(name), reterr) : 0;
}

static int matches_kernel(const struct xp_endpoint *endpoint, const struct xp_store *store, const struct xp_event_detail *detail,
			  struct xp_err *reterr)
{
	const char *name = detail ? xp_store_text(store, detail->gpu.name) : NULL;
	const char *function = detail ? xp_store_text(store, detail->gpu.function) : NULL;

	if (!endpoint->cuda.on_function)
		return matches_name(endpoint, name, reterr);
	if (function || !name)
		return matches_name(endpoint, function, reterr);
	xp_auto(xp_arena_free) struct xp_arena *scratch = xp_arena_new();
	return matches_name(endpoint, xp_kernel_function(scratch, name), reterr);
}

static int matches_cuda(const struct xp_endpoint *endpoint, const struct xp_store *store, const struct xp_event *event,
			struct xp_err *reterr)
{
	const struct xp_event_detail *detail = xp_store_detail(store, event);
	const char *api;

	switch ((int)event->type) {
	case XP_EV_CUDA_API_ENTRY:
	case XP_EV_CUDA_API_EXIT:
		api = detail ? xp_store_text(store, detail->gpu.name) : NULL;
		return api && xp_cuda_api_matches(endpoint, (enum xp_api_domain)detail->gpu.callback_domain, api);
	case XP_EV_GPU_KERNEL_START:
	case XP_EV_GPU_KERNEL_END:
		return matches_kernel(endpoint, store, detail, reterr);
	case XP_EV_GPU_MEMCPY_START:
	case XP_EV_GPU_MEMCPY_END:
		return endpoint->cuda.memcpy_kind < 0 || (detail && detail->gpu.memcpy_kind == endpoint->cuda.memcpy_kind);
	case XP_EV_NVTX_RANGE_START:
	case XP_EV_NVTX_RANGE_END:
		return matches_name(endpoint, detail ? xp_store_text(store, detail->nvtx.name) : NULL, reterr);
	default:
		return 1; /* memset: the type tells all */
	}
}

int xp_endpoint_matches(const struct xp_endpoint *endpoint, const struct xp_store *store, const struct xp_event *event,
			struct xp_err *reterr)
{
	if (event->type != endpoint->type)
		return 0;
	if (xp_event_group_of(event->type) == XP_GROUP_HOST)
		return matches_host(endpoint, event, xp_store_site_at(store, event->site));
	return matches_cuda(endpoint, store, event, reterr);
}

/* What decides the answer for an event of one type, so that equal keys have equal answers. */
static uint64_t decisive(const struct xp_store *store, const struct xp_event *event)
{
	const struct xp_event_detail *detail = xp_store_detail(store, event);
	uint64_t key = (uint64_t)event->site << 1 | !!(event->flags & XP_EVF_COMPAT);

	if (xp_event_group_of(event->type) != XP_GROUP_CUDA || !detail)
		return key;
	uint64_t other =
		(uint64_t)detail->gpu.function << 16 | (uint64_t)(detail->gpu.callback_domain & 0xff) << 8 | detail->gpu.memcpy_kind;
	return xp_hash_mix(key) ^ other;
}

struct remembered {
	const struct xp_store *store;
	const struct xp_event *event;
};

/* value: index of an event with the same key, shifted over its answer. The map's keys are mixed, so the parts are compared. */
static bool same_decision(uint64_t value, const void *arg)
{
	const struct remembered *now = arg;
	const struct xp_event *then = xp_store_events((struct xp_store *)now->store) + (value >> 1);
	const struct xp_event_detail *a = xp_store_detail(now->store, then), *b = xp_store_detail(now->store, now->event);

	if (then->site != now->event->site || (then->flags ^ now->event->flags) & XP_EVF_COMPAT || !a != !b)
		return false;
	if (!a || xp_event_group_of(then->type) != XP_GROUP_CUDA)
		return true;
	return a->gpu.function == b->gpu.function && a->gpu.callback_domain == b->gpu.callback_domain &&
	       a->gpu.memcpy_kind == b->gpu.memcpy_kind;
}

static int match_all(const struct xp_endpoint *endpoint, uint32_t bit, struct xp_store *store, struct xp_map *known, struct xp_err *reterr)
{
	struct xp_event *events = xp_store_events(store);
	uint64_t n = xp_store_count(store);

	for (uint64_t i = 0; i < n; i++) {
		struct remembered query = { store, &events[i] };
		bool is_new;

		if (events[i].type != endpoint->type)
			continue;
		uint64_t *slot = xp_map_at(known, decisive(store, &events[i]), same_decision, &query, &is_new);
		if (is_new) {
			int answer = xp_endpoint_matches(endpoint, store, &events[i], reterr);

			if (answer < 0)
				return answer;
			*slot = i << 1 | (unsigned)answer;
		}
		if (*slot & 1)
			events[i].endpoints |= bit;
	}
	return 0;
}

static void mark_continuations(struct xp_store *store)
{
	struct xp_event *events = xp_store_events(store);

	for (uint64_t i = 0; i < xp_store_count(store); i++) {
		bool syscall = events[i].type == XP_EV_SYSCALL_ENTRY || events[i].type == XP_EV_SYSCALL_EXIT;

		if (syscall && !events[i].endpoints &&
		    (events[i].syscall_nr == SYS_restart_syscall || events[i].syscall_nr == SYS_rt_sigreturn))
			events[i].flags |= XP_EVF_CONTINUES;
	}
}

int xp_match_store(const struct xp_endpoint *endpoints, unsigned n, struct xp_store *store, struct xp_err *reterr)
{
	struct xp_map known = { 0 };
	int rc = 0;

	assert(n <= 32);
	for (unsigned i = 0; i < n && !rc; i++) {
		xp_map_clear(&known);
		rc = match_all(&endpoints[i], UINT32_C(1) << i, store, &known, reterr);
	}
	xp_map_done(&known);
	if (!rc)
		mark_continuations(store);
	return rc;
}
