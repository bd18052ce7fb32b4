/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints + target + rights + bounds -> what to arm. Pure and printable: `validate` shows this stage, `measure` runs it. */
#ifndef XP_PLAN_PLAN_H
#define XP_PLAN_PLAN_H

#include "base/note.h"
#include "family/family.h"
#include "plan/policy.h"
#include "target/rights.h"

enum { XP_MAX_ENDPOINTS = 16, XP_MAX_EDGES = 8, XP_MAX_CUDA_FILTERS = 8, XP_MAX_LINUX_SLOTS = 16 };

/* The policies of contract 9, as policy_list.def lists them. */
enum xp_policy_id {
#define XP_POLICY(id, stem) XP_POLICY_##id,
#include "plan/policy_list.def"
#undef XP_POLICY
	XP_POLICY_COUNT
};
extern const char *const xp_policy_names[XP_POLICY_COUNT];
/* Both spellings (first-after, first_after); -1 when unknown. */
int xp_policy_from_name(const char *name);

/* Contract 9 "Recommendation". */
struct xp_recommendation {
	int policy; /* enum xp_policy_id */
	const char *reason;
	const char *compatible_policies[XP_POLICY_COUNT];
	size_t n_compatible;
	bool possible[XP_POLICY_COUNT];
};
struct xp_recommendation xp_recommend(const struct xp_endpoint *start, const struct xp_endpoint *end);

struct xp_bounds {
	struct xp_opt_u64 samples, duration_ms;
	uint64_t timeout_ms, max_events;
	double max_cost;      /* 0 = no limit */
	double max_unmatched; /* < 0: not given */
};

struct xp_edge {
	const char *name;    /* graphs; NULL for a single pair */
	unsigned start, end; /* indices into endpoints */
	enum xp_policy_id policy;
};

/* One reason why the plan cannot run now. `err` is the whole error (owned by the plan's arena); endpoint "start", "end" or NULL. */
struct xp_plan_issue {
	const char *code, *message, *endpoint;
	const struct xp_err *err;
};

struct xp_plan {
	struct xp_arena *arena; /* borrowed: the session's */
	struct xp_target *target;
	struct xp_endpoint endpoints[XP_MAX_ENDPOINTS];
	unsigned n_endpoints;
	struct xp_edge edges[XP_MAX_EDGES];
	unsigned n_edges;
	struct xp_bounds bounds;
	bool agent_loaded;    /* an agent of ours is in the target already */
	bool records_only;    /* no CUPTI subscription may be taken */
	bool follow_restarts; /* an edge pairs a syscall's entry and exit: restart_syscall and rt_sigreturn are collected too */
	struct xp_plan_issue *issues;
	size_t n_issues;
	struct xp_feature *features; /* those that are missing, as tried */
	size_t n_features;
	struct xp_warnings warnings;
	uint32_t test_ring_bytes; /* test-only setting XPROBE_TEST_RING_BYTES; 0 = default */
};

#endif
