/* SPDX-License-Identifier: Apache-2.0 */
/* `dev cupti`: one CUPTI capture file as Event lines on stdout, what its envelope says on stderr. No state. */
#include <stdio.h>
#include <string.h>

#include "cmd/dev.h"
#include "cmd/input.h"
#include "output/output.h"
#include "result/event_record.h"

static int run(struct xp_session *session, struct xp_err *reterr)
{
	const struct xp_input_options options = { .max_events = XP_INPUT_EVENTS_MAX, .stop = xp_input_interrupted };
	const char *session_id = xp_flag_text(session, "--session-id", "");
	xp_auto(xp_store_free) struct xp_store *store = NULL;
	struct xp_input_summary summary;

	if (!session_id[0] || strlen(session_id) > XP_SESSION_ID_MAX)
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--session-id takes 1 to 128 bytes and is required");
	int rc = xp_input_from_flags(session, &options, &store, &summary, reterr);
	if (rc)
		return rc;
	if (!summary.cupti.present) {
		rc = xp_fail(reterr, XP_E_TRACE_EXPORT_FAILED, "the input is not a CUPTI capture file");
		xp_err_object(reterr, "%.300s", xp_flag_text(session, "--input", ""));
		return rc;
	}
	const struct xp_output_input input = { .store = store, .session_id = session_id, .stop = xp_input_interrupted };
	session->printed = true;
	rc = xp_dev_print_events(&input, reterr);
	fprintf(stderr, "xprobe: %llu events, %llu dropped, %llu unknown records\n", (unsigned long long)summary.events,
		(unsigned long long)summary.cupti.dropped_records, (unsigned long long)summary.cupti.unknown_records);
	return rc;
}

const struct xp_dev_part xp_dev_cupti = { .word = "cupti", .mode = XP_DEV_CUPTI, .run = run };
