/* SPDX-License-Identifier: Apache-2.0 */
/* What every BPF engine shares: quiet libbpf, errors with call and errno, namespace level, configuration, the stop switch. */
#ifndef XP_ENGINE_BPF_COMMON_H
#define XP_ENGINE_BPF_COMMON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct bpf_object;

/* Silences libbpf (keeps its last line for xp_bpf_fail), raises soft RLIMIT_MEMLOCK and RLIMIT_NOFILE. Before any open; cheap. */
void xp_bpf_init(void);
/*
 * Error of a failed libbpf or bpf() call. errnum positive. EPERM/EACCES: PERMISSION_DENIED with call and errno; E2BIG/E[MN]FILE/
 * ENOMEM/ENOSPC: RESOURCE_LIMIT, the object naming the limit of descriptors; ESRCH: TARGET_EXITED; ENOTSUPP (524), only met on an attach:
 * PROBE_REFUSED; else INTERNAL with libbpf's last line in the message.
 */
int xp_bpf_fail(struct xp_err *reterr, int errnum, const char *call, const char *object);
/* Sets rodata xp_tgid and xp_ns_level (bpf/filter.h) of an object between open and load. pid: as xprobe sees it. */
int xp_bpf_set_target(struct bpf_object *object, uint32_t pid, struct xp_err *reterr);
/*
 * The same for programs that tell several processes apart (bpf/targets.h), each by its place in the list: configures before load, and
 * fills the table behind it. With one process in the list there is no table.
 */
struct xp_bpf_targets {
	const uint32_t *pids; /* as xprobe sees them; borrowed */
	size_t n;	      /* at most XP_TARGETS_MAX */
	bool as_several;      /* floors: one process by way of the table, which is what a look-up costs */
	bool python;	      /* of several: at least one may run Python */
};
int xp_bpf_set_targets(struct bpf_object *object, const struct xp_bpf_targets *targets, struct xp_err *reterr);
int xp_bpf_fill_targets(struct bpf_object *object, const struct xp_bpf_targets *targets, struct xp_err *reterr);
/* Place of a process in the list; n when it is not there. */
size_t xp_bpf_target_index(const struct xp_bpf_targets *targets, uint32_t pid);
/* Depth of xprobe's own PID namespace; 0 = initial (told by the inode, else by a BPF test run of some milliseconds: ask once an engine). */
int xp_bpf_ns_level(uint32_t *ret_level, struct xp_err *reterr);
/* Writes the stop switch xp_off of a loaded object through the mmapped .data; the object must have been loaded by its skeleton. */
int xp_bpf_switch(struct bpf_object *object, bool off, struct xp_err *reterr);

#endif
