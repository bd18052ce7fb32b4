/* SPDX-License-Identifier: Apache-2.0 */
/* Between the readers of the three input forms. */
#ifndef XP_RESULT_INPUT_PRIV_H
#define XP_RESULT_INPUT_PRIV_H

#include "result/event_record.h"
#include "result/input.h"

/* One merge in progress. */
struct xp_input {
	struct xp_store *store;
	struct xp_arena *scratch; /* reset behind each event or document */
	struct xp_input_summary *summary;
	const struct xp_input_options *options;
	bool have_pid;
	uint32_t pid;
	/* The file at hand: */
	const char *path;
	int fd;
	uint64_t size;
};

/* TRACE_EXPORT_FAILED about the file at hand; `line` 0: the file as a whole. */
int xp_input_bad(const struct xp_input *in, uint64_t line, struct xp_err *reterr, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Adds one event of the file at hand: one pid for all, counted even when the store is full. Also answers options->stop. */
int xp_input_add(struct xp_input *in, const struct xp_event *event, struct xp_err *reterr);
/* All `len` bytes at `offset` of the file at hand. */
int xp_input_pread(const struct xp_input *in, void *bytes, size_t len, uint64_t offset, struct xp_err *reterr);

int xp_input_read_json(struct xp_input *in, struct xp_err *reterr); /* JSONL or host capture */
int xp_input_read_cupti(struct xp_input *in, struct xp_err *reterr);

/* input_cupti_names.c: name id -> index of the store's text. Zero-initialised is empty. */
struct xp_name_table {
	uint64_t n;
	struct xp_name_slot {
		uint32_t id, text;
	} * at; /* by id */
};
int xp_name_table_read(const struct xp_input *in, uint64_t offset, uint64_t bytes, uint64_t count, struct xp_name_table *ret_table,
		       struct xp_err *reterr);
/* False when there is no such id. */
bool xp_name_table_find(const struct xp_name_table *table, uint32_t id, uint32_t *ret_text);
void xp_name_table_done(struct xp_name_table *table);

#endif
