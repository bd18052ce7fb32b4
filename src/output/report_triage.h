/* SPDX-License-Identifier: Apache-2.0 */
/* The triage for people. */
#ifndef XP_OUTPUT_REPORT_TRIAGE_H
#define XP_OUTPUT_REPORT_TRIAGE_H

#include "base/text.h"

/* `value`: struct xp_triage. At most 100 columns but for commands, which stay whole; ANSI sequences only with `color`. */
void xp_report_triage(const void *value, struct xp_text *out, bool color);

#endif
