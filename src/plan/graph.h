/* SPDX-License-Identifier: Apache-2.0 */
/* A graph as a plan: each endpoint resolved once, each edge judged like a single pair, every fault an issue with its rule. */
#ifndef XP_PLAN_GRAPH_H
#define XP_PLAN_GRAPH_H

#include "plan/build.h"
#include "plan/graph_spec.h"

/* Endpoints and edges beyond this many are only counted. */
enum { XP_GRAPH_LOOKED_AT = 64 };

enum xp_graph_scope { XP_SCOPE_GRAPH, XP_SCOPE_ENDPOINT, XP_SCOPE_EDGE, XP_SCOPE_COUNT };

/* Contract 10.6, table of rules. */
enum xp_graph_rule {
	XP_GRAPH_EDGE_COUNT,
	XP_GRAPH_ENDPOINT_COUNT,
	XP_GRAPH_BOUNDS,
	XP_GRAPH_DUPLICATE_EDGE,
	XP_GRAPH_CUDA_FILTERS,
	XP_GRAPH_MIXED_ACTIVATION,
	XP_GRAPH_UNUSED,
	XP_GRAPH_SELECTOR,
	XP_GRAPH_RESOLUTION,
	XP_GRAPH_CAPABILITY,
	XP_GRAPH_UNKNOWN_ENDPOINT,
	XP_GRAPH_POLICY,
	XP_GRAPH_CLOCK,
	XP_GRAPH_RULE_COUNT
};

struct xp_graph_issue {
	int scope;
	const char *name; /* of the endpoint or edge; NULL: the whole graph */
	int rule;
	const char *code, *message;
	const struct xp_err *err; /* the whole error; lives in the plan's arena */
};

struct xp_graph_endpoint {
	const char *name;
	int index;	   /* into plan->endpoints, where equal selectors are one; -1: none */
	const char *label; /* name under which the plan's issues speak of it */
	bool resolved, faulty;
	const char **used_by; /* edges */
	size_t n_used_by;
};

struct xp_graph_edge {
	const struct xp_graph_edge_spec *spec;
	const struct xp_graph_endpoint *start, *end; /* NULL: not among those looked at */
	bool faulty;				     /* its endpoints' faults included */
};

struct xp_graph {
	struct xp_plan *plan;
	const struct xp_graph_spec *spec;
	struct xp_graph_endpoint *endpoints;
	size_t n_endpoints;
	struct xp_graph_edge *edges;
	size_t n_edges;
	unsigned cuda_filters, linux_slots;
	struct xp_graph_issue *issues;
	size_t n_issues, cap_issues;
};

/*
 * Fills an initialised plan from the spec, as far as it goes. Faults of the graph are issues; errors are those of the target itself
 * (gone, reused, not readable) and INTERNAL. What is returned lives in the plan's arena and borrows the spec.
 */
int xp_graph_plan(struct xp_plan *plan, const struct xp_graph_spec *spec, const struct xp_plan_options *options, struct xp_graph *ret_graph,
		  struct xp_err *reterr);
/* The first issue as the error of a command that has to stop on it (details.edge when it is one's); 0 when there is none. */
int xp_graph_first_issue(const struct xp_graph *graph, struct xp_err *reterr);

/* graph_rules.c: issues that need no target (before resolution), and those of the whole (behind it). */
void xp_graph_check_shape(struct xp_graph *graph);
void xp_graph_check_whole(struct xp_graph *graph);
/* Takes *err (moves it) as an issue. */
/* An endpoint that the agent would watch, and that can be watched as far as the plan knows. */
bool xp_graph_wants_agent(const struct xp_graph *graph);
/* The plan's issues from `first` on are faults of every such endpoint, and of the edges that use them. */
void xp_graph_blame_agent(struct xp_graph *graph, size_t first);
void xp_graph_add_issue(struct xp_graph *graph, enum xp_graph_scope scope, const char *name, enum xp_graph_rule rule, struct xp_err *err);
/* Distinct filters that the agent needs for these endpoints. */
unsigned xp_graph_cuda_filters(const struct xp_plan *plan);

#endif
