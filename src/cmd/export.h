/* SPDX-License-Identifier: Apache-2.0 */
/* TraceExportResult, contract 7. */
#ifndef XP_CMD_EXPORT_H
#define XP_CMD_EXPORT_H

#include "cmd/command.h"

struct xp_export {
	const char *format, *output;
	uint64_t event_count;
};
extern const struct xp_record xp_export_record; /* "TraceExportResult" */

#endif
