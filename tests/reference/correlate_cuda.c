/* SPDX-License-Identifier: Apache-2.0 */
/* The part of correlate.c about correlation ids: contract 9 "exact CUDA" and 9.1 rule 6, by asking all events each time. */
enum { NO_CONTEXT = 0 }; /* contexts of the tests count from 1 */

static bool ref_is_api(const struct xp_event *e)
{
	return e->type == XP_EV_CUDA_API_ENTRY || e->type == XP_EV_CUDA_API_EXIT;
}

static bool ref_has_correlation(const struct xp_event *e)
{
	return !(e->flags & XP_EVF_NO_CORRELATION) && e->gpu.correlation != UINT32_MAX;
}

static bool ref_launches(const struct reference *r)
{
	return r->c->start.type == XP_EV_CUDA_API_ENTRY && r->c->end.type == XP_EV_GPU_KERNEL_START;
}

/* The context an event counts in; false: it has none and finds none. */
static bool ref_context(const struct reference *r, int i, uint32_t *ret_context)
{
	uint32_t found = NO_CONTEXT;

	if (!(r->e[i].flags & XP_EVF_NO_CONTEXT)) {
		*ret_context = r->e[i].gpu.context;
		return true;
	}
	if (!ref_is_api(&r->e[i]))
		return false;
	for (int k = 0; k < r->n; k++) {
		const struct xp_event *a = &r->e[k];

		if (ref_is_api(a) || a->flags & (XP_EVF_INVALID_TIME | XP_EVF_NO_CONTEXT | XP_EVF_LAUNCH_UNKNOWN) ||
		    !ref_has_correlation(a) || a->gpu.correlation != r->e[i].gpu.correlation)
			continue;
		if (found != NO_CONTEXT && found != a->gpu.context)
			return false; /* activities of this id in several contexts */
		found = a->gpu.context;
	}
	*ret_context = found;
	return true;
}

static bool ref_takes_part(const struct reference *r, int i)
{
	uint32_t context;

	if ((!ref_start(r, i) && !ref_end(r, i)) || !ref_has_correlation(&r->e[i]) || !ref_context(r, i, &context))
		return false;
	return !(ref_launches(r) && r->e[i].flags & XP_EVF_LAUNCH_UNKNOWN);
}

static int64_t ref_node(const struct reference *r, int i)
{
	return r->e[i].flags & XP_EVF_GRAPH_NODE ? (int64_t)xp_store_detail(r->c->store, &r->e[i])->gpu.node : -1;
}

static bool ref_same_group(const struct reference *r, int a, int b)
{
	uint32_t context_a, context_b;

	if (!ref_takes_part(r, a) || !ref_takes_part(r, b) || r->e[a].gpu.correlation != r->e[b].gpu.correlation)
		return false;
	if (!ref_context(r, a, &context_a) || !ref_context(r, b, &context_b) || context_a != context_b)
		return false;
	return ref_launches(r) || ref_is_api(&r->e[a]) || ref_node(r, a) == ref_node(r, b);
}

static bool ref_first_of_group(const struct reference *r, int i)
{
	for (int k = 0; k < i; k++)
		if (ref_same_group(r, k, i))
			return false;
	return ref_takes_part(r, i);
}

static void ref_try_pair(struct reference *r, int s, int e)
{
	uint64_t error_ns = r->e[s].error_ns > r->e[e].error_ns ? r->e[s].error_ns : r->e[e].error_ns, early = r->e[s].t_ns - r->e[e].t_ns;

	if (e > s)
		r->pair[s][e] = true;
	else if (ref_launches(r) && early > 0 && error_ns != XP_ERROR_UNKNOWN && early <= error_ns)
		r->early[s][e] = true;
}

static bool ref_different_nodes(const struct reference *r, const int *ends, int n)
{
	for (int i = 0; i < n; i++) {
		if (ref_node(r, ends[i]) < 0)
			return false;
		for (int k = 0; k < i; k++)
			if (ref_node(r, ends[i]) == ref_node(r, ends[k]))
				return false;
	}
	return true;
}

static void ref_group(struct reference *r, int first)
{
	int starts[REF_MAX], ends[REF_MAX], n_starts = 0, n_ends = 0, got = 0;

	for (int i = 0; i < r->n; i++) {
		if (!ref_same_group(r, first, i))
			continue;
		if (ref_start(r, i))
			starts[n_starts++] = i;
		if (ref_end(r, i))
			ends[n_ends++] = i;
	}
	if (!n_starts || !n_ends)
		return;
	if (n_starts == n_ends) {
		for (int i = 0; i < n_starts; i++)
			ref_try_pair(r, starts[i], ends[i]);
	} else if (ref_launches(r) && n_starts == 1 && r->e[starts[0]].flags & XP_EVF_GRAPH_LAUNCH &&
		   ref_different_nodes(r, ends, n_ends)) {
		for (int i = 0; i < n_ends; i++) {
			ref_try_pair(r, starts[0], ends[i]);
			got += r->pair[starts[0]][ends[i]];
		}
		r->many[starts[0]] = got > 1;
	} else {
		for (int i = 0; i < r->n; i++)
			if (ref_same_group(r, first, i))
				r->crowd[i] = first;
	}
}

static void ref_cuda(struct reference *r)
{
	for (int i = 0; i < r->n; i++)
		if (ref_first_of_group(r, i))
			ref_group(r, i);
}
