/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites through perf events: the fallback for function sites on kernels without uprobe_multi, and trace events without a raw tracepoint.
 * In: sites or points. Out: two descriptors a site, link above event. Taking one off waits for grace periods, so callers cap them.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/parse.h"
#include "engine/bpf_probe_priv.h"

#define PMU "/sys/bus/event_source/devices/uprobe/"

/* First line of a small sysfs or tracefs file; -errno. */
static int read_line(const char *path, char *buf, size_t size)
{
	xp_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	if (n < 0)
		return -errno;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

static int read_u32(const char *path, uint32_t *ret_value, struct xp_err *reterr)
{
	char line[32];
	uint64_t value;
	int r = read_line(path, line, sizeof(line));

	if (r)
		return xp_fail_sys(reterr, -r, "read", "%s", path);
	if (!xp_parse_u64(line, &value) || value > UINT32_MAX)
		return xp_fail(reterr, XP_E_INTERNAL, "%s holds no number: %s", path, line);
	*ret_value = (uint32_t)value;
	return 0;
}

/* Bit of perf_event_attr.config that asks for a return probe: "config:0". */
static int read_return_bit(uint64_t *ret_bit, struct xp_err *reterr)
{
	char line[32];
	uint64_t shift;
	int r = read_line(PMU "format/retprobe", line, sizeof(line));

	if (r)
		return xp_fail_sys(reterr, -r, "read", PMU "format/retprobe");
	if (strncmp(line, "config:", 7) != 0 || !xp_parse_u64(line + 7, &shift) || shift > 63)
		return xp_fail(reterr, XP_E_INTERNAL, PMU "format/retprobe holds no bit: %s", line);
	*ret_bit = UINT64_C(1) << shift;
	return 0;
}

static int open_event(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	attr->size = sizeof(*attr);
	int fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd >= 0 ? fd : -errno;
}

/* Takes event_fd in every case. */
static int link_event(struct xp_links *links, int prog_fd, int event_fd, uint64_t cookie, const char *what, struct xp_err *reterr)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = cookie);
	int r = xp_links_add(links, event_fd, reterr);

	if (r)
		return r;
	int link_fd = bpf_link_create(prog_fd, event_fd, BPF_PERF_EVENT, &opts);

	return link_fd < 0 ? xp_bpf_fail(reterr, -link_fd, "bpf(BPF_LINK_CREATE)", what) : xp_links_add(links, link_fd, reterr);
}

int xp_probes_attach_perf(struct xp_links *links, int prog_fd, uint32_t pid, const struct xp_site_spec *sites, size_t n,
			  struct xp_err *reterr)
{
	uint32_t type = 0;
	uint64_t return_bit = 0;
	int r = read_u32(PMU "type", &type, reterr);

	if (!r)
		r = read_return_bit(&return_bit, reterr);
	for (size_t i = 0; i < n && !r; i++) {
		const struct xp_site_spec *site = &sites[i];
		struct perf_event_attr attr = {
			.type = type,
			.config = (site->is_return ? return_bit : 0) | site->ref_ctr_offset << 32,
			.uprobe_path = (uint64_t)(uintptr_t)site->path,
			.probe_offset = site->offset,
		};
		int fd = open_event(&attr, (pid_t)pid, -1);

		r = fd < 0 ? xp_probes_fail_site(reterr, -fd, "perf_event_open", site)
			   : link_event(links, prog_fd, fd, site->cookie, site->selector, reterr);
	}
	return r;
}

/* tracefs is mounted in one of two places, or in none. */
static int find_trace_event(const struct xp_point *point, uint32_t *ret_id, struct xp_err *reterr)
{
	static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char path[320];

	for (size_t i = 0; i < XP_LEN(roots); i++) {
		snprintf(path, sizeof(path), "%s/events/%s/%s/id", roots[i], point->category, point->name);
		if (access(path, F_OK) == 0)
			return read_u32(path, ret_id, reterr);
	}
	xp_fail_call(reterr, XP_E_SYMBOL_NOT_FOUND, errno, "access", "%s", point->selector);
	xp_err_hint(reterr, "`ls %s/events/%s` lists the events of that category; mount tracefs there if it is empty", roots[0],
		    point->category);
	return -XP_E_SYMBOL_NOT_FOUND;
}

int xp_probes_attach_trace_event(struct xp_links *links, int prog_fd, const struct xp_point *point, uint32_t cookie, struct xp_err *reterr)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .sample_period = 1 };
	uint32_t id;
	int r = find_trace_event(point, &id, reterr);

	if (r)
		return r;
	attr.config = id;
	/* The program runs on every CPU and for every process whatever the event is opened for; its own filter tells the target. */
	int fd = open_event(&attr, -1, 0);

	if (fd < 0)
		return xp_fail_sys(reterr, -fd, "perf_event_open", "%s", point->selector);
	return link_event(links, prog_fd, fd, cookie, point->selector, reterr);
}
