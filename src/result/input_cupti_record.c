/* SPDX-License-Identifier: Apache-2.0 */
/* One record of a CUPTI capture file to one event. In: the record as it lies in the file. Out: an event in the merge. No state. */
#include <string.h>

#include "event/cupti_record.h"
#include "result/input_cupti.h"

enum { NAME_4 = 127 };
static int bad_record(const struct xp_cupti_file *file, struct xp_err *reterr, const char *why)
{
	return xp_input_bad(file->in, 0, reterr, "record %llu %s", (unsigned long long)file->index, why);
}

/* Bytes of a name field, or -1 for bad UTF-8. A name of full length was cut, perhaps inside a character: that character goes. */
static long name_4_len(const uint8_t *bytes)
{
	const char *name = (const char *)bytes;
	size_t len = strnlen(name, NAME_4 + 1), pos = 0;

	if (len > NAME_4)
		return -1;
	for (size_t n; pos < len; pos += n) {
		n = xp_utf8_len(name + pos, name + len);
		if (!n)
			return len == NAME_4 && len - pos < 4 && (bytes[pos] & 0xc0) == 0xc0 ? (long)pos : -1;
	}
	return (long)len;
}

static int read_tail_4(const struct xp_cupti_file *file, const struct xp_capture_event_4 *record, struct xp_cupti_tail *ret_tail,
		       struct xp_err *reterr)
{
	long len = name_4_len(record->name);

	if (len < 0)
		return bad_record(file, reterr, "has a name that is not UTF-8 text");
	*ret_tail = (struct xp_cupti_tail){ 0 };
	if (len)
		ret_tail->text = xp_store_intern(file->in->store, (const char *)record->name, (size_t)len);
	ret_tail->complete = strnlen((const char *)record->name, NAME_4) < NAME_4;
	return 0;
}

static int read_tail_5(const struct xp_cupti_file *file, const struct xp_capture_event_5 *record, struct xp_cupti_tail *ret_tail,
		       struct xp_err *reterr)
{
	static const uint8_t zero[sizeof(record->zero)];
	uint32_t known = (XP_CAPTURE_NAME_COMPLETE << 1) - 1;

	*ret_tail = (struct xp_cupti_tail){ .complete = record->flags & XP_CAPTURE_NAME_COMPLETE,
					    .flags = record->flags,
					    .graph = record->graph,
					    .node = record->graph_node,
					    .have_memory = true,
					    .src_memory = record->src_memory,
					    .dst_memory = record->dst_memory };
	if (record->flags & ~known)
		return bad_record(file, reterr, "has unknown flags");
	if (memcmp(record->zero, zero, sizeof(zero)))
		return bad_record(file, reterr, "is not zero where it must be");
	if (record->name && !xp_name_table_find(&file->names, record->name, &ret_tail->text))
		return bad_record(file, reterr, "names an id that the name table lacks");
	return 0;
}

static int add(struct xp_cupti_file *file, const struct xp_capture_event *record, const struct xp_cupti_tail *tail, struct xp_err *reterr)
{
	struct xp_store *store = file->in->store;
	bool normalized = file->head.features & XP_CAPTURE_HOST_MONOTONIC;
	const struct xp_cupti_source source = {
		.sequence = file->index,
		.error_ns = normalized && file->head.abi == XP_CAPTURE_ABI_5 ? file->more.clock_error_ns : XP_ERROR_UNKNOWN,
		.process = xp_store_process(store, record->pid, (struct xp_opt_u64){ 0 }),
		.normalized = normalized,
	};
	struct xp_event_detail detail, *slot;
	struct xp_event event;

	if (xp_store_count(store) == xp_store_capacity(store))
		return xp_input_add(file->in, &(struct xp_event){ .pid = record->pid, .type = xp_cupti_event_type(record->kind) }, reterr);
	xp_cupti_event(store, &source, record, tail, &event, &detail);
	event.detail = xp_store_detail_new(store, &slot);
	*slot = detail;
	return xp_input_add(file->in, &event, reterr);
}

static int check(const struct xp_cupti_file *file, const struct xp_capture_event *record, struct xp_err *reterr)
{
	const char *fault = xp_cupti_record_fault(record);

	return fault ? bad_record(file, reterr, fault) : 0;
}

int xp_cupti_add_4(struct xp_cupti_file *file, const struct xp_capture_event_4 *record, struct xp_err *reterr)
{
	struct xp_cupti_tail tail;
	int rc = check(file, &record->event, reterr);

	if (!rc)
		rc = read_tail_4(file, record, &tail, reterr);
	return rc ? rc : add(file, &record->event, &tail, reterr);
}

int xp_cupti_add_5(struct xp_cupti_file *file, const struct xp_capture_event_5 *record, struct xp_err *reterr)
{
	struct xp_cupti_tail tail;
	int rc = check(file, &record->event, reterr);

	if (!rc)
		rc = read_tail_5(file, record, &tail, reterr);
	return rc ? rc : add(file, &record->event, &tail, reterr);
}
