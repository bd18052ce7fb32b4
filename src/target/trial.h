/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel objects made to see whether they may be made: attached to xprobe itself, closed at once. */
#ifndef XP_TARGET_TRIAL_H
#define XP_TARGET_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/bpf.h>

#define XP_ATTACH_UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI, Linux 6.6; older headers lack it */
/* details.object of a refused BPF_PROG_LOAD, here and in errors (contract 15.3). */
#define XP_BPF_PROGRAMS "BPF programs"

/* What failed; zero-initialised is "nothing did". */
struct xp_trial {
	int errnum;
	const char *call;
	char object[128];
};

/* A place in xprobe's own file, for probes on ourselves. */
struct xp_own_place {
	uint64_t address, offset;
	char path[4096];
};
int xp_own_place(const void *what, struct xp_own_place *ret_place);
/* uprobe_multi link on a place of ours, for this process only; ref_ctr_offset 0: none. Descriptor, or -errno. */
int xp_own_link(int prog_fd, const struct xp_own_place *place, uint64_t ref_ctr_offset, bool on_return);

/* All return 0, or the errno that is also in *trial. */
int xp_trial_uprobe(struct xp_trial *trial, bool on_return);
/* The older way through a perf event, with one BPF program; detaching takes some 75 ms. */
int xp_trial_perf_uprobe(struct xp_trial *trial, bool on_return);
/* A probe with a reference counter, on a counter of our own; checks that the kernel raises it and puts it back. */
int xp_trial_usdt(struct xp_trial *trial);
int xp_trial_raw_tracepoint(struct xp_trial *trial, const char *name);
/* One cpu-clock event on ourselves. */
int xp_trial_sample(struct xp_trial *trial, bool with_kernel);
/* One of a whole CPU that is never enabled, with a BPF program on it. */
int xp_trial_sampler(struct xp_trial *trial);

#endif
