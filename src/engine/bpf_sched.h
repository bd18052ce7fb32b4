/* SPDX-License-Identifier: Apache-2.0 */
/* Where one process waits, or several, booked in the kernel by bpf/sched.bpf.c: load, attach, window, detach, and what was booked. */
#ifndef XP_ENGINE_BPF_SCHED_H
#define XP_ENGINE_BPF_SCHED_H

#include "engine/bpf_common.h"
#include "wire/sample.h"
#include "wire/sched.h"

struct xp_bpf_sched;

struct xp_bpf_sched_config {
	struct xp_bpf_targets targets;
	uint64_t min_block_ns;		       /* shorter blocks leave no stack */
	const struct xp_python_layout *python; /* of the only target; NULL or version 0: no interpreter frames */
};

struct xp_bpf_sched_sink {
	/* Negative: stop, reterr is filled. The record is valid during the call. Samples tell their process by pid, threads by index. */
	int (*sample)(void *arg, const struct xp_rec_sample *sample, struct xp_err *reterr);
	int (*thread)(void *arg, const struct xp_sched_thread *thread, struct xp_err *reterr);
	void *arg;
};

/* Opens and loads; attaches nothing. Returns owned. */
int xp_bpf_sched_load(const struct xp_bpf_sched_config *config, struct xp_bpf_sched **ret_engine, struct xp_err *reterr);
/* Accepts NULL; detaches what is attached. */
void xp_bpf_sched_free(struct xp_bpf_sched *engine);
XP_DEFINE_AUTO(struct xp_bpf_sched *, xp_bpf_sched_free);

/* Of one of several targets, before the attach. */
int xp_bpf_sched_python(struct xp_bpf_sched *engine, size_t target, const struct xp_python_layout *layout, struct xp_err *reterr);
/* Attaches and follows threads from here on, without booking. Finds out what each thread does now. */
int xp_bpf_sched_attach(struct xp_bpf_sched *engine, struct xp_err *reterr);
/* The window begins: one store. */
void xp_bpf_sched_start(struct xp_bpf_sched *engine, uint64_t start_ns);
/* The window ends: one store. */
int xp_bpf_sched_stop(struct xp_bpf_sched *engine, struct xp_err *reterr);
/* Hands over the samples and the threads that have ended so far. Also refills the budget of stacks, so it wants to be called each 10 ms. */
int xp_bpf_sched_drain(struct xp_bpf_sched *engine, const struct xp_bpf_sched_sink *sink, struct xp_err *reterr);
/* After stop: hands over the threads that live, with what they are in. Books are final only after detach, see collect. */
int xp_bpf_sched_list(struct xp_bpf_sched *engine, const struct xp_bpf_sched_sink *sink, struct xp_err *reterr);
/* Detaches. Nothing of ours runs any more when it returns. */
int xp_bpf_sched_detach(struct xp_bpf_sched *engine, struct xp_err *reterr);
/* After detach: the rest of the samples, the ended threads, then the living ones. */
int xp_bpf_sched_collect(struct xp_bpf_sched *engine, const struct xp_bpf_sched_sink *sink, struct xp_err *reterr);
void xp_bpf_sched_lost(const struct xp_bpf_sched *engine, size_t target, struct xp_sched_lost *ret_lost);
/* Switches and exits of calls in the target that our programs have seen so far. */
void xp_bpf_sched_events(const struct xp_bpf_sched *engine, size_t target, uint64_t *ret_switches, uint64_t *ret_exits);

/* Least cost, measured now on xprobe itself with the same programs (`several`: by way of their table of processes), of one switch (its
 * share of wake-ups too) and of one exit of a call. */
struct xp_bpf_sched_floor {
	uint64_t switch_ns, exit_ns;
};
int xp_bpf_sched_floor(bool several, struct xp_bpf_sched_floor *ret_floor, struct xp_err *reterr);

#endif
