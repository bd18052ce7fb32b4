/* SPDX-License-Identifier: Apache-2.0 */
/* What an error code means to the outside: exit status, whether another try may succeed, first advice. Contract 1.3 to 1.5. */
#ifndef XP_CMD_ERRORS_H
#define XP_CMD_ERRORS_H

#include "base/field.h"

struct xp_error_row {
	int exit_status;
	bool recoverable;
	const char *when;   /* one line for docs */
	const char *advice; /* default hint; NULL: none */
};
const struct xp_error_row *xp_error_row(enum xp_err_code code);

/* Contract 1.4 as a value. */
struct xp_error_body {
	const char *code, *message;
	bool recoverable;
	json_t *details;
	const char *const *hints;
	size_t n_hints;
};
struct xp_error_doc {
	struct xp_error_body error;
};
extern const struct xp_record xp_error_record; /* "Error" */

/* Builds the record; everything in it lives in the arena or in *err. */
struct xp_error_doc xp_error_doc_make(const struct xp_err *err, struct xp_arena *arena);

#endif
