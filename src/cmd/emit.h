/* SPDX-License-Identifier: Apache-2.0 */
/* The one document of a command: to stdout, within its budget, or OUTPUT_FAILED on stderr. */
#ifndef XP_CMD_EMIT_H
#define XP_CMD_EMIT_H

#include "cmd/command.h"

/* Writes all bytes to stdout. False after the OUTPUT_FAILED line on stderr. */
bool xp_emit_bytes(const char *bytes, size_t len);
/* The session's value as JSON or human report; exit status 0 or 1. */
int xp_emit_result(struct xp_session *session);
/* The error record (JSON mode: stdout; else stderr) and the exit status of its code. */
int xp_emit_error(const struct xp_session *session, const struct xp_err *err);
/* value as compact JSON text; shrinks while it is larger than the budget. Returns owned by the caller (xp_text_done). */
void xp_render(const struct xp_record *record, void *value, bool pretty, size_t budget, bool (*shrink)(void *value), struct xp_text *out);
/* Puts a result that could be made although the command failed into details.partial, within its budget. */
void xp_err_partial(struct xp_err *err, const struct xp_record *record, void *value, size_t budget, bool (*shrink)(void *value));

#endif
