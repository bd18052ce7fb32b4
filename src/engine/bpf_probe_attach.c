/* SPDX-License-Identifier: Apache-2.0 */
/* Points -> links. In: the points of a loaded engine. Out: descriptors in its link lists, in the order of attaching. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/scratch.h"
#include "engine/bpf_probe_priv.h"
#include "probe.skel.h"

int xp_probes_fail_site(struct xp_err *reterr, int errnum, const char *call, const struct xp_site_spec *site)
{
	int r = xp_bpf_fail(reterr, errnum, call, site->selector);

	if (reterr->code == XP_E_PROBE_REFUSED)
		xp_err_say(reterr, "the kernel refuses a probe on the instruction at file offset 0x%llx of %s",
			   (unsigned long long)site->offset, site->path);
	return r;
}

/* Same file and kind together, so that each group is one link; within it by offset, a function's entry before its exit. */
static int by_group(const void *left, const void *right)
{
	const struct xp_site_spec *a = left, *b = right;
	int paths = strcmp(a->path, b->path);

	if (paths)
		return paths;
	if (a->is_return != b->is_return)
		return a->is_return - b->is_return;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return (a->cookie & 0xffff) < (b->cookie & 0xffff) ? -1 : 1;
}

int xp_probes_attach_sites(struct xp_probes *probes, struct xp_links *links, uint32_t pid, struct xp_site_spec *sites, size_t n,
			   struct xp_err *reterr)
{
	int prog_fd = bpf_program__fd(probes->skel->progs.xp_function);

	qsort(sites, n, sizeof(*sites), by_group);
	for (size_t from = 0, end; from < n; from = end) {
		end = from + 1;
		while (end < n && sites[end].is_return == sites[from].is_return && !strcmp(sites[end].path, sites[from].path))
			end++;
		int r = (probes->multi ? xp_probes_attach_multi : xp_probes_attach_perf)(links, prog_fd, pid, sites + from, end - from,
											 reterr);

		if (r)
			return r;
	}
	return 0;
}

/* A file that cannot be read here is left to the kernel to judge; its probes count as the dearer kind. */
static bool is_stepped(const struct xp_point *point)
{
	xp_auto_fd fd = open(point->path, O_RDONLY | O_CLOEXEC);
	uint8_t bytes[16];
	ssize_t n = fd < 0 ? -1 : pread(fd, bytes, sizeof(bytes), (off_t)point->offset);

	return n <= 0 || xp_probe_is_stepped(bytes, (size_t)n);
}

unsigned xp_probes_kind_of(const struct xp_point *point)
{
	if (point->at == XP_POINT_TRACEPOINT)
		return XP_COUNT_TRACEPOINT;
	if (point->at == XP_POINT_SYSCALL_ENTRY || point->at == XP_POINT_SYSCALL_EXIT)
		return XP_COUNT_SYSCALL;
	if (point->at == XP_POINT_RETURN)
		return XP_COUNT_RETURN;
	if (point->at == XP_POINT_MARKER)
		return XP_COUNT_MARKER;
	return is_stepped(point) ? XP_COUNT_STEPPED : XP_COUNT_ENTRY;
}

static const unsigned shapes[XP_POINT_AT_COUNT] = {
	[XP_POINT_ENTRY] = XP_SHAPE_FUNCTION_ENTRY,
	[XP_POINT_EXIT] = XP_SHAPE_FUNCTION_EXIT,
	[XP_POINT_RETURN] = XP_SHAPE_FUNCTION_EXIT,
	[XP_POINT_MARKER] = XP_SHAPE_MARKER,
};

/* The exit point on the very instruction of an entry point: one program run has to write both, in this order. */
static size_t find_exit_at(const struct xp_probes *probes, const struct xp_point *entry)
{
	for (size_t i = 0; i < probes->n_points; i++) {
		const struct xp_point *point = &probes->points[i];

		if (point->at == XP_POINT_EXIT && point->offset == entry->offset && !strcmp(point->path, entry->path))
			return i;
	}
	return probes->n_points;
}

static bool has_entry_at(const struct xp_probes *probes, const struct xp_point *exit)
{
	for (size_t i = 0; i < probes->n_points; i++) {
		const struct xp_point *point = &probes->points[i];

		if (point->at == XP_POINT_ENTRY && point->offset == exit->offset && !strcmp(point->path, exit->path))
			return true;
	}
	return false;
}

static struct xp_site_spec site_of(const struct xp_probes *probes, size_t i)
{
	const struct xp_point *point = &probes->points[i];
	size_t then = point->at == XP_POINT_ENTRY ? find_exit_at(probes, point) : probes->n_points;
	unsigned flags = (point->goroutine ? XP_COOKIE_GOROUTINE : 0) | (point->at == XP_POINT_RETURN ? XP_COOKIE_RETURN : 0) |
			 (then < probes->n_points ? XP_COOKIE_THEN_EXIT : 0);

	return (struct xp_site_spec){
		.path = point->path,
		.offset = point->offset,
		.ref_ctr_offset = point->ref_ctr_offset,
		.cookie = XP_COOKIE(i, then < probes->n_points ? then : 0, shapes[point->at], probes->kind_of_point[i], flags),
		.is_return = point->at == XP_POINT_RETURN,
		.selector = point->selector,
	};
}

static int check_cap(const struct xp_probes *probes, size_t n, struct xp_err *reterr)
{
	if (probes->multi || n <= XP_PERF_UPROBE_CAP)
		return 0;
	xp_fail(reterr, XP_E_RESOURCE_LIMIT,
		"this kernel has no uprobe_multi links, and %zu probes are more than perf events can take off in time", n);
	xp_err_limit(reterr, "perf_uprobes", n, 1, XP_PERF_UPROBE_CAP);
	xp_err_hint(reterr, "Linux 6.6 or newer takes any number of probes; select fewer functions");
	return -XP_E_RESOURCE_LIMIT;
}

static int attach_functions(struct xp_probes *probes, struct xp_err *reterr)
{
	xp_auto(xp_free) void *block = calloc(probes->n_points, sizeof(struct xp_site_spec));
	struct xp_site_spec *sites = block;
	size_t n = 0;

	if (!sites)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "%zu sites", probes->n_points);
	for (size_t i = 0; i < probes->n_points; i++) {
		const struct xp_point *point = &probes->points[i];

		if (point->at <= XP_POINT_MARKER && !(point->at == XP_POINT_EXIT && has_entry_at(probes, point)))
			sites[n++] = site_of(probes, i);
	}
	int r = check_cap(probes, n, reterr);

	return r ? r : xp_probes_attach_sites(probes, &probes->links, probes->pid, sites, n, reterr);
}

int xp_probes_attach_raw(struct xp_links *links, int prog_fd, const char *name, struct xp_err *reterr)
{
	int fd = bpf_raw_tracepoint_open(name, prog_fd);

	return fd < 0 ? xp_bpf_fail(reterr, -fd, "bpf(BPF_RAW_TRACEPOINT_OPEN)", name ? name : "system calls")
		      : xp_links_add(links, fd, reterr);
}

static int attach_syscalls(struct xp_probes *probes, struct xp_err *reterr)
{
	/* Exit first: an entry whose exit is not watched yet would look like a call that never ended. */
	int r = xp_probes_attach_raw(&probes->links, bpf_program__fd(probes->skel->progs.xp_sys_exit), NULL, reterr);

	if (!r)
		r = xp_probes_attach_raw(&probes->links, bpf_program__fd(probes->skel->progs.xp_sys_enter), NULL, reterr);
	if (r)
		return r;
	xp_probes_measure_syscall(probes);
	return xp_probes_forget(probes, reterr);
}

static int slot_program(const struct xp_probes *probes, unsigned slot)
{
	struct bpf_program *program = xp_probes_slot(probes, slot);

	return program ? bpf_program__fd(program) : -1;
}

static int attach_tracepoints(struct xp_probes *probes, struct xp_err *reterr)
{
	unsigned slot = 0;

	for (size_t i = 0; i < probes->n_points; i++) {
		const struct xp_point *point = &probes->points[i];
		xp_auto_err refused = {};

		if (point->at != XP_POINT_TRACEPOINT)
			continue;
		int r = xp_probes_attach_raw(&probes->links, slot_program(probes, slot++), point->name, &refused);

		if (r && refused.sys_errno == ENOENT)
			r = xp_probes_attach_trace_event(&probes->links, bpf_program__fd(probes->skel->progs.xp_tracepoint), point,
							 (uint32_t)i, reterr);
		else if (r)
			xp_err_move(reterr, &refused);
		if (r)
			return r;
	}
	return 0;
}

int xp_probes_attach(struct xp_probes *probes, struct xp_err *reterr)
{
	int r = xp_probes_attach_raw(&probes->links, bpf_program__fd(probes->skel->progs.xp_fork), NULL, reterr);

	if (!r && probes->has[XP_POINT_TRACEPOINT])
		r = attach_tracepoints(probes, reterr);
	if (!r && (probes->has[XP_POINT_SYSCALL_ENTRY] || probes->has[XP_POINT_SYSCALL_EXIT]))
		r = attach_syscalls(probes, reterr);
	if (!r)
		r = attach_functions(probes, reterr);
	return r;
}

void xp_probes_detach(struct xp_probes *probes)
{
	xp_probes_switch(probes, false);
	xp_links_close(&probes->links, 0);
}
