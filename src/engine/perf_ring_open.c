/* SPDX-License-Identifier: Apache-2.0 */
/* Events of the target's threads for the perf ring. In: /proc/PID/task. Out: descriptors that write into the rings, names of threads. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/parse.h"
#include "engine/perf_ring_priv.h"

enum { LISTINGS_MAX = 16 };

static void close_dir(DIR *dir)
{
	if (dir)
		closedir(dir);
}
XP_DEFINE_AUTO(DIR *, close_dir);

static void read_name(const struct xp_perf_ring *ring, uint32_t tid, char *ret_name, size_t size)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", ring->pid, tid);
	xp_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret_name, size - 1);

	ret_name[n > 0 ? n : 0] = '\0';
	ret_name[strcspn(ret_name, "\n")] = '\0';
}

static bool grow_names(struct xp_perf_ring *ring)
{
	size_t cap = ring->cap_names ? ring->cap_names * 2 : 256;
	char(*bigger)[16] = ring->n_names < ring->cap_names ? ring->names : realloc(ring->names, cap * sizeof(*bigger));

	if (!bigger)
		return false;
	if (bigger != ring->names || ring->n_names == ring->cap_names)
		ring->cap_names = cap;
	ring->names = bigger;
	return true;
}

bool xp_perf_ring_know(struct xp_perf_ring *ring, uint32_t tid, const char *name)
{
	bool is_new = false;
	uint64_t *slot = xp_map_at(&ring->tids, tid, NULL, NULL, &is_new);

	if (!slot)
		return false;
	if (is_new) {
		*slot = UINT64_MAX;
		if (!grow_names(ring))
			return true; /* without a name: told as "" */
		*slot = ring->n_names++;
		memset(ring->names[*slot], 0, sizeof(ring->names[*slot]));
	}
	if (*slot == UINT64_MAX || (!is_new && !name))
		return is_new;
	if (name)
		snprintf(ring->names[*slot], sizeof(ring->names[*slot]), "%s", name);
	else
		read_name(ring, tid, ring->names[*slot], sizeof(ring->names[*slot]));
	return is_new;
}

const char *xp_perf_ring_name(const struct xp_perf_ring *ring, uint32_t tid)
{
	const uint64_t *slot = xp_map_find(&ring->tids, tid, NULL, NULL);

	return slot && *slot != UINT64_MAX ? ring->names[*slot] : "";
}

static bool push(struct xp_perf_ring *ring, int fd)
{
	if (ring->n_fds == ring->cap_fds) {
		size_t cap = ring->cap_fds ? ring->cap_fds * 2 : 64;
		int *bigger = realloc(ring->fds, cap * sizeof(*bigger));

		if (!bigger)
			return false;
		ring->fds = bigger;
		ring->cap_fds = cap;
	}
	ring->fds[ring->n_fds++] = fd;
	return true;
}

static int open_event(struct xp_perf_ring *ring, uint32_t tid, int cpu)
{
	return (int)syscall(SYS_perf_event_open, &ring->attr, (int)tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/*
 * What this kernel or our rights refuse is left out, one thing after the other. The first event tells; the rest are opened alike.
 * EINVAL has two candidates: inherit_thread (5.13) and PERF_FORMAT_LOST (6.0).
 */
static int open_tolerant(struct xp_perf_ring *ring, uint32_t tid, int cpu)
{
	int fd = open_event(ring, tid, cpu);

	if (fd < 0 && (errno == EACCES || errno == EPERM) && !ring->attr.exclude_kernel) {
		ring->attr.exclude_kernel = 1;
		ring->attr.sample_type &= ~(uint64_t)PERF_SAMPLE_CALLCHAIN;
		fd = open_event(ring, tid, cpu);
	}
	if (fd < 0 && errno == EINVAL && ring->attr.read_format) {
		ring->attr.read_format = 0;
		fd = open_event(ring, tid, cpu);
	}
	if (fd < 0 && errno == EINVAL && ring->attr.inherit) {
		ring->attr.inherit = ring->attr.inherit_thread = 0;
		ring->listing = true;
		fd = open_event(ring, tid, cpu);
	}
	return fd;
}

int xp_perf_ring_refused(struct xp_err *reterr, int errnum, const char *what, uint32_t number)
{
	if (errnum == ENOSYS) /* every supported kernel has it, so a filter hides it */
		return xp_fail_call(reterr, XP_E_PERMISSION_DENIED, errnum, "perf_event_open",
				    "%s %u, system call hidden by a seccomp filter", what, number);
	return xp_fail_sys(reterr, errnum, "perf_event_open", "%s %u", what, number);
}

/* 0; 1: no descriptor is left for it; negative: nobody may. A thread that ended meanwhile is no failure. */
static int open_thread(struct xp_perf_ring *ring, uint32_t tid, struct xp_err *reterr)
{
	size_t first = ring->n_fds;

	if (ring->n_fds + ring->n_cpus > ring->max_fds || (ring->max_threads && ring->attached >= ring->max_threads))
		return 1;
	for (size_t i = 0; i < ring->n_cpus; i++) {
		xp_auto_fd fd = open_tolerant(ring, tid, ring->cpus[i].cpu);

		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
			while (ring->n_fds > first)
				close(ring->fds[--ring->n_fds]);
			return 1;
		}
		if (fd < 0 && errno == ESRCH)
			return 0;
		if (fd < 0)
			return xp_perf_ring_refused(reterr, errno, "cpu-clock of thread", tid);
		if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->cpus[i].fd))
			return xp_fail_sys(reterr, errno, "ioctl(PERF_EVENT_IOC_SET_OUTPUT)", "cpu-clock of thread %u", tid);
		if (ring->on)
			ioctl(fd, PERF_EVENT_IOC_ENABLE, 0); /* cannot fail on a fresh event; the count of events would show it */
		if (!push(ring, fd))
			return xp_fail_sys(reterr, ENOMEM, "realloc", "%zu events", ring->n_fds);
		xp_steal_fd(&fd);
	}
	ring->attached++;
	return 0;
}

/* One listing. *ret_new: threads that it showed for the first time. */
static int list_once(struct xp_perf_ring *ring, size_t *ret_new, struct xp_err *reterr)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/task", ring->pid);
	xp_auto(close_dir) DIR *dir = opendir(path);
	if (!dir && errno == ENOENT)
		return 0;
	if (!dir)
		return xp_fail_sys(reterr, errno, "opendir", "%s", path);
	for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		uint64_t tid;

		if (!xp_parse_u64(entry->d_name, &tid) || !xp_perf_ring_know(ring, (uint32_t)tid, NULL))
			continue;
		ring->observed++;
		*ret_new += 1;
		if (ring->full)
			continue;
		int r = open_thread(ring, (uint32_t)tid, reterr);

		if (r < 0)
			return r;
		ring->full = r;
	}
	return 0;
}

int xp_perf_ring_open_threads(struct xp_perf_ring *ring, struct xp_err *reterr)
{
	size_t n_new = 1;
	int r = 0;

	/* A thread that is made by one not yet open is in no event; the next listing shows it. */
	for (unsigned i = 0; i < LISTINGS_MAX && n_new && !r; i++) {
		n_new = 0;
		r = list_once(ring, &n_new, reterr);
	}
	return r;
}
