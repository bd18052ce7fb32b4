/* SPDX-License-Identifier: Apache-2.0 */
/* A measured graph for people. */
#ifndef XP_OUTPUT_REPORT_GRAPH_H
#define XP_OUTPUT_REPORT_GRAPH_H

#include "base/text.h"

/* `value`: struct xp_graph_result. At most 100 columns, commands to paste apart; ANSI sequences only with `color`. */
void xp_report_graph(const void *value, struct xp_text *out, bool color);

#endif
