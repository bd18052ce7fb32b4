/* SPDX-License-Identifier: Apache-2.0 */
/* The measurement for people. */
#ifndef XP_OUTPUT_REPORT_MEASUREMENT_H
#define XP_OUTPUT_REPORT_MEASUREMENT_H

#include "base/text.h"

struct xp_quality;
struct xp_cost;
struct xp_warning;

/* `value`: struct xp_measurement with at least one pair. At most 100 columns; ANSI sequences only with `color`. */
void xp_report_measurement(const void *value, struct xp_text *out, bool color);

/* Sections that other reports share: each a label and what belongs to it. */
void xp_report_quality(const struct xp_quality *quality, struct xp_text *out, bool color);
void xp_report_cost(const struct xp_cost *cost, struct xp_text *out, bool color); /* NULL: nothing */
void xp_report_warnings(const struct xp_warning *warnings, size_t n, struct xp_text *out, bool color);
/* The same without those that an issue of `quality` tells under the same name. */
void xp_report_further_warnings(const struct xp_warning *warnings, size_t n, const struct xp_quality *quality, struct xp_text *out,
				bool color);

#endif
