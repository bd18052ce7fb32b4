/* SPDX-License-Identifier: Apache-2.0 */
/* Sections that several reports share: verdict, cost, warnings. In: parts of a result. Out: text. No state. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/note.h"
#include "collect/collector.h"
#include "output/human.h"
#include "output/report_measurement.h"

enum { INDENT = 11, BULLET = INDENT + 2 };

/* "- code: message" on lines of their own. */
static void note(struct xp_text *out, const char *code, const char *message)
{
	xp_text_fmt(out, "%*s- %s: ", INDENT, "", code);
	xp_human_wrap(out, message, BULLET + strlen(code) + 2, BULLET);
	xp_text_char(out, '\n');
}

void xp_report_quality(const struct xp_quality *quality, struct xp_text *out, bool color)
{
	bool good = quality->verdict == XP_GOOD;

	xp_text_str(out, "verdict    ");
	xp_human_tone(out, good ? XP_TONE_GOOD : XP_TONE_WARN, color);
	xp_text_str(out, good ? "good" : "caution");
	xp_human_tone(out, XP_TONE_PLAIN, color);
	xp_text_str(out, quality->n_issues ? good ? ", though:\n" : ", because:\n" : "\n");
	for (int severity = XP_CAUTION; severity >= XP_INFO; severity--)
		for (size_t i = 0; i < quality->n_issues; i++)
			if (quality->issues[i].severity == severity)
				note(out, quality->issues[i].code, quality->issues[i].message);
}

void xp_report_cost(const struct xp_cost *cost, struct xp_text *out, bool color)
{
	char text[XP_HUMAN_SIZE];

	if (!cost)
		return;
	xp_text_fmt(out, "cost       %" PRIu64 " probe hits", cost->probe_events);
	if (cost->probe_floor_ns.set)
		xp_text_fmt(out, " of about %s", xp_human_ns(text, (double)cost->probe_floor_ns.v));
	if (cost->cpu_share.set)
		xp_text_fmt(out, ", %.2f%% of the target's CPU time", cost->cpu_share.v * 100);
	if (cost->limit > 0)
		xp_text_fmt(out, " (limit %.*f%%%s)", cost->limit < 0.001 ? 4 : 1, cost->limit * 100,
			    cost->limit_reached ? ", reached" : "");
	xp_text_char(out, '\n');
}

static bool said(const struct xp_quality *quality, const char *code)
{
	for (size_t i = 0; quality && i < quality->n_issues; i++)
		if (!strcasecmp(quality->issues[i].code, code))
			return true;
	return false;
}

void xp_report_further_warnings(const struct xp_warning *warnings, size_t n, const struct xp_quality *quality, struct xp_text *out,
				bool color)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (said(quality, warnings[i].code))
			continue;
		if (!any) {
			xp_human_tone(out, XP_TONE_WARN, color);
			xp_text_str(out, "warnings");
			xp_human_tone(out, XP_TONE_PLAIN, color);
			xp_text_char(out, '\n');
		}
		any = true;
		note(out, warnings[i].code, warnings[i].message);
	}
}

void xp_report_warnings(const struct xp_warning *warnings, size_t n, struct xp_text *out, bool color)
{
	xp_report_further_warnings(warnings, n, NULL, out, color);
}
