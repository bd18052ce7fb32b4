/* SPDX-License-Identifier: Apache-2.0 */
/* What every result document has in common: who, how it ended, where the evidence is. */
#ifndef XP_COLLECT_DOCUMENT_H
#define XP_COLLECT_DOCUMENT_H

#include "base/note.h"
#include "collect/collector.h"

/* Contract 10.3 evidence.artifact. */
struct xp_artifact {
	const char *path, *format;     /* absolute path */
	struct xp_opt_u64 event_count; /* told for jsonl and chrome only */
	uint64_t bytes;
};
extern const struct xp_record xp_event_artifact_record; /* with event_count */
extern const struct xp_record xp_json_artifact_record;	/* without */

enum xp_evidence_mode { XP_EVIDENCE_SUMMARY, XP_EVIDENCE_FULL, XP_EVIDENCE_COUNT };
extern const char *const xp_evidence_mode_names[XP_EVIDENCE_COUNT];

/* `evidence` of inventories and triage: {mode, artifact}. */
struct xp_evidence {
	int mode;
	const struct xp_artifact *artifact;
};
extern const struct xp_record xp_evidence_record;

/* Head of every inventory value, filled by cmd/ after `finish`; the value's record refers to these members. */
struct xp_document {
	const char *session_id;
	int status; /* enum xp_status */
	struct xp_target_id target;
	struct xp_evidence evidence;
	const struct xp_cost *cost; /* NULL: null */
	const struct xp_warning *warnings;
	size_t n_warnings;
};

#endif
