/* SPDX-License-Identifier: Apache-2.0 */
/* Injection from outside: survey, work in a helper process that is cut off at a deadline, then the control memory is opened here. */
#include "inject/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "inject/inject_priv.h"

enum { MARGIN_MS = 2000 };

struct job {
	struct xp_target *target;
	const struct xp_inject_request *request;
	const struct xp_inject_ground *ground;
};

/* What the helper sends back: an error without its lists, or a result. */
struct reply {
	int code, sys_errno;
	char call[sizeof(((struct xp_err *)0)->call)], object[sizeof(((struct xp_err *)0)->object)];
	char message[sizeof(((struct xp_err *)0)->message)];
	struct xp_inject_result result;
};

static ssize_t help(void *arg, char *bytes, size_t size)
{
	const struct job *job = arg;
	struct reply reply = { 0 };
	xp_auto_err err = { 0 };
	sigset_t set;

	/* A signal from the terminal reaches this process too; it is heard at the next wait, where there is an orderly way back. */
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (xp_inject_work(job->target, job->request, job->ground, &reply.result, &err)) {
		reply.code = (int)err.code;
		reply.sys_errno = err.sys_errno;
		snprintf(reply.call, sizeof(reply.call), "%s", err.call);
		snprintf(reply.object, sizeof(reply.object), "%s", err.object);
		snprintf(reply.message, sizeof(reply.message), "%s", err.message);
	}
	if (size < sizeof(reply))
		return -1;
	memcpy(bytes, &reply, sizeof(reply));
	return sizeof(reply);
}

static int fail(const struct reply *reply, struct xp_err *reterr)
{
	if (!reply->call[0])
		return xp_fail(reterr, (enum xp_err_code)reply->code, "%s", reply->message);
	int rc = xp_fail_call(reterr, (enum xp_err_code)reply->code, reply->sys_errno, reply->call, "%s", reply->object);
	xp_err_say(reterr, "%s", reply->message);
	return rc;
}

static int open_control(struct xp_target *target, struct xp_inject_result *result, struct xp_err *reterr)
{
	char path[64];

	if (result->control < 0)
		return 0;
	/* Through the thread: the first one of the process may have ended. */
	snprintf(path, sizeof(path), "/proc/%u/fd/%d", result->tid, result->control);
	result->control_fd = open(path, O_RDWR | O_CLOEXEC);
	int errnum = result->control_fd < 0 ? errno : 0;
	int rc = xp_target_check(target, reterr);
	if (!rc && errnum)
		return xp_fail_sys(reterr, errnum, "open", "%s", path);
	if (rc)
		xp_close_p(&result->control_fd);
	return rc;
}

int xp_inject_check(struct xp_target *target, const struct xp_inject_request *request, struct xp_arena *arena, struct xp_err *reterr)
{
	struct xp_inject_ground ground;

	return xp_inject_survey(target, request, arena, &ground, reterr);
}

int xp_inject(struct xp_target *target, const struct xp_inject_request *request, struct xp_inject_result *ret_result, struct xp_err *reterr)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	unsigned bound = request->timeout_ms ? request->timeout_ms : XP_INJECT_TIMEOUT_MS;
	struct xp_inject_ground ground;
	struct reply reply;

	int rc = xp_inject_survey(target, request, arena, &ground, reterr);
	if (rc)
		return rc;
	struct job job = { target, request, &ground };
	ssize_t len = xp_child_call(help, &job, bound + MARGIN_MS, (char *)&reply, sizeof(reply));
	if (len == -ETIME)
		return xp_fail(reterr, XP_E_CUPTI_NOT_AVAILABLE, "injecting into process %u took more than %u ms; it was let go",
			       xp_target_pid(target), bound);
	if (len == -ECHILD)
		return xp_fail(reterr, XP_E_CANCELLED, "the helper that injects was ended from outside; process %u was let go",
			       xp_target_pid(target));
	if (len != sizeof(reply))
		return xp_fail_sys(reterr, len < 0 ? (int)-len : EPROTO, "fork", "helper for process %u", xp_target_pid(target));
	if (reply.code)
		return fail(&reply, reterr);
	rc = open_control(target, &reply.result, reterr);
	if (!rc)
		*ret_result = reply.result;
	return rc;
}
