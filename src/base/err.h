/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as values: filled where the cause is known, passed up or turned into data, worded only in cmd/. */
#ifndef XP_BASE_ERR_H
#define XP_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/cleanup.h"

enum xp_err_code {
	XP_E_NONE = 0,
#define XP_ERR(name) XP_E_##name,
#include "base/err_list.def"
#undef XP_ERR
	XP_E_COUNT
};

/*
 * One failure. `call`, `errno_text` and `object` are the members of contract 1.4 and empty when no call failed.
 * `details` holds further machine keys (owned, may be NULL), `hints` next steps (owned JSON array of strings, may be NULL).
 * Zero-initialised means "no error". Owned by the caller of the function that fills it; release with xp_err_done.
 */
struct xp_err {
	enum xp_err_code code;
	int sys_errno;
	char errno_text[24];
	char call[64];
	char object[320];
	char message[640];
	json_t *details;
	json_t *hints;
};

/* All of these fill *err (an earlier content is released first) and return -code, so that `return xp_fail(...)` reads well. */
int xp_fail(struct xp_err *err, enum xp_err_code code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* A failed call whose code follows from errno: EPERM/EACCES permission, ESRCH exited, E[MN]FILE/ENOMEM limit, else INTERNAL. */
int xp_fail_sys(struct xp_err *err, int errnum, const char *call, const char *object_fmt, ...) __attribute__((format(printf, 4, 5)));
/* A failed call with an explicit code. errnum 0: no errno is told. */
int xp_fail_call(struct xp_err *err, enum xp_err_code code, int errnum, const char *call, const char *object_fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* Replaces the sentence for people; machine members stay. */
void xp_err_say(struct xp_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Names what the failure was about (details.object). */
void xp_err_object(struct xp_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds a key to details. Takes `value` in every case; a NULL value is ignored. */
void xp_err_detail(struct xp_err *err, const char *key, json_t *value);
/* Appends one next step. */
void xp_err_hint(struct xp_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* details.limit of contract 1.4. */
void xp_err_limit(struct xp_err *err, const char *name, uint64_t value, uint64_t minimum, uint64_t maximum);

/* Moves *from into *to (releasing what *to held); *from is "no error" afterwards. Returns -code. */
int xp_err_move(struct xp_err *to, struct xp_err *from);
void xp_err_done(struct xp_err *err);

#define xp_auto_err __attribute__((cleanup(xp_err_done))) struct xp_err

/* "PERMISSION_DENIED"; never NULL. */
const char *xp_err_name(enum xp_err_code code);
/* Reverse of xp_err_name; XP_E_NONE when unknown. */
enum xp_err_code xp_err_from_name(const char *name);
/* "EACCES"; "E<number>" when the C library knows no name. The text is static or in a thread-local buffer. */
const char *xp_errno_name(int errnum);

#endif
