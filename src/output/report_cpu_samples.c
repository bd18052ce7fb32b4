/* SPDX-License-Identifier: Apache-2.0 */
/* CPU samples at a glance: hottest stacks as a tree, hot functions, threads. In: the value. Out: text. No state. */
#include <inttypes.h>

#include "inventory/cpu_samples.h"
#include "output/human.h"
#include "output/report_measurement.h"

void xp_cpu_samples_report(const void *value, struct xp_text *out, bool color)
{
	const struct xp_cpu_samples *s = value;

	xp_report_quality(&s->quality, out, color);
}
