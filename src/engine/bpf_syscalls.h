/* SPDX-License-Identifier: Apache-2.0 */
/* System calls of one process, or several, summed up in the kernel by bpf/syscalls.bpf.c: load, attach, window, detach, and what was
 * counted. */
#ifndef XP_ENGINE_BPF_SYSCALLS_H
#define XP_ENGINE_BPF_SYSCALLS_H

#include "engine/bpf_common.h"
#include "wire/syscalls.h"

struct xp_bpf_syscalls;

struct xp_bpf_syscalls_config {
	struct xp_bpf_targets targets;
	uint32_t max_groups;   /* different calls */
	uint32_t max_inflight; /* threads inside a call at one time */
	uint32_t max_cells;    /* threads x calls kept at one time; 0 = default */
};

/* Index of the target that a thread or a cell belongs to. */
static inline size_t xp_sys_target_of_thread(const struct xp_sys_thread *thread)
{
	return thread->flags >> XP_SYS_TARGET_SHIFT;
}
static inline size_t xp_sys_target_of_cell(const struct xp_sys_key *key)
{
	return key->thread & ((1u << XP_SYS_TARGET_BITS) - 1);
}

/* Receives what was counted. A thread comes before its cells when it ended, after all ended ones when it lives. */
struct xp_bpf_syscalls_sink {
	/* Negative: stop, reterr is filled. */
	int (*thread)(void *arg, const struct xp_sys_thread *thread, struct xp_err *reterr);
	int (*cell)(void *arg, const struct xp_sys_key *key, const struct xp_sys_cell *cell, struct xp_err *reterr);
	void *arg;
};

/* Opens and loads; attaches nothing. Returns owned. */
int xp_bpf_syscalls_load(const struct xp_bpf_syscalls_config *config, struct xp_bpf_syscalls **ret_engine, struct xp_err *reterr);
/* Accepts NULL; detaches what is attached. */
void xp_bpf_syscalls_free(struct xp_bpf_syscalls *engine);
XP_DEFINE_AUTO(struct xp_bpf_syscalls *, xp_bpf_syscalls_free);

/* Attaches and follows calls from here on, without counting. Finds the threads that are inside a call already. */
int xp_bpf_syscalls_attach(struct xp_bpf_syscalls *engine, struct xp_err *reterr);
/* The window begins: one store. */
void xp_bpf_syscalls_start(struct xp_bpf_syscalls *engine);
/* The window ends: one store. */
int xp_bpf_syscalls_stop(struct xp_bpf_syscalls *engine, struct xp_err *reterr);
/* Hands over the threads that have ended so far, and makes room for new ones. */
int xp_bpf_syscalls_drain(struct xp_bpf_syscalls *engine, const struct xp_bpf_syscalls_sink *sink, struct xp_err *reterr);
/* Detaches. Nothing of ours runs any more when it returns. */
int xp_bpf_syscalls_detach(struct xp_bpf_syscalls *engine, struct xp_err *reterr);
/* After detach: the rest of the ended threads, the living ones, and every cell that is left. */
int xp_bpf_syscalls_collect(struct xp_bpf_syscalls *engine, const struct xp_bpf_syscalls_sink *sink, struct xp_err *reterr);
/* What threads counted whose record found no room (names and ids lost, numbers not). */
void xp_bpf_syscalls_lost(const struct xp_bpf_syscalls *engine, size_t target, struct xp_sys_thread *ret_lost);
/* Times that a program of ours ran in the target so far. */
uint64_t xp_bpf_syscalls_events(const struct xp_bpf_syscalls *engine, size_t target);
/* Least cost of one followed call (entry and exit), measured now on xprobe itself with the same programs; `several`: and their table. */
int xp_bpf_syscalls_floor(bool several, uint64_t *ret_ns, struct xp_err *reterr);

#endif
