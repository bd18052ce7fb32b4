/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a completed capture (Event JSONL, host capture, CUPTI): refused with a documented code, or a sorted store within its
 * capacity. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

#include "result/input.h"

enum { CAPACITY = 64 };

static void check(struct xp_store *store, const struct xp_input_summary *summary)
{
	const struct xp_event *events = xp_store_events(store);
	uint64_t n = xp_store_count(store);

	if (n > CAPACITY || summary->events < n || summary->host_events + summary->cuda_events != summary->events)
		abort();
	for (uint64_t i = 0; i < n; i++)
		if (events[i].sequence != i || (i && events[i].t_ns < events[i - 1].t_ns))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct xp_input_options options = { .max_events = CAPACITY };
	xp_auto_fd fd = memfd_create("capture", MFD_CLOEXEC);
	xp_auto(xp_store_free) struct xp_store *store = NULL;
	xp_auto_err err = { 0 };
	struct xp_input_summary summary;
	char path[64];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	const char *paths[] = { path };
	if (xp_input_read(paths, 1, &options, &store, &summary, &err)) {
		if (err.code != XP_E_TRACE_EXPORT_FAILED && err.code != XP_E_SESSION_LIMIT_EXCEEDED)
			abort();
		return 0;
	}
	check(store, &summary);
	return 0;
}
