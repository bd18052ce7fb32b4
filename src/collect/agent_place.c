/* SPDX-License-Identifier: Apache-2.0 */
/* Brings the agent into a target. In: target and file. Out: an open link. State: none; the agent stays mapped. */
#include "collect/agent_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "inject/inject.h"

enum { AGENT_MAX_BYTES = 8 << 20, APPEAR_TRIES = 100, APPEAR_STEP_NS = 10000000 };

static int no_file(const struct xp_agent_place *place, struct xp_err *reterr)
{
	int rc = xp_fail(reterr, XP_E_CUPTI_NOT_AVAILABLE, "the agent file libxprobe-agent.so was not found%s%s",
			 place->tried ? "; looked at " : "", place->tried ? place->tried : "");

	xp_err_object(reterr, "libxprobe-agent.so");
	xp_err_hint(reterr, "name it with --agent, or install it beside xprobe");
	return rc;
}

static int unreadable(const char *path, int errnum, const char *call, struct xp_err *reterr)
{
	int rc = xp_fail_call(reterr, XP_E_CUPTI_NOT_AVAILABLE, errnum, call, "%s", path);

	xp_err_say(reterr, "the agent file %s cannot be read: %s", path, strerror(errnum));
	return rc;
}

/* The whole file; released with free. */
static int read_image(const char *path, void **ret_image, size_t *ret_size, struct xp_err *reterr)
{
	struct stat st;
	xp_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t done = 0;

	if (fd < 0)
		return unreadable(path, errno, "open", reterr);
	if (fstat(fd, &st))
		return unreadable(path, errno, "fstat", reterr);
	if (!S_ISREG(st.st_mode) || st.st_size < 64 || st.st_size > AGENT_MAX_BYTES)
		return unreadable(path, EINVAL, "fstat", reterr);
	xp_auto(xp_free) void *image = malloc((size_t)st.st_size);
	if (!image)
		return xp_fail_sys(reterr, ENOMEM, "malloc", "agent image");
	while (done < (size_t)st.st_size) {
		ssize_t n = read(fd, (char *)image + done, (size_t)st.st_size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return unreadable(path, n ? errno : EIO, "read", reterr);
		done += (size_t)n;
	}
	*ret_image = xp_steal(&image);
	*ret_size = done;
	return 0;
}

static struct xp_inject_request request_for(const void *image, size_t size)
{
	/* The agent makes its own control file when it starts, so that it can also be started by the environment. */
	return (struct xp_inject_request){
		.image = image,
		.image_size = size,
		.image_name = "xprobe-agent",
		.entry = "xprobe_agent_start",
	};
}

/* The agent's thread makes the memory file; it is there a moment after the entry has returned. */
static int open_soon(struct xp_target *target, struct xp_agent_link **ret_link, struct xp_err *reterr)
{
	struct timespec step = { .tv_nsec = APPEAR_STEP_NS };

	for (int i = 0;; i++) {
		xp_auto_err err = { 0 };
		int rc = xp_agent_link_open(target, ret_link, &err);

		if (!rc)
			return 0;
		if (rc != -XP_E_CUPTI_AGENT_NOT_LOADED || i == APPEAR_TRIES)
			return xp_err_move(reterr, &err);
		nanosleep(&step, NULL);
	}
}

int xp_agent_bring(struct xp_target *target, const struct xp_agent_place *place, struct xp_agent_link **ret_link, bool *ret_injected,
		   uint64_t *ret_stall_ns, struct xp_err *reterr)
{
	xp_auto(xp_free) void *image = NULL;
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_inject_result result;
	size_t size;

	*ret_injected = false;
	*ret_stall_ns = 0;
	xp_auto_err absent = { 0 };
	int rc = xp_agent_link_open(target, ret_link, &absent);
	if (rc != -XP_E_CUPTI_AGENT_NOT_LOADED)
		return rc ? xp_err_move(reterr, &absent) : 0;
	if (!place->agent_path)
		return no_file(place, reterr);
	rc = read_image(place->agent_path, &image, &size, reterr);
	if (rc)
		return rc;
	struct xp_inject_request request = request_for(image, size);
	rc = xp_inject_check(target, &request, arena, reterr);
	if (rc)
		return rc;
	if (place->before_change)
		place->before_change(place->arg, xp_target_pid(target));
	rc = xp_inject(target, &request, &result, reterr);
	if (rc)
		return rc;
	*ret_injected = true;
	*ret_stall_ns = result.stall_ns;
	return open_soon(target, ret_link, reterr);
}

int xp_agent_check(struct xp_target *target, const struct xp_agent_place *place, struct xp_arena *arena, bool *ret_loaded,
		   struct xp_err *reterr)
{
	xp_auto(xp_agent_link_close) struct xp_agent_link *link = NULL;
	xp_auto(xp_free) void *image = NULL;
	size_t size;

	xp_auto_err absent = { 0 };
	int rc = xp_agent_link_open(target, &link, &absent);
	*ret_loaded = !rc;
	if (rc != -XP_E_CUPTI_AGENT_NOT_LOADED)
		return rc ? xp_err_move(reterr, &absent) : 0;
	if (!place->agent_path)
		return no_file(place, reterr);
	rc = read_image(place->agent_path, &image, &size, reterr);
	if (rc)
		return rc;
	struct xp_inject_request request = request_for(image, size);
	return xp_inject_check(target, &request, arena, reterr);
}
