/* SPDX-License-Identifier: Apache-2.0 */
/* Merging completed captures. In: paths. Out: one sorted store and what the envelopes said. State: one merge. */
#include "result/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/x86_64/syscalls.h"
#include "base/hash.h"
#include "result/input_priv.h"
#include "wire/capture.h"

enum { STOP_EVERY = 4096 };

int xp_input_bad(const struct xp_input *in, uint64_t line, struct xp_err *reterr, const char *fmt, ...)
{
	char why[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	int rc = xp_fail(reterr, XP_E_TRACE_EXPORT_FAILED, "cannot use the input %.160s: %s", in->path, why);
	if (line)
		xp_err_object(reterr, "%.250s:%llu", in->path, (unsigned long long)line);
	else
		xp_err_object(reterr, "%.300s", in->path);
	return rc;
}

int xp_input_pread(const struct xp_input *in, void *bytes, size_t len, uint64_t offset, struct xp_err *reterr)
{
	char *at = bytes;

	while (len) {
		ssize_t n = pread(in->fd, at, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return xp_fail_call(reterr, XP_E_TRACE_EXPORT_FAILED, errno, "pread", "%s", in->path);
		if (!n)
			return xp_input_bad(in, 0, reterr, "it became shorter while it was read");
		at += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

static enum xp_input_source source_of(const struct xp_event *event)
{
	switch (xp_event_group_of(event->type)) {
	case XP_GROUP_NVTX:
		return XP_IN_NVTX;
	case XP_GROUP_CUDA:
		return event->type <= XP_EV_CUDA_API_EXIT ? XP_IN_CALLBACK : XP_IN_ACTIVITY;
	case XP_GROUP_HOST:
		break;
	}
	if (event->type == XP_EV_SYSCALL_ENTRY || event->type == XP_EV_SYSCALL_EXIT)
		return XP_IN_SYSCALL;
	if (event->type == XP_EV_TRACEPOINT)
		return XP_IN_TRACEPOINT;
	return event->type == XP_EV_PYTHON_GC_START || event->type == XP_EV_PYTHON_GC_END ? XP_IN_USDT : XP_IN_UPROBE;
}

int xp_input_add(struct xp_input *in, const struct xp_event *event, struct xp_err *reterr)
{
	struct xp_input_summary *summary = in->summary;

	if (in->have_pid && event->pid != in->pid)
		return xp_input_bad(in, 0, reterr, "events of process %u among those of process %u", event->pid, in->pid);
	in->have_pid = true;
	in->pid = event->pid;
	if (xp_event_group_of(event->type) == XP_GROUP_HOST)
		summary->host_events++;
	else
		summary->cuda_events++;
	summary->by_source[source_of(event)]++;
	if (summary->events++ % STOP_EVERY == 0 && in->options->stop && in->options->stop())
		return xp_fail(reterr, XP_E_CANCELLED, "a signal ended the reading of input");
	if (xp_store_add(in->store, event) && (event->flags & XP_EVF_INVALID_TIME))
		summary->invalid_time_events++;
	return 0;
}

static int open_file(struct xp_input *in, struct xp_err *reterr)
{
	struct stat st;
	/* O_NONBLOCK: a FIFO or device must not hold us up before its type is known. */
	xp_auto_fd fd = open(in->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return xp_fail_call(reterr, XP_E_TRACE_EXPORT_FAILED, errno, "open", "%s", in->path);
	if (fstat(fd, &st))
		return xp_fail_call(reterr, XP_E_TRACE_EXPORT_FAILED, errno, "fstat", "%s", in->path);
	if (!S_ISREG(st.st_mode))
		return xp_input_bad(in, 0, reterr, "it is not a regular file");
	if ((uint64_t)st.st_size > XP_INPUT_BYTES_MAX) {
		int rc = xp_fail(reterr, XP_E_SESSION_LIMIT_EXCEEDED, "the input %.200s is larger than 4 GiB", in->path);

		xp_err_object(reterr, "%.300s", in->path);
		xp_err_limit(reterr, "input_bytes", (uint64_t)st.st_size, 1, XP_INPUT_BYTES_MAX);
		return rc;
	}
	if (!st.st_size)
		return xp_input_bad(in, 0, reterr, "it is empty");
	in->size = (uint64_t)st.st_size;
	in->fd = xp_steal_fd(&fd);
	return 0;
}

struct order {
	uint64_t sequence;
	size_t at;
};

static int by_sequence(const void *left, const void *right)
{
	const struct order *a = left, *b = right;

	if (a->sequence != b->sequence)
		return a->sequence < b->sequence ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/*
 * Brings the events of one file into the order of their sequence, equal ones in file order, and numbers them on from `begin`, so that
 * the final sort by (time, sequence) is one by (time, file, sequence).
 */
static int order_file(struct xp_store *store, uint64_t begin, struct xp_err *reterr)
{
	struct xp_event *events = xp_store_events(store) + begin;
	size_t n = xp_store_count(store) - begin;
	bool ordered = true;

	for (size_t i = 1; i < n && ordered; i++)
		ordered = events[i - 1].sequence <= events[i].sequence;
	if (!ordered) {
		xp_auto(xp_free) void *keys = malloc(n * sizeof(struct order));
		xp_auto(xp_free) void *copy = malloc(n * sizeof(*events));
		struct order *order = keys;

		if (!keys || !copy)
			return xp_fail_sys(reterr, ENOMEM, "malloc", "order of %zu events", n);
		memcpy(copy, events, n * sizeof(*events));
		for (size_t i = 0; i < n; i++)
			order[i] = (struct order){ events[i].sequence, i };
		qsort(order, n, sizeof(*order), by_sequence);
		for (size_t i = 0; i < n; i++)
			events[i] = ((struct xp_event *)copy)[order[i].at];
	}
	for (size_t i = 0; i < n; i++)
		events[i].sequence = begin + i;
	return 0;
}

static int read_file(struct xp_input *in, struct xp_err *reterr)
{
	char magic[sizeof(XP_CAPTURE_MAGIC)] = "";
	uint64_t begin = xp_store_count(in->store);
	int rc = open_file(in, reterr);

	if (rc)
		return rc;
	if (in->size >= sizeof(magic))
		rc = xp_input_pread(in, magic, sizeof(magic), 0, reterr);
	if (!rc && !memcmp(magic, XP_CAPTURE_MAGIC, sizeof(magic)))
		rc = xp_input_read_cupti(in, reterr);
	else if (!rc)
		rc = xp_input_read_json(in, reterr);
	return rc ? rc : order_file(in->store, begin, reterr);
}

/* Files name system calls; correlation follows restarted ones by number. A site is looked up once, however many events it has. */
static void number_syscalls(struct xp_store *store)
{
	struct xp_event *events = xp_store_events(store);
	struct xp_map numbers = { 0 };

	for (uint64_t i = 0; i < xp_store_count(store); i++) {
		const struct xp_site *site;
		bool is_new;

		if (events[i].type != XP_EV_SYSCALL_ENTRY && events[i].type != XP_EV_SYSCALL_EXIT)
			continue;
		uint64_t *number = xp_map_at(&numbers, events[i].site, NULL, NULL, &is_new);
		if (is_new) {
			site = xp_store_site_at(store, events[i].site);
			int known = site && site->symbol ? xp_syscall_number(site->symbol) : -1;
			*number = known < 0 ? UINT32_MAX : (uint64_t)known;
		}
		events[i].syscall_nr = (uint32_t)*number;
	}
	xp_map_done(&numbers);
}

static void find_target(struct xp_store *store, struct xp_input_summary *summary)
{
	const struct xp_event *events = xp_store_events(store);
	uint64_t n = xp_store_count(store);

	if (!n)
		return;
	struct xp_opt_u64 start_time = xp_store_start_time(store, events[0].process);
	for (uint64_t i = 1; i < n; i++)
		if (events[i].process != events[0].process)
			return;
	summary->have_target = start_time.set;
	summary->target = (struct xp_target_id){ .pid = events[0].pid, .process_start_time = start_time.v };
}

int xp_input_read(const char *const *paths, size_t n, const struct xp_input_options *options, struct xp_store **ret_store,
		  struct xp_input_summary *ret_summary, struct xp_err *reterr)
{
	xp_auto(xp_store_free) struct xp_store *store = xp_store_new(options->max_events);
	xp_auto(xp_arena_free) struct xp_arena *scratch = xp_arena_new();
	struct xp_input_summary summary = { 0 };

	if (!n || n > XP_INPUT_FILES_MAX) {
		int rc = xp_fail(reterr, XP_E_SESSION_LIMIT_EXCEEDED, "1 to 64 input files can be merged, not %zu", n);

		xp_err_limit(reterr, "input", n, 1, XP_INPUT_FILES_MAX);
		return rc;
	}
	struct xp_input in = { .store = store, .scratch = scratch, .summary = &summary, .options = options, .fd = -1 };
	for (size_t i = 0; i < n; i++) {
		in.path = paths[i];
		int rc = read_file(&in, reterr);
		xp_close_p(&in.fd);
		if (rc)
			return rc;
	}
	xp_store_sort(store);
	number_syscalls(store);
	find_target(store, &summary);
	*ret_summary = summary;
	*ret_store = xp_steal(&store);
	return 0;
}
