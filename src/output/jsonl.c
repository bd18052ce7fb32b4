/* SPDX-License-Identifier: Apache-2.0 */
/* One Event per line. In: a sorted capture. Out: compact JSON lines through a sink. No state beyond one line. */
#include "output/output.h"
#include "result/event_record.h"

static int write_jsonl(const struct xp_output_input *input, const struct xp_sink *sink, struct xp_err *reterr)
{
	xp_auto(xp_arena_free) struct xp_arena *scratch = xp_arena_new();
	xp_auto_builder line = { 0 };
	const struct xp_event *events = xp_store_events(input->store);
	uint64_t n = xp_store_count(input->store);

	for (uint64_t i = 0; i < n; i++) {
		struct xp_json json = { .out = &line };
		struct xp_event_doc doc;
		int rc = xp_output_check_stop(input, i, reterr);

		if (rc)
			return rc;
		xp_event_doc_make(input->store, &events[i], input->session_id, scratch, &doc);
		xp_record_write(&json, &xp_event_record, &doc, false);
		xp_text_char(&line, '\n');
		rc = sink->write(sink->arg, line.data, line.len, reterr);
		if (rc)
			return rc;
		line.len = 0;
		xp_arena_reset(scratch);
	}
	return 0;
}

const struct xp_output xp_output_jsonl = {
	.name = "jsonl",
	.summary = "one Event per line",
	.takes = XP_TAKES_EVENTS | XP_TAKES_GRAPH,
	.counts_events = true,
	.write = write_jsonl,
};
