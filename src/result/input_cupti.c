/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI capture binaries, contract 10.16, ABI 4 and 5. In: an open file. Out: events added to the merge and what its header says. */
#include <string.h>

#include "result/input_cupti.h"

/* The structs are read as they lie in the file. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "capture files are little endian");

enum { RECORDS_AT_ONCE = 1024 };

static int check_size(const struct xp_cupti_file *file, struct xp_err *reterr)
{
	const struct xp_capture_header *head = &file->head;
	bool abi5 = head->abi == XP_CAPTURE_ABI_5;
	uint32_t header_size = abi5 ? sizeof(*head) + sizeof(file->more) : sizeof(*head);
	uint32_t event_size = abi5 ? sizeof(struct xp_capture_event_5) : sizeof(struct xp_capture_event_4);
	uint64_t records;

	if (head->header_size != header_size)
		return xp_input_bad(file->in, 0, reterr, "its header size is %u, not %u", head->header_size, header_size);
	if (head->features & XP_CAPTURE_AGGREGATES)
		return xp_input_bad(file->in, 0, reterr, "it holds aggregates, which are no events");
	if (head->record_size != event_size)
		return xp_input_bad(file->in, 0, reterr, "its record size is %u, not %u", head->record_size, event_size);
	if (head->record_offset)
		return xp_input_bad(file->in, 0, reterr, "its record offset is not 0");
	if (head->record_count > head->record_capacity)
		return xp_input_bad(file->in, 0, reterr, "it holds more records than its capacity");
	/* Compared in steps that cannot overflow: the file is at most 4 GiB. */
	if (head->record_count > file->in->size / event_size)
		return xp_input_bad(file->in, 0, reterr, "it is shorter than its header says");
	records = header_size + head->record_count * event_size;
	if (records > file->in->size || file->in->size - records != file->more.name_bytes)
		return xp_input_bad(file->in, 0, reterr, "its length is not what its header says");
	if (file->more.name_bytes && file->more.name_offset != records)
		return xp_input_bad(file->in, 0, reterr, "its name table is not behind its records");
	if (!(head->features & XP_CAPTURE_NAME_TABLE) && (file->more.name_bytes || file->more.name_count))
		return xp_input_bad(file->in, 0, reterr, "it has a name table without the feature bit");
	return 0;
}

static int read_header(struct xp_cupti_file *file, struct xp_err *reterr)
{
	struct xp_capture_header *head = &file->head;
	int rc;

	if (file->in->size < sizeof(*head))
		return xp_input_bad(file->in, 0, reterr, "it is shorter than a capture header");
	rc = xp_input_pread(file->in, head, sizeof(*head), 0, reterr);
	if (rc)
		return rc;
	if (head->abi != XP_CAPTURE_ABI_4 && head->abi != XP_CAPTURE_ABI_5)
		return xp_input_bad(file->in, 0, reterr, "its ABI is %u; 4 and 5 are read", head->abi);
	uint32_t known = head->abi == XP_CAPTURE_ABI_4 ? XP_CAPTURE_NAME_TABLE - 1 : (XP_CAPTURE_GRAPH_FIELDS << 1) - 1;
	if (head->features & ~known)
		return xp_input_bad(file->in, 0, reterr, "it has unknown feature bits 0x%x", head->features & ~known);
	if (head->state > XP_CAPTURE_FAILED)
		return xp_input_bad(file->in, 0, reterr, "its state is %u, which is unknown", head->state);
	if (head->abi == XP_CAPTURE_ABI_5) {
		if (file->in->size < sizeof(*head) + sizeof(file->more))
			return xp_input_bad(file->in, 0, reterr, "it is shorter than its header");
		rc = xp_input_pread(file->in, &file->more, sizeof(file->more), sizeof(*head), reterr);
	}
	return rc ? rc : check_size(file, reterr);
}

static bool counts_fit(const uint64_t *values, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		if (__builtin_add_overflow(sum, values[i], &sum))
			return false;
	return true;
}

/* Sums the envelope; counters that cannot be summed in 64 bits cannot be true. */
static int take_header(const struct xp_cupti_file *file, struct xp_err *reterr)
{
	const struct xp_capture_header *head = &file->head;
	const struct xp_capture_header_5 *more = &file->more;
	struct xp_input_cupti *sum = &file->in->summary->cupti;
	const uint64_t drops[] = { sum->dropped_records, head->dropped_by_agent, head->dropped_by_cupti };
	const uint64_t others[] = { sum->record_capacity,   head->record_capacity, sum->observed_records,
				    head->observed_records, sum->unknown_records,  head->unknown_records };

	if (!counts_fit(drops, XP_LEN(drops)) || !counts_fit(others, XP_LEN(others)))
		return xp_input_bad(file->in, 0, reterr, "its counters are out of range");
	sum->present = true;
	sum->record_capacity += head->record_capacity;
	sum->observed_records += head->observed_records;
	sum->retained_records += head->record_count;
	sum->dropped_records += head->dropped_by_agent + head->dropped_by_cupti;
	sum->unknown_records += head->unknown_records;
	sum->limit_reached |= head->state == XP_CAPTURE_LIMIT_REACHED;
	sum->failed |= head->state == XP_CAPTURE_FAILED;
	sum->not_stopped |= head->state == XP_CAPTURE_ACTIVE || head->state == XP_CAPTURE_IDLE;
	sum->agent_abi = head->abi > sum->agent_abi ? head->abi : sum->agent_abi;
	if (head->abi == XP_CAPTURE_ABI_4)
		return 0;
	sum->counts_launches = true;
	sum->api_launches += more->api_launches;
	sum->graph_launches += more->graph_launches;
	sum->activities_seen += more->activities_seen;
	sum->in_flight_at_stop += more->in_flight_at_stop;
	sum->filtered += more->filtered;
	sum->callbacks += more->callback_count;
	sum->invalid_time_records += more->invalid_time_records;
	sum->cupti_version = more->cupti_version > sum->cupti_version ? more->cupti_version : sum->cupti_version;
	sum->driver_version = more->driver_version > sum->driver_version ? more->driver_version : sum->driver_version;
	if (!sum->stall_ns.set || more->stall_ns > sum->stall_ns.v)
		sum->stall_ns = (struct xp_opt_u64)XP_SOME(more->stall_ns);
	return 0;
}

static int read_records(struct xp_cupti_file *file, struct xp_err *reterr)
{
	union {
		struct xp_capture_event_4 abi4[RECORDS_AT_ONCE];
		struct xp_capture_event_5 abi5[RECORDS_AT_ONCE];
	} batch;
	const uint32_t size = file->head.record_size;
	uint64_t offset = file->head.header_size, n;

	for (uint64_t left = file->head.record_count; left; left -= n, offset += n * size) {
		n = left < RECORDS_AT_ONCE ? left : RECORDS_AT_ONCE;
		int rc = xp_input_pread(file->in, &batch, (size_t)n * size, offset, reterr);
		for (uint64_t i = 0; i < n && !rc; i++, file->index++)
			rc = file->head.abi == XP_CAPTURE_ABI_4 ? xp_cupti_add_4(file, &batch.abi4[i], reterr)
								: xp_cupti_add_5(file, &batch.abi5[i], reterr);
		if (rc)
			return rc;
	}
	return 0;
}

int xp_input_read_cupti(struct xp_input *in, struct xp_err *reterr)
{
	struct xp_cupti_file file = { .in = in };
	int rc = read_header(&file, reterr);

	if (!rc)
		rc = take_header(&file, reterr);
	if (!rc)
		rc = xp_name_table_read(in, file.more.name_offset, file.more.name_bytes, file.more.name_count, &file.names, reterr);
	if (!rc)
		rc = read_records(&file, reterr);
	xp_name_table_done(&file.names);
	return rc;
}
