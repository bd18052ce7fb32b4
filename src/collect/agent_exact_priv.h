/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the agent's exact capture. */
#ifndef XP_COLLECT_AGENT_EXACT_PRIV_H
#define XP_COLLECT_AGENT_EXACT_PRIV_H

#include "collect/agent_exact.h"
#include "collect/exact_priv.h"

/* A name of the agent's table, and which endpoints accept it. */
struct xp_agent_name {
	uint32_t text;	  /* of the store; 0: not told */
	uint32_t kernels; /* endpoint bits: kernel selectors whose expression accepts it */
	uint32_t apis[XP_API_DOMAIN_COUNT];
};

/* How many pairs an edge surely has. */
struct xp_agent_edge {
	uint64_t starts, ends;	 /* events of the store with its bits */
	uint64_t pairs, counted; /* pairs as last counted, and the events of the store then */
};

struct xp_agent_exact {
	const struct xp_plan *plan;
	struct xp_exact *host; /* borrowed; NULL: none */
	struct xp_store *own;  /* NULL: the host's is used */
	struct xp_store *store;
	struct xp_agent_capture capture;
	struct xp_agent_name *names; /* by id */
	uint32_t n_names;
	struct xp_map tids; /* thread id in the target's namespace -> in ours */
	bool nested;
	int8_t filter_of[XP_MAX_ENDPOINTS]; /* of the request; -1: none */
	uint64_t loads, next_follow_ns;	    /* libraries that were loaded when the target was last looked through for NVTX */
	uint16_t process;
	struct xp_agent_edge edges[XP_MAX_EDGES];
	uint64_t scanned; /* events of the store that the edges have counted */
	uint64_t next_count_ns;
	uint64_t observed, callbacks, activities; /* records delivered */
	uint64_t filtered;			  /* by the tool: expressions that the agent cannot try */
	uint64_t lost;				  /* reserved and never completed */
	bool full;
};

/* agent_names.c: reads what is new of the name table. INVALID_EVENT_SELECTOR: an expression exceeds its step limit. */
int xp_agent_names_read(struct xp_agent_exact *exact, struct xp_err *reterr);
const struct xp_agent_name *xp_agent_name_at(const struct xp_agent_exact *exact, uint32_t id); /* never NULL */
/* agent_records.c: reads the ring empty. */
int xp_agent_records_read(struct xp_agent_exact *exact, struct xp_err *reterr);
/* agent_nvtx.c: text of the store, 0: not told; endpoints of this type that the filters stand for; looks for new libraries now and then. */
bool xp_agent_is_nvtx(uint32_t kind);
uint32_t xp_agent_nvtx_name(const struct xp_agent_exact *exact, uint32_t id);
uint32_t xp_agent_nvtx_endpoints(const struct xp_agent_exact *exact, uint32_t filters, uint8_t type);
void xp_agent_nvtx_follow(struct xp_agent_exact *exact);
/* agent_request.c: index of the endpoint's filter, -1: none. */
int xp_agent_filter_of(const struct xp_agent_request *request, const struct xp_endpoint *endpoint);
/* agent_pairs.c: true when every edge has `samples` pairs for sure. */
bool xp_agent_has_samples(struct xp_agent_exact *exact, uint64_t now_ns);

#endif
