/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Function sites through uprobe_multi links by raw bpf(2), since libbpf has them only from 1.3 on. In: sites of one file and kind. Out:
 * one link. All sites of a link stand or fall together, so a refused one is found by halving. No state.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/bpf_probe_priv.h"

#define UPROBE_MULTI_RETURN 1 /* BPF_F_UPROBE_MULTI_RETURN, linux/bpf.h from 6.6 on */

/* The part of union bpf_attr that BPF_LINK_CREATE of an uprobe_multi link reads; commit 89ae89f53d20 (6.6). */
struct link_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, multi_flags, pid, padding;
};

static int create_link(const struct link_attr *attr)
{
	return (int)syscall(SYS_bpf, BPF_LINK_CREATE, attr, sizeof(*attr));
}

/*
 * A kernel that does not know the members refuses any bits in them with EINVAL before it looks at the program; one that knows them
 * goes on to the descriptor, which is none. Anything else is a matter of rights and will be told by the load.
 */
bool xp_probes_multi_works(void)
{
	const struct link_attr attr = { .prog_fd = UINT32_MAX, .attach_type = XP_TRACE_UPROBE_MULTI, .pid = UINT32_MAX };

	return create_link(&attr) >= 0 || errno != EINVAL;
}

/* The arrays that the kernel copies: one block, three columns of n. */
struct columns {
	uint64_t *offsets, *ref_ctrs, *cookies;
};

static struct columns fill_columns(const struct xp_site_spec *sites, size_t n, uint64_t *block)
{
	const struct columns columns = { .offsets = block, .ref_ctrs = block + n, .cookies = block + 2 * n };

	for (size_t i = 0; i < n; i++) {
		columns.offsets[i] = sites[i].offset;
		columns.ref_ctrs[i] = sites[i].ref_ctr_offset;
		columns.cookies[i] = sites[i].cookie;
	}
	return columns;
}

/* A descriptor, or -errno. */
static int link_range(int prog_fd, uint32_t pid, const struct xp_site_spec *sites, const struct columns *columns, size_t from, size_t n)
{
	const struct link_attr attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = XP_TRACE_UPROBE_MULTI,
		.path = (uint64_t)(uintptr_t)sites->path,
		.offsets = (uint64_t)(uintptr_t)(columns->offsets + from),
		.ref_ctr_offsets = (uint64_t)(uintptr_t)(columns->ref_ctrs + from),
		.cookies = (uint64_t)(uintptr_t)(columns->cookies + from),
		.count = (uint32_t)n,
		.multi_flags = sites->is_return ? UPROBE_MULTI_RETURN : 0,
		.pid = pid,
	};
	int fd = create_link(&attr);

	return fd >= 0 ? fd : -errno;
}

/* Index of the first site that the kernel refuses alone; n when each half is taken by itself. Trial links are closed at once. */
static size_t find_refused(int prog_fd, uint32_t pid, const struct xp_site_spec *sites, const struct columns *columns, size_t n)
{
	size_t from = 0, count = n;

	while (count > 1) {
		size_t half = count / 2;
		int fd = link_range(prog_fd, pid, sites, columns, from, half);

		if (fd >= 0) {
			close(fd);
			from += half;
			count -= half;
		} else {
			count = half;
		}
	}
	int fd = link_range(prog_fd, pid, sites, columns, from, 1);

	if (fd < 0)
		return from;
	close(fd);
	return n;
}

int xp_probes_attach_multi(struct xp_links *links, int prog_fd, uint32_t pid, const struct xp_site_spec *sites, size_t n,
			   struct xp_err *reterr)
{
	xp_auto(xp_free) void *block = calloc(n, 3 * sizeof(uint64_t));

	if (!block)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "%zu sites", n);
	const struct columns columns = fill_columns(sites, n, block);
	int fd = link_range(prog_fd, pid, sites, &columns, 0, n);

	if (fd >= 0)
		return xp_links_add(links, fd, reterr);
	size_t refused = fd == -ESRCH ? 0 : find_refused(prog_fd, pid, sites, &columns, n);

	return xp_probes_fail_site(reterr, -fd, "bpf(BPF_LINK_CREATE)", &sites[refused < n ? refused : 0]);
}
