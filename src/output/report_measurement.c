/* SPDX-License-Identifier: Apache-2.0 */
/* A measurement at a glance: what, how long, spread, verdict, where the evidence is. In: the value. Out: text. No state. */
#include "output/report_measurement.h"

#include <inttypes.h>
#include <string.h>

#include "output/human.h"
#include "result/measurement.h"

enum { LABEL = 11, ROOM = XP_REPORT_COLUMNS - LABEL, MAX_BARS = 12, BUCKETS = XP_LEN(((struct xp_histogram *)0)->bucket) };

static void line(struct xp_text *out, const char *label, const char *text)
{
	xp_text_fmt(out, "%-*s", LABEL, label);
	xp_human_text(out, text, ROOM);
	xp_text_char(out, '\n');
}

static void head(const struct xp_measurement *m, struct xp_text *out, bool color)
{
	char text[XP_HUMAN_SIZE];

	xp_human_tone(out, XP_TONE_STRONG, color);
	if (m->measurement.name)
		line(out, "name", m->measurement.name);
	line(out, "from", m->measurement.start_selector);
	line(out, "to", m->measurement.end_selector);
	xp_human_tone(out, XP_TONE_PLAIN, color);
	xp_text_fmt(out, "%-*s%s, confidence %s", LABEL, "paired by", xp_policy_names[m->measurement.match_policy],
		    xp_confidence_names[m->correlation.confidence]);
	if (m->target)
		xp_text_fmt(out, ", pid %u", m->target->pid);
	xp_text_fmt(out, ", window %s, %s\n\n", xp_human_ns(text, (double)m->collection.window_ns), xp_status_names[m->status]);
}

static void number(struct xp_text *out, const char *name, double ns, bool strong, bool color)
{
	char text[XP_HUMAN_SIZE];

	xp_text_fmt(out, "%4s ", name);
	xp_human_tone(out, strong ? XP_TONE_STRONG : XP_TONE_PLAIN, color);
	xp_text_fmt(out, "%-9s", xp_human_ns(text, ns));
	xp_human_tone(out, XP_TONE_PLAIN, color);
}

static void numbers(const struct xp_measurement *m, struct xp_text *out, bool color)
{
	const struct xp_latency *l = m->measurement.latency_ns;
	const struct xp_sample_counts *s = &m->measurement.samples;

	xp_text_fmt(out, "%-*s", LABEL, "latency");
	number(out, "p50", (double)l->p50, true, color);
	number(out, "p90", (double)l->p90, false, color);
	number(out, "p99", (double)l->p99, true, color);
	number(out, "max", (double)l->max, false, color);
	number(out, "min", (double)l->min, false, color);
	number(out, "mean", l->mean, false, color);
	xp_text_fmt(out, "\n%-*s%" PRIu64, LABEL, "pairs", s->matched);
	if (s->unmatched_start || s->unmatched_end || s->ambiguous)
		xp_text_fmt(out, "; without a partner: starts %" PRIu64 ", ends %" PRIu64 "; ambiguous %" PRIu64, s->unmatched_start,
			    s->unmatched_end, s->ambiguous);
	xp_text_str(out, "\n\n");
}

/* The bucket where the bars begin: the slowest MAX_BARS that hold something are shown. */
static unsigned first_shown(const uint64_t *bucket)
{
	unsigned first = 0, shown = 0;

	for (unsigned b = BUCKETS; b > 0 && shown < MAX_BARS; b--) {
		if (!bucket[b - 1])
			continue;
		first = b - 1;
		shown++;
	}
	return first;
}

static void bar(struct xp_text *out, unsigned b, uint64_t n, uint64_t most)
{
	char low[XP_HUMAN_SIZE], high[XP_HUMAN_SIZE];

	xp_text_fmt(out, "%*s%9s - %9s %9" PRIu64 " ", LABEL, "", b ? xp_human_ns(low, (double)(1ull << b)) : "0 ns",
		    xp_human_ns(high, 2 * (double)(1ull << b)), n);
	xp_human_bar(out, n, most, XP_REPORT_COLUMNS - LABEL - 32);
	xp_text_char(out, '\n');
}

/* The log2 histogram; runs of empty buckets are told as a gap. */
static void bars(const struct xp_measurement *m, struct xp_text *out)
{
	const uint64_t *bucket = m->statistics->histogram.bucket;
	unsigned first = first_shown(bucket), last = first;
	uint64_t most = 0, below = 0;

	for (unsigned b = 0; b < BUCKETS; b++) {
		most = bucket[b] > most ? bucket[b] : most;
		below += b < first ? bucket[b] : 0;
	}
	if (below)
		xp_text_fmt(out, "%*sfaster: %" PRIu64 "\n", LABEL, "", below);
	for (unsigned b = first; b < BUCKETS; b++) {
		if (!bucket[b])
			continue;
		if (b > last + 1)
			xp_text_fmt(out, "%*s%9s\n", LABEL, "", "...");
		bar(out, b, bucket[b], most);
		last = b;
	}
	xp_text_char(out, '\n');
}

static void evidence(const struct xp_measurement *m, struct xp_text *out)
{
	const struct xp_artifact *artifact = m->evidence.artifact;
	char text[XP_HUMAN_SIZE];

	if (!artifact)
		return;
	xp_text_fmt(out, "%-*s", LABEL, "evidence");
	xp_human_tail(out, artifact->path, ROOM);
	xp_text_fmt(out, "\n%*s%s, ", LABEL, "", artifact->format);
	if (artifact->event_count.set)
		xp_text_fmt(out, "%" PRIu64 " events, ", artifact->event_count.v);
	xp_text_fmt(out, "%s; slowest pair: %s -> %s\n", xp_human_bytes(text, artifact->bytes),
		    m->evidence.exemplars[XP_RANK_MAX].start.event_id, m->evidence.exemplars[XP_RANK_MAX].end.event_id);
}

void xp_report_measurement(const void *value, struct xp_text *out, bool color)
{
	const struct xp_measurement *m = value;

	head(m, out, color);
	if (m->statistics) {
		numbers(m, out, color);
		bars(m, out);
	}
	xp_report_quality(&m->quality, out, color);
	xp_report_cost(m->cost, out, color);
	xp_report_further_warnings(m->warnings, m->n_warnings, &m->quality, out, color);
	evidence(m, out);
}
