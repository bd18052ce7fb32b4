/* SPDX-License-Identifier: Apache-2.0 */
/* Any JSON document as an Event: refused with TRACE_EXPORT_FAILED, or stored; what is stored and written reads back to the same text. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#include "result/event_record.h"

/* The event as text after one way through a store; false when it was refused. */
static bool through_store(const char *text, size_t size, struct xp_text *ret_text)
{
	char why[160];
	json_t *document = xp_json_parse(text, size, why, sizeof(why));

	if (!document)
		return false;
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto(xp_store_free) struct xp_store *store = xp_store_new(4);
	xp_auto_err err = { 0 };
	struct xp_event_doc doc;
	struct xp_event event;
	int rc = xp_record_read(&xp_event_record, document, arena, XP_E_TRACE_EXPORT_FAILED, &doc, &err);
	if (!rc)
		rc = xp_event_from_doc(&doc, store, &event, &err);
	if (!rc) {
		struct xp_json json = { .out = ret_text };

		xp_store_add(store, &event);
		xp_event_doc_make(store, xp_store_events(store), doc.session_id, arena, &doc);
		xp_record_write(&json, &xp_event_record, &doc, false);
	} else if (err.code != XP_E_TRACE_EXPORT_FAILED) {
		abort();
	}
	json_decref(document);
	return !rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	xp_auto_builder first = { 0 }, second = { 0 };

	if (!through_store((const char *)data, size, &first))
		return 0;
	if (!through_store(first.data, first.len, &second) || strcmp(first.data, second.data) != 0)
		abort();
	return 0;
}
