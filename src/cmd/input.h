/* SPDX-License-Identifier: Apache-2.0 */
/* --input, as every command that takes it reads it. */
#ifndef XP_CMD_INPUT_H
#define XP_CMD_INPUT_H

#include "cmd/command.h"
#include "result/input.h"

/* Largest --max-events: commands without that flag read up to this many. */
#define XP_INPUT_EVENTS_MAX UINT64_C(50000000)

/* xp_input_read of every --input, in command-line order. INVALID_ARGUMENT when there is none. */
int xp_input_from_flags(const struct xp_session *session, const struct xp_input_options *options, struct xp_store **ret_store,
			struct xp_input_summary *ret_summary, struct xp_err *reterr);
/* A signal came: for xp_input_options.stop and xp_output_input.stop of commands without a window. */
bool xp_input_interrupted(void);

#endif
