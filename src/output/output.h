/* SPDX-License-Identifier: Apache-2.0 */
/* File formats of contract 6.7. A new one is one file and one line in output_list.def; help and checks read the descriptors. */
#ifndef XP_OUTPUT_OUTPUT_H
#define XP_OUTPUT_OUTPUT_H

#include "event/store.h"
#include "output/artifact.h"

/* What a format can be made of; the commands accept a format by these bits. */
enum xp_output_takes { XP_TAKES_EVENTS = 1, XP_TAKES_CPU_SAMPLES = 2, XP_TAKES_TRIAGE = 4, XP_TAKES_GRAPH = 8 };

/*
 * A capture, or the plain value of an inventory or graph with its record; of a triage with its record a struct xp_html_triage. The other
 * members are NULL.
 */
struct xp_output_input {
	struct xp_store *store; /* sorted */
	const char *session_id;
	const struct xp_record *record;
	const void *value;
	bool (*stop)(void); /* asked now and then; true ends writing with CANCELLED. NULL: never */
};

struct xp_output {
	const char *name, *summary;
	unsigned takes;	    /* enum xp_output_takes */
	bool counts_events; /* evidence.artifact.event_count is told */
	int (*write)(const struct xp_output_input *input, const struct xp_sink *sink, struct xp_err *reterr);
	/* A second file for blocked stacks, under the first one's path with this suffix; NULL: they are in the first one. */
	const char *blocked_suffix;
	int (*write_blocked)(const struct xp_output_input *input, const struct xp_sink *sink, struct xp_err *reterr);
};

/* Every format, sorted by name. */
const struct xp_output *const *xp_outputs(size_t *ret_n);
/* NULL when there is no such format. */
const struct xp_output *xp_output_find(const char *name);
/*
 * The format that `takes` allows: NULL text is the default `otherwise`. INVALID_ARGUMENT for an unknown or reserved name and for one
 * that the mode does not accept.
 */
int xp_output_choose(const char *name, const char *otherwise, enum xp_output_takes takes, const struct xp_output **ret_output,
		     struct xp_err *reterr);
/* For writers, before event `index`: 0, or -CANCELLED when input->stop says so. */
int xp_output_check_stop(const struct xp_output_input *input, uint64_t index, struct xp_err *reterr);
/* Writes and commits. Takes file in every case. */
int xp_output_file(const struct xp_output *output, const struct xp_output_input *input, struct xp_artifact_file *file,
		   struct xp_arena *arena, struct xp_artifact *ret_artifact, struct xp_err *reterr);
/* The same for the second file. */
int xp_output_blocked_file(const struct xp_output *output, const struct xp_output_input *input, struct xp_artifact_file *file,
			   struct xp_arena *arena, struct xp_err *reterr);

#endif
