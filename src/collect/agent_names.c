/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's name table -> texts of the store, each tried once against the selectors. In: new entries. Out: exact->names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/agent_exact_priv.h"
#include "event/api_name.h"
#include "family/cuda_names.h"
#include "family/pattern.h"
#include "select/match.h"

enum { MAX_NAMES = 1 << 16 };

/* NULL and "no name" are tried like any other: `.*` accepts them. */
static int try_kernel(const struct xp_endpoint *endpoint, const char *text, struct xp_err *reterr)
{
	if (!endpoint->cuda.pattern || endpoint->cuda.match == XP_MATCH_ANY)
		return 1;
	if (!endpoint->cuda.on_function)
		return xp_pattern_match(endpoint, text, strlen(text), reterr);
	xp_auto(xp_arena_free) struct xp_arena *scratch = xp_arena_new();
	const char *function = xp_kernel_function(scratch, text);

	return function ? xp_pattern_match(endpoint, function, strlen(function), reterr) : 0;
}

static void try_api(const struct xp_endpoint *endpoint, uint32_t bit, const char *folded, struct xp_agent_name *name)
{
	for (unsigned domain = XP_API_DRIVER; domain < XP_API_DOMAIN_COUNT; domain++)
		if (xp_cuda_api_matches(endpoint, (enum xp_api_domain)domain, folded))
			name->apis[domain] |= bit;
}

static int try_all(const struct xp_agent_exact *exact, const char *text, struct xp_agent_name *name, struct xp_err *reterr)
{
	xp_auto(xp_arena_free) struct xp_arena *scratch = xp_arena_new();
	const char *folded = xp_cuda_fold(scratch, text);

	for (unsigned i = 0; i < exact->plan->n_endpoints; i++) {
		const struct xp_endpoint *endpoint = &exact->plan->endpoints[i];
		int accepted = 0;

		if (endpoint->type == XP_EV_CUDA_API_ENTRY || endpoint->type == XP_EV_CUDA_API_EXIT)
			try_api(endpoint, 1u << i, folded, name);
		else if (endpoint->type == XP_EV_GPU_KERNEL_START || endpoint->type == XP_EV_GPU_KERNEL_END)
			accepted = try_kernel(endpoint, text, reterr);
		if (accepted < 0)
			return accepted;
		name->kernels |= accepted ? 1u << i : 0;
	}
	return 0;
}

/* Ids count up from 1, so the table grows by doubling; one that jumps ahead is not one of ours. */
static struct xp_agent_name *place(struct xp_agent_exact *exact, uint32_t id)
{
	if (id >= MAX_NAMES)
		return NULL;
	if (id >= exact->n_names) {
		uint32_t n = exact->n_names ? exact->n_names : 64;

		while (n <= id)
			n *= 2;
		struct xp_agent_name *names = reallocarray(exact->names, n, sizeof(*names));

		if (!names)
			return NULL;
		memset(names + exact->n_names, 0, (n - exact->n_names) * sizeof(*names));
		exact->names = names;
		exact->n_names = n;
	}
	return &exact->names[id];
}

int xp_agent_names_read(struct xp_agent_exact *exact, struct xp_err *reterr)
{
	uint32_t id, length;
	const char *text;

	while (xp_agent_link_name(exact->capture.link, &id, &text, &length)) {
		struct xp_agent_name *name = place(exact, id);

		if (!name)
			return xp_fail_sys(reterr, ENOMEM, "reallocarray", "name %u of the agent", id);
		name->text = xp_store_intern(exact->store, text, length);
		int r = try_all(exact, xp_store_text(exact->store, name->text), name, reterr);

		if (r)
			return r;
	}
	return 0;
}

const struct xp_agent_name *xp_agent_name_at(const struct xp_agent_exact *exact, uint32_t id)
{
	static const struct xp_agent_name none;

	return id < exact->n_names ? &exact->names[id] : &none;
}
