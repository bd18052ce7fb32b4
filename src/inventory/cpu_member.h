/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler of inventory `cpu_samples`, alone or shared with those of other processes: inventory/peers.h with its samples and counts. */
#ifndef XP_INVENTORY_CPU_MEMBER_H
#define XP_INVENTORY_CPU_MEMBER_H

#include "elf/python.h"
#include "engine/bpf_sample.h"
#include "inventory/cpu_sum.h"
#include "inventory/inventory.h"
#include "inventory/peers.h"

struct xp_cpu_member {
	struct xp_peer peer; /* engine: struct xp_sampler; floor: one sample */
	struct xp_cpu_sum sum;
	struct xp_sampler_counts counts; /* once it is disarmed */
};

/* Released with xp_peer_leave. */
int xp_cpu_member_join(struct xp_cpu_member *member, const struct xp_inventory_request *request, uint32_t pid, struct xp_err *reterr);
/* The sampler for all, by the first, and the layout of each process's Python. */
int xp_cpu_member_load(struct xp_cpu_member *member, const struct xp_inventory_request *request, uint32_t pid,
		       const struct xp_python *python, struct xp_err *reterr);
/* NULL: not loaded. */
struct xp_sampler *xp_cpu_member_sampler(const struct xp_cpu_member *member);
/* So far. */
void xp_cpu_member_count(const struct xp_cpu_member *member, struct xp_sampler_counts *ret_counts);
/* One of those that share a ring is woken by it; -1 for the others. */
int xp_cpu_member_fd(const struct xp_cpu_member *member);

#endif
