/* SPDX-License-Identifier: Apache-2.0 */
/* The name table of an ABI 5 capture file. In: its place in the file. Out: ids and the store's texts. State: the sorted table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "result/input_priv.h"
#include "wire/capture.h"

static bool is_utf8(const char *text, size_t len)
{
	const char *end = text + len;

	for (size_t n; text < end; text += n) {
		n = xp_utf8_len(text, end);
		if (!n || !*text)
			return false;
	}
	return true;
}

static bool all_zero(const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i])
			return false;
	return true;
}

static int by_id(const void *left, const void *right)
{
	const struct xp_name_slot *a = left, *b = right;

	return a->id < b->id ? -1 : a->id > b->id;
}

static int bad(const struct xp_input *in, uint64_t index, struct xp_err *reterr, const char *why)
{
	return xp_input_bad(in, 0, reterr, "entry %llu of its name table %s", (unsigned long long)index, why);
}

/* Entry `index` at *pos of the table; moves *pos behind it. */
static int read_entry(const struct xp_input *in, const char *bytes, uint64_t size, uint64_t index, uint64_t *pos, struct xp_name_slot *slot,
		      struct xp_err *reterr)
{
	struct xp_capture_name head;

	if (size - *pos < sizeof(head))
		return bad(in, index, reterr, "lies beyond its end");
	memcpy(&head, bytes + *pos, sizeof(head));
	uint64_t start = *pos + sizeof(head), padded = ((uint64_t)head.length + 7) & ~UINT64_C(7);
	if (padded > size - start)
		return bad(in, index, reterr, "is longer than the table");
	if (!head.id)
		return bad(in, index, reterr, "has the id 0");
	if (!is_utf8(bytes + start, head.length))
		return bad(in, index, reterr, "is not UTF-8 text");
	if (!all_zero(bytes + start + head.length, padded - head.length))
		return bad(in, index, reterr, "is not padded with zeros");
	slot->id = head.id;
	slot->text = xp_store_intern(in->store, bytes + start, head.length);
	*pos = start + padded;
	return 0;
}

static int read_entries(const struct xp_input *in, const char *bytes, uint64_t size, struct xp_name_table *table, struct xp_err *reterr)
{
	uint64_t pos = 0;

	for (uint64_t i = 0; i < table->n; i++) {
		int rc = read_entry(in, bytes, size, i, &pos, &table->at[i], reterr);

		if (rc)
			return rc;
	}
	if (pos != size)
		return xp_input_bad(in, 0, reterr, "its name table is longer than its entries");
	qsort(table->at, table->n, sizeof(*table->at), by_id);
	for (uint64_t i = 1; i < table->n; i++)
		if (table->at[i].id == table->at[i - 1].id)
			return xp_input_bad(in, 0, reterr, "its name table has the id %u twice", table->at[i].id);
	return 0;
}

int xp_name_table_read(const struct xp_input *in, uint64_t offset, uint64_t bytes, uint64_t count, struct xp_name_table *ret_table,
		       struct xp_err *reterr)
{
	struct xp_name_table table = { .n = count };

	/* Every entry takes its head: a count that cannot be true is told before it is allocated. */
	if (count > bytes / sizeof(struct xp_capture_name))
		return xp_input_bad(in, 0, reterr, "its name table is too small for %llu names", (unsigned long long)count);
	xp_auto_text text = malloc(bytes + 1);
	table.at = calloc(count + 1, sizeof(*table.at));
	int rc = text && table.at ? xp_input_pread(in, text, bytes, offset, reterr)
				  : xp_fail_sys(reterr, ENOMEM, "malloc", "name table of %s", in->path);
	if (!rc)
		rc = read_entries(in, text, bytes, &table, reterr);
	if (rc) {
		xp_name_table_done(&table);
		return rc;
	}
	*ret_table = table;
	return 0;
}

bool xp_name_table_find(const struct xp_name_table *table, uint32_t id, uint32_t *ret_text)
{
	struct xp_name_slot key = { .id = id };
	const struct xp_name_slot *slot = table->n ? bsearch(&key, table->at, table->n, sizeof(key), by_id) : NULL;

	if (slot)
		*ret_text = slot->text;
	return slot != NULL;
}

void xp_name_table_done(struct xp_name_table *table)
{
	free(table->at);
	table->at = NULL;
	table->n = 0;
}
