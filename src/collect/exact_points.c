/* SPDX-License-Identifier: Apache-2.0 */
/* Plan -> engine points. In: resolved host endpoints. Out: each place once, with the endpoints that it serves. No state. */
#include <string.h>

#include "collect/exact_priv.h"

struct builder {
	const struct xp_plan *plan;
	struct xp_store *store;
	struct xp_point *points;
	struct xp_exact_point *meanings;
	size_t n;
};

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_point(const struct xp_point *a, const struct xp_point *b)
{
	return a->at == b->at && a->offset == b->offset && a->ref_ctr_offset == b->ref_ctr_offset && a->nr == b->nr &&
	       same_text(a->path, b->path) && same_text(a->category, b->category) && same_text(a->name, b->name);
}

/* Several endpoints may name one place: it is armed once and its events carry all their bits. */
static void add(struct builder *builder, unsigned endpoint, const struct xp_point *point, enum xp_event_type type,
		const struct xp_site *site)
{
	for (size_t i = 0; i < builder->n; i++) {
		if (builder->meanings[i].type != type || !same_point(&builder->points[i], point))
			continue;
		builder->meanings[i].endpoints |= 1u << endpoint;
		return;
	}
	builder->points[builder->n] = *point;
	builder->meanings[builder->n++] = (struct xp_exact_point){
		.type = type,
		.endpoints = 1u << endpoint,
		.site = xp_store_site(builder->store, site),
		.goroutine = point->goroutine,
	};
}

static enum xp_point_at place_of(const struct xp_resolved *resolved, const struct xp_probe_site *site)
{
	if (resolved->usdt_provider)
		return XP_POINT_MARKER;
	if (site->uretprobe)
		return XP_POINT_RETURN;
	return site->exit_site ? XP_POINT_EXIT : XP_POINT_ENTRY;
}

static void add_resolved(struct builder *builder, unsigned index)
{
	static const enum xp_probe_kind kinds[XP_POINT_AT_COUNT] = {
		[XP_POINT_ENTRY] = XP_PROBE_UPROBE,
		[XP_POINT_EXIT] = XP_PROBE_UPROBE,
		[XP_POINT_RETURN] = XP_PROBE_URETPROBE,
		[XP_POINT_MARKER] = XP_PROBE_USDT,
	};
	const struct xp_endpoint *endpoint = &builder->plan->endpoints[index];
	const struct xp_resolved *resolved = endpoint->resolved;

	for (size_t i = 0; i < resolved->n_sites; i++) {
		const struct xp_probe_site *site = &resolved->sites[i];
		const struct xp_point point = {
			.at = place_of(resolved, site),
			.path = resolved->attach_path,
			.offset = site->offset,
			.ref_ctr_offset = site->ref_ctr_offset,
			.goroutine = resolved->goroutine_key,
			.selector = endpoint->selector,
		};
		const struct xp_site told = {
			.probe_kind = kinds[point.at],
			.binary_path = resolved->binary_path,
			.build_id = resolved->build_id,
			.symbol = resolved->usdt_provider ? resolved->usdt_name : resolved->symbol,
			.symbol_demangled = resolved->symbol_demangled,
			.provider = resolved->usdt_provider,
			.offset = XP_SOME(resolved->file_offset),
		};

		add(builder, index, &point, endpoint->type, &told);
	}
}

static void add_syscall(struct builder *builder, unsigned index)
{
	const struct xp_endpoint *endpoint = &builder->plan->endpoints[index];
	const struct xp_point point = {
		.at = endpoint->type == XP_EV_SYSCALL_ENTRY ? XP_POINT_SYSCALL_ENTRY : XP_POINT_SYSCALL_EXIT,
		.nr = endpoint->syscall.number,
		.selector = endpoint->selector,
	};
	const struct xp_site told = { .probe_kind = XP_PROBE_SYSCALL, .symbol = endpoint->syscall.name };

	add(builder, index, &point, endpoint->type, &told);
}

static void add_tracepoint(struct builder *builder, unsigned index)
{
	const struct xp_endpoint *endpoint = &builder->plan->endpoints[index];
	const struct xp_point point = {
		.at = XP_POINT_TRACEPOINT,
		.category = endpoint->tracepoint.category,
		.name = endpoint->tracepoint.name,
		.selector = endpoint->selector,
	};
	const struct xp_site told = {
		.probe_kind = XP_PROBE_TRACEPOINT,
		.symbol = endpoint->tracepoint.name,
		.category = endpoint->tracepoint.category,
	};

	add(builder, index, &point, endpoint->type, &told);
}

static bool is_host(const struct xp_endpoint *endpoint)
{
	return endpoint->family->host;
}

static size_t most_points(const struct xp_plan *plan)
{
	size_t n = 0;

	for (unsigned i = 0; i < plan->n_endpoints; i++)
		n += plan->endpoints[i].resolved ? plan->endpoints[i].resolved->n_sites : 1;
	return n;
}

int xp_exact_points(const struct xp_plan *plan, struct xp_store *store, struct xp_point **ret_points, struct xp_exact_point **ret_meanings,
		    size_t *ret_n, struct xp_err *reterr)
{
	struct xp_arena *arena = xp_store_arena(store);
	size_t most = most_points(plan);
	struct builder builder = {
		.plan = plan,
		.store = store,
		.points = xp_arena_array(arena, struct xp_point, most),
		.meanings = xp_arena_array(arena, struct xp_exact_point, most),
	};

	for (unsigned i = 0; i < plan->n_endpoints; i++) {
		const struct xp_endpoint *endpoint = &plan->endpoints[i];

		if (!is_host(endpoint))
			continue;
		if (endpoint->resolved)
			add_resolved(&builder, i);
		else if (endpoint->type == XP_EV_SYSCALL_ENTRY || endpoint->type == XP_EV_SYSCALL_EXIT)
			add_syscall(&builder, i);
		else if (endpoint->type == XP_EV_TRACEPOINT)
			add_tracepoint(&builder, i);
		else
			return xp_fail(reterr, XP_E_INTERNAL, "%s was not resolved on the target", endpoint->selector);
	}
	*ret_points = builder.points;
	*ret_meanings = builder.meanings;
	*ret_n = builder.n;
	return 0;
}
