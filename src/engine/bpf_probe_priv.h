/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the probe engine. struct xp_probe is the skeleton that bpftool makes of bpf/probe.bpf.c. */
#ifndef XP_ENGINE_BPF_PROBE_PRIV_H
#define XP_ENGINE_BPF_PROBE_PRIV_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "engine/bpf_common.h"
#include "engine/bpf_probe.h"

struct xp_probe;

/* XP_TRACE_UPROBE_MULTI: BPF_TRACE_UPROBE_MULTI, linux/bpf.h from 6.6 on. */
enum { XP_SYSCALL_NUMBERS = 512, XP_TRACE_UPROBE_MULTI = 48 };

/* bpf_probe_links.c: descriptors in the order of attaching. Zero-initialised is empty. */
struct xp_links {
	int *fds;
	size_t n, cap;
};
/* Takes fd in every case: closed on failure. */
int xp_links_add(struct xp_links *links, int fd, struct xp_err *reterr);
/* Closes what was added behind the first `keep`, all of it at the same time. */
void xp_links_close(struct xp_links *links, size_t keep);

struct xp_probes {
	const struct xp_point *points; /* borrowed */
	size_t n_points;
	uint32_t pid;
	bool multi;		     /* function points go through uprobe_multi links; else perf events */
	bool has[XP_POINT_AT_COUNT]; /* a point of that kind exists */
	struct xp_probe *skel;
	struct ring_buffer *ring;
	struct xp_links links;	/* those on xprobe itself first: closing any waits for a grace period, so they stay until detach */
	uint8_t *kind_of_point; /* XP_COUNT_* */
	uint64_t delivered[XP_COUNT_KINDS];
	uint64_t bytes_read;			   /* out of the ring since it was made, headers included */
	struct xp_rec_counts base[XP_COUNT_KINDS]; /* the counters behind the floor measurement */
	uint64_t floor_ns[XP_COUNT_KINDS];
	uint64_t bare_syscall_ns;		       /* one system call before the tracepoints were on */
	uint32_t syscall_point[2][XP_SYSCALL_NUMBERS]; /* [exit][nr]: point, or XP_NO_POINT */
	const struct xp_probe_reader *reader;	       /* during a read */
	bool bad_record;
};

/* One function site as the kernel takes it. */
struct xp_site_spec {
	const char *path;
	uint64_t offset, ref_ctr_offset, cookie;
	bool is_return;
	const char *selector;
};

/* bpf_probe_multi.c: sites share path and is_return. One link; a refused site is found by halving and named. */
bool xp_probes_multi_works(void);
int xp_probes_attach_multi(struct xp_links *links, int prog_fd, uint32_t pid, const struct xp_site_spec *sites, size_t n,
			   struct xp_err *reterr);
/* bpf_probe_perf.c: one perf event and one link a site. */
int xp_probes_attach_perf(struct xp_links *links, int prog_fd, uint32_t pid, const struct xp_site_spec *sites, size_t n,
			  struct xp_err *reterr);
int xp_probes_attach_trace_event(struct xp_links *links, int prog_fd, const struct xp_point *point, uint32_t cookie, struct xp_err *reterr);
/* bpf_probe_attach.c: groups sites by path and kind and attaches each group. Sorts `sites`. */
int xp_probes_attach_sites(struct xp_probes *probes, struct xp_links *links, uint32_t pid, struct xp_site_spec *sites, size_t n,
			   struct xp_err *reterr);
int xp_probes_fail_site(struct xp_err *reterr, int errnum, const char *call, const struct xp_site_spec *site);
int xp_probes_attach_raw(struct xp_links *links, int prog_fd, const char *name, struct xp_err *reterr);
/* bpf_probe_floor.c. *ret_blind: a thread other than the first one was not seen, so multi links cannot be used here. */
int xp_probes_measure_functions(struct xp_probes *probes, bool *ret_blind, struct xp_err *reterr);
int xp_probes_measure_tracepoint(struct xp_probes *probes, struct xp_err *reterr);
uint64_t xp_probes_time_syscall(void);
void xp_probes_measure_syscall(struct xp_probes *probes);
/* bpf_probe_attach.c: XP_COUNT_* of a point, by its place and the instruction there. */
unsigned xp_probes_kind_of(const struct xp_point *point);
/* bpf_probe.c: empties the ring and takes the counters as the base: the floor runs leave both behind. */
int xp_probes_forget(struct xp_probes *probes, struct xp_err *reterr);
/* bpf_probe_load.c: opens, configures and loads the skeleton. */
int xp_probes_load(struct xp_probes *probes, const struct xp_probe_request *request, struct xp_err *reterr);
/* Program of the n-th tracepoint point. */
struct bpf_program *xp_probes_slot(const struct xp_probes *probes, unsigned slot);

#endif
