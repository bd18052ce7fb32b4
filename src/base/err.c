/* SPDX-License-Identifier: Apache-2.0 */
/* Error values: filling, moving, naming. Out: struct xp_err. No state. */
#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

static const char *const err_names[XP_E_COUNT] = {
	[XP_E_NONE] = "NONE",
#define XP_ERR(name) [XP_E_##name] = #name,
#include "base/err_list.def"
#undef XP_ERR
};

const char *xp_err_name(enum xp_err_code code)
{
	return (unsigned)code < XP_E_COUNT ? err_names[code] : "INTERNAL";
}

enum xp_err_code xp_err_from_name(const char *name)
{
	for (unsigned i = 1; i < XP_E_COUNT; i++)
		if (!strcmp(name, err_names[i]))
			return (enum xp_err_code)i;
	return XP_E_NONE;
}

const char *xp_errno_name(int errnum)
{
	static _Thread_local char number[16];
	const char *name = strerrorname_np(errnum);

	if (name)
		return name;
	if (errnum == 524) /* kernel-internal, reaches user space from uprobe attach; include/linux/errno.h */
		return "ENOTSUPP";
	snprintf(number, sizeof(number), "E%d", errnum);
	return number;
}

static void start(struct xp_err *err, enum xp_err_code code)
{
	xp_err_done(err);
	err->code = code;
}

int xp_fail(struct xp_err *err, enum xp_err_code code, const char *fmt, ...)
{
	va_list ap;

	start(err, code);
	va_start(ap, fmt);
	vsnprintf(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
	return -(int)code;
}

static enum xp_err_code code_of_errno(int errnum)
{
	switch (errnum) {
	case EPERM:
	case EACCES:
		return XP_E_PERMISSION_DENIED;
	case ESRCH:
		return XP_E_TARGET_EXITED;
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case ENOSPC:
		return XP_E_RESOURCE_LIMIT;
	default:
		return XP_E_INTERNAL;
	}
}

static int fail_call(struct xp_err *err, enum xp_err_code code, int errnum, const char *call, const char *fmt, va_list ap)
{
	start(err, code);
	err->sys_errno = errnum;
	if (errnum)
		snprintf(err->errno_text, sizeof(err->errno_text), "%s", xp_errno_name(errnum));
	snprintf(err->call, sizeof(err->call), "%s", call);
	vsnprintf(err->object, sizeof(err->object), fmt, ap);
	snprintf(err->message, sizeof(err->message), "%s failed for %s%s%s", call, err->object, errnum ? ": " : "",
		 errnum ? strerror(errnum) : "");
	return -(int)code;
}

int xp_fail_sys(struct xp_err *err, int errnum, const char *call, const char *object_fmt, ...)
{
	va_list ap;

	va_start(ap, object_fmt);
	int rc = fail_call(err, code_of_errno(errnum), errnum, call, object_fmt, ap);
	va_end(ap);
	return rc;
}

int xp_fail_call(struct xp_err *err, enum xp_err_code code, int errnum, const char *call, const char *object_fmt, ...)
{
	va_list ap;

	va_start(ap, object_fmt);
	int rc = fail_call(err, code, errnum, call, object_fmt, ap);
	va_end(ap);
	return rc;
}

void xp_err_say(struct xp_err *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
}

void xp_err_object(struct xp_err *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->object, sizeof(err->object), fmt, ap);
	va_end(ap);
}

void xp_err_detail(struct xp_err *err, const char *key, json_t *value)
{
	if (!value)
		return;
	if (!err->details)
		err->details = json_object();
	json_object_set_new(err->details, key, value);
}

void xp_err_hint(struct xp_err *err, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!err->hints)
		err->hints = json_array();
	json_array_append_new(err->hints, json_string_nocheck(text));
}

void xp_err_limit(struct xp_err *err, const char *name, uint64_t value, uint64_t minimum, uint64_t maximum)
{
	xp_err_detail(err, "limit",
		      json_pack("{s:s,s:o,s:o,s:o}", "name", name, "value", xp_json_exact(value), "minimum", xp_json_exact(minimum),
				"maximum", xp_json_exact(maximum)));
}

int xp_err_move(struct xp_err *to, struct xp_err *from)
{
	if (to != from) {
		xp_err_done(to);
		*to = *from;
		memset(from, 0, sizeof(*from));
	}
	return -(int)to->code;
}

void xp_err_done(struct xp_err *err)
{
	json_decref(err->details);
	json_decref(err->hints);
	memset(err, 0, sizeof(*err));
}
