/* SPDX-License-Identifier: Apache-2.0 */
/* Between the reader of a capture file's frame (input_cupti.c) and that of its records (input_cupti_record.c). */
#ifndef XP_RESULT_INPUT_CUPTI_H
#define XP_RESULT_INPUT_CUPTI_H

#include "result/input_priv.h"
#include "wire/capture.h"

struct xp_cupti_file {
	struct xp_input *in;
	struct xp_capture_header head;
	struct xp_capture_header_5 more; /* zero in ABI 4 */
	struct xp_name_table names;
	uint64_t index; /* record at hand, from 0 */
};

/* Decodes the record at hand and adds its event to the merge. TRACE_EXPORT_FAILED for what no agent writes. */
int xp_cupti_add_4(struct xp_cupti_file *file, const struct xp_capture_event_4 *record, struct xp_err *reterr);
int xp_cupti_add_5(struct xp_cupti_file *file, const struct xp_capture_event_5 *record, struct xp_err *reterr);

#endif
