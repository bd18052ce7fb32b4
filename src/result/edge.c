/* SPDX-License-Identifier: Apache-2.0 */
/* Counts, statistics, score, clock and quality of one edge. In: pairs and facts. Out: a plain value. No state. */
#include "result/edge.h"

static uint64_t all_of(const struct xp_pairs *pairs)
{
	return pairs->n + pairs->unmatched_start + pairs->unmatched_end + pairs->ambiguous;
}

static struct xp_opt_f64 share(uint64_t part, uint64_t all)
{
	return (struct xp_opt_f64){ .set = all > 0, .v = all ? (double)part / (double)all : 0 };
}

struct xp_opt_f64 xp_unmatched_share(const struct xp_pairs *pairs)
{
	return share(pairs->unmatched_start + pairs->unmatched_end, all_of(pairs));
}

struct xp_opt_f64 xp_score(const struct xp_pairs *pairs)
{
	return share(pairs->n, all_of(pairs));
}

static bool widen(struct xp_opt_u64 *error, const struct xp_event *event)
{
	if (event->error_ns == XP_ERROR_UNKNOWN)
		return false;
	if (event->error_ns > error->v)
		error->v = event->error_ns;
	return true;
}

/* The largest error of any event in a kept pair; unset when it is not known for one of them (contract 9.1 rule 8). */
static struct xp_opt_u64 clock_error(const struct xp_event *events, const struct xp_pairs *pairs)
{
	struct xp_opt_u64 error = XP_SOME(0);

	for (uint64_t i = 0; i < pairs->n; i++)
		if (!widen(&error, &events[pairs->at[i].start]) || !widen(&error, &events[pairs->at[i].end]))
			return (struct xp_opt_u64){ 0 };
	return error;
}

int xp_edge_make(const struct xp_edge_request *request, struct xp_arena *arena, struct xp_edge_value *ret_value, struct xp_err *reterr)
{
	const struct xp_event *events = xp_store_events(request->store);
	const struct xp_pairs *pairs = request->pairs;
	struct xp_issues issues = { .arena = arena };
	struct xp_edge_value value = {
		.samples = { pairs->n, pairs->unmatched_start, pairs->unmatched_end, pairs->ambiguous, request->facts->dropped },
		.correlation = { pairs->method, (int)pairs->confidence, xp_score(pairs), pairs->one_to_many },
		.clock = { (int)pairs->alignment, clock_error(events, pairs) },
	};

	if (pairs->n) {
		struct xp_statistics *statistics = xp_arena_new_of(arena, struct xp_statistics);
		int r = xp_statistics_make(events, pairs, statistics, reterr);

		if (r)
			return r;
		value.statistics = statistics;
		value.latency_ns = &statistics->latency;
	}
	xp_edge_doubts(request, &value, &issues);
	value.quality = xp_quality_of(&issues);
	*ret_value = value;
	return 0;
}

static const struct xp_field sample_counts_fields[] = {
	XP_FIELD(xp_sample_counts, matched, U64, "pairs"),
	XP_FIELD(xp_sample_counts, unmatched_start, U64, "starts without an end"),
	XP_FIELD(xp_sample_counts, unmatched_end, U64, "ends without a start"),
	XP_FIELD(xp_sample_counts, ambiguous, U64, "events that could have belonged to several pairs"),
	XP_FIELD(xp_sample_counts, dropped, U64, "events lost between source and xprobe"),
};
const struct xp_record xp_sample_counts_record =
	XP_RECORD("SampleCounts", xp_sample_counts, sample_counts_fields, "how many events were paired");

static const struct xp_field correlation_fields[] = {
	XP_FIELD(xp_correlation, method, STR, "how events were paired, contract 9"),
	XP_FIELD_ENUM(xp_correlation, confidence, xp_confidence_names,
		      "how sure a pair is; ambiguous when more events were ambiguous than paired"),
	XP_FIELD(xp_correlation, score, OPT_F64, "matched / (matched + unmatched_start + unmatched_end + ambiguous); null: no event"),
	XP_FIELD(xp_correlation, one_to_many, U64, "graph launches that were paired with several activities"),
};
const struct xp_record xp_correlation_record = XP_RECORD("Correlation", xp_correlation, correlation_fields, "how starts found their ends");

static const struct xp_field clock_fields[] = {
	XP_FIELD_ENUM(xp_clock_quality, alignment, xp_alignment_names, "how times of both sides were made comparable"),
	XP_FIELD(xp_clock_quality, estimated_error_ns, OPT_U64, "largest error of any event used; null: unknown for one of them"),
};
const struct xp_record xp_clock_quality_record = XP_RECORD("ClockQuality", xp_clock_quality, clock_fields, "how well the clocks agree");
