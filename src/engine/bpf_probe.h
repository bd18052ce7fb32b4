/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact host events of one process: functions, USDT markers, system calls, tracepoints. Knows places, not selectors. Records are those
 * of wire/record.h; every place is a point, and a record tells the index of its point.
 */
#ifndef XP_ENGINE_BPF_PROBE_H
#define XP_ENGINE_BPF_PROBE_H

#include <stddef.h>

#include "base/err.h"
#include "wire/record.h"

enum xp_point_at {
	XP_POINT_ENTRY,	 /* function entry: path, offset */
	XP_POINT_EXIT,	 /* an exit instruction of a function: path, offset */
	XP_POINT_RETURN, /* the kernel's return probe on a function entry: path, offset */
	XP_POINT_MARKER, /* USDT: path, offset, ref_ctr_offset */
	XP_POINT_SYSCALL_ENTRY,
	XP_POINT_SYSCALL_EXIT, /* nr */
	XP_POINT_TRACEPOINT,   /* category, name */
	XP_POINT_AT_COUNT
};

/* One place to probe. Strings are borrowed for the life of the engine. No two points of an engine are equal in what their kind names. */
struct xp_point {
	enum xp_point_at at;
	const char *path; /* for the kernel, in xprobe's view */
	uint64_t offset, ref_ctr_offset;
	bool goroutine; /* keep r14 as the key */
	uint32_t nr;
	const char *category, *name;
	const char *selector; /* what an error is about */
};

#define XP_NO_POINT UINT32_MAX
enum { XP_PERF_UPROBE_CAP = 16, XP_MAX_TRACEPOINTS = 16 };

struct xp_probe_request {
	const struct xp_point *points;
	size_t n_points;
	uint32_t pid;	      /* as xprobe sees it */
	bool follow_restarts; /* contract 9.1 rule 5: also restart_syscall, and rt_sigreturn that returns -EINTR, behind a restart code */
	uint32_t ring_bytes;  /* 0 = by the number of CPUs; else rounded up to a power of two of at least one page */
	bool perf_only;	      /* tests: take the fallback although uprobe_multi works */
};

struct xp_probes;

/* Loads the programs and measures their floors on xprobe itself. Touches nothing of the target. Borrows request->points. */
int xp_probes_new(const struct xp_probe_request *request, struct xp_probes **ret_probes, struct xp_err *reterr);
void xp_probes_free(struct xp_probes *probes);
XP_DEFINE_AUTO(struct xp_probes *, xp_probes_free);

/*
 * Attaches every point; events are still off. PROBE_REFUSED names the selector of a refused place, SYMBOL_NOT_FOUND a tracepoint that
 * does not exist, RESOURCE_LIMIT more function points than the fallback takes. After a failure xp_probes_detach is still due.
 */
int xp_probes_attach(struct xp_probes *probes, struct xp_err *reterr);
/* One store to shared memory: events on or off. */
void xp_probes_switch(struct xp_probes *probes, bool on);
/* Closes every link; the kernel takes the probes off before it returns. Records in the ring stay readable until xp_probes_free. */
void xp_probes_detach(struct xp_probes *probes);

/* point: index into the request, XP_NO_POINT for calls that only continue another. The record is valid during the call. */
struct xp_probe_reader {
	void (*take)(void *arg, uint32_t point, const struct xp_rec_hdr *record);
	void *arg;
};
/* Hands out what lies in the ring. INTERNAL when a record has an unknown shape or size. */
int xp_probes_read(struct xp_probes *probes, const struct xp_probe_reader *reader, struct xp_err *reterr);
/* Edge-readable when the ring fills faster than the ticks empty it. Borrowed. */
int xp_probes_fd(const struct xp_probes *probes);

/* By XP_COUNT_*; what the floors took is not in them. */
struct xp_probe_counts {
	struct {
		uint64_t delivered; /* handed to a reader */
		uint64_t dropped;   /* wanted by a probe, no room in the ring */
		uint64_t passed;    /* a probe ran in the target and wanted nothing */
	} kind[XP_COUNT_KINDS];
};
int xp_probes_count(const struct xp_probes *probes, struct xp_probe_counts *ret_counts, struct xp_err *reterr);
/* After detach and a last read: INTERNAL unless the bytes that the programs ever put into the ring are those that were read. */
int xp_probes_verify(const struct xp_probes *probes, struct xp_err *reterr);
/* Cost of one probe of a kind, ns, measured on xprobe itself; 0 = no such probe in use. */
uint64_t xp_probes_floor(const struct xp_probes *probes, unsigned kind);
uint32_t xp_probes_children(const struct xp_probes *probes);
/* Function points go through perf events: taking each off costs tens of milliseconds. */
bool xp_probes_is_fallback(const struct xp_probes *probes);

#endif
