/* SPDX-License-Identifier: Apache-2.0 */
/* FDE lookup. In: an image and an address. Out: the FDE that covers it. State: the index, where the file has no sorted table. */
#include "elf/eh_frame.h"

#include <stdlib.h>

#include "elf/cfi.h"
#include "elf/elf_priv.h"

enum { OMITTED = 0xff, DATAREL_SDATA4 = 0x3b, PLACES_MAX = 4 << 20 };

/* One FDE of the index that we make where the file has none. */
struct xp_cfi_place {
	uint64_t start, fde;
};

struct xp_reader xp_elf_reader(const struct xp_elf *elf, uint64_t vaddr)
{
	const struct xp_elf_segment *segment = xp_elf_segment_at(elf, vaddr);

	if (!segment)
		return (struct xp_reader){ .bad = true };
	uint64_t skip = vaddr - segment->vaddr;
	const unsigned char *at = xp_elf_bytes(elf, segment->offset + skip, segment->file_size - skip);
	return (struct xp_reader){ .at = at, .end = at + (segment->file_size - skip), .vaddr = vaddr };
}

/* The sorted table of .eh_frame_hdr: pairs of (function start, FDE), both relative to its own address. */
static bool find_table(const struct xp_elf *elf, struct xp_cfi_index *index)
{
	Elf64_Phdr header;

	for (size_t i = 0; xp_elf_program_header(elf, i, &header); i++) {
		if (header.p_type != PT_GNU_EH_FRAME)
			continue;
		struct xp_reader reader = xp_elf_reader(elf, header.p_vaddr);
		uint64_t version = xp_read_uint(&reader, 1), frame = xp_read_uint(&reader, 1);
		uint64_t count = xp_read_uint(&reader, 1), entry = xp_read_uint(&reader, 1);

		if (reader.bad || version != 1 || frame == OMITTED || count == OMITTED || entry != DATAREL_SDATA4)
			return false;
		xp_read_pointer(&reader, (unsigned)frame, header.p_vaddr);
		uint64_t n = xp_read_pointer(&reader, (unsigned)count, header.p_vaddr);
		if (reader.bad || !n || n > (uint64_t)(reader.end - reader.at) / 8)
			return false;
		*index = (struct xp_cfi_index){ .base = header.p_vaddr, .n = n, .entries = reader.at };
		return true;
	}
	return false;
}

static uint64_t table_value(const struct xp_cfi_index *index, uint64_t i, size_t half)
{
	int32_t value;

	if (!index->entries)
		return half ? index->places[i].fde : index->places[i].start;
	memcpy(&value, index->entries + i * 8 + half * 4, sizeof(value));
	return index->base + (uint64_t)(int64_t)value;
}

static uint64_t table_size(const struct xp_cfi_index *index)
{
	return index->entries ? index->n : index->n_places;
}

/* Number of entries that start at or below the address. */
static uint64_t count_below(const struct xp_cfi_index *index, uint64_t vaddr)
{
	uint64_t low = 0, high = table_size(index);

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (table_value(index, middle, 0) <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool covers(const struct xp_fde *fde, uint64_t vaddr)
{
	return vaddr >= fde->start && vaddr - fde->start < fde->size;
}

static int by_start(const void *a, const void *b)
{
	const struct xp_cfi_place *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static bool add_place(struct xp_cfi_index *index, size_t *cap, struct xp_cfi_place place)
{
	if (index->n_places == *cap) {
		size_t more = *cap ? *cap * 2 : 256;
		struct xp_cfi_place *places = more > PLACES_MAX ? NULL : realloc(index->places, more * sizeof(*places));

		if (!places)
			return false;
		index->places = places;
		*cap = more;
	}
	index->places[index->n_places++] = place;
	return true;
}

bool xp_cfi_index_scan(struct xp_cfi_index *index, const struct xp_elf *elf, uint64_t vaddr, uint64_t size)
{
	struct xp_cfi_index made = { 0 };
	struct xp_cfi cfi;
	size_t cap = 0;

	for (uint64_t at = vaddr, next; at - vaddr < size; at = next) {
		if (xp_cfi_read(elf, at, &cfi, &next) && cfi.fde.size &&
		    !add_place(&made, &cap, (struct xp_cfi_place){ .start = cfi.fde.start, .fde = at }))
			break; /* what lies behind the cap has no rules */
		if (next <= at)
			break;
	}
	if (made.n_places)
		qsort(made.places, made.n_places, sizeof(*made.places), by_start);
	*index = made;
	return made.n_places;
}

bool xp_cfi_index_init(struct xp_cfi_index *index, const struct xp_elf *elf)
{
	struct xp_elf_section section;

	if (find_table(elf, index))
		return true;
	return xp_elf_section(elf, ".eh_frame", &section) && section.bytes && xp_cfi_index_scan(index, elf, section.vaddr, section.size);
}

void xp_cfi_index_done(struct xp_cfi_index *index)
{
	free(index->places);
	*index = (struct xp_cfi_index){ 0 };
}

bool xp_cfi_find(const struct xp_cfi_index *index, const struct xp_elf *elf, uint64_t vaddr, struct xp_cfi *ret_cfi)
{
	uint64_t n = count_below(index, vaddr), next;

	return n && xp_cfi_read(elf, table_value(index, n - 1, 1), ret_cfi, &next) && covers(&ret_cfi->fde, vaddr);
}

uint64_t xp_cfi_next_start(const struct xp_cfi_index *index, uint64_t vaddr)
{
	uint64_t n = count_below(index, vaddr);

	return n < table_size(index) ? table_value(index, n, 0) : UINT64_MAX;
}

/* Without a search table: every entry in turn. */
static bool scan(const struct xp_elf *elf, uint64_t vaddr, struct xp_fde *ret_fde)
{
	struct xp_elf_section section;
	struct xp_cfi cfi;

	if (!xp_elf_section(elf, ".eh_frame", &section) || !section.bytes)
		return false;
	for (uint64_t at = section.vaddr, next; at - section.vaddr < section.size; at = next) {
		if (xp_cfi_read(elf, at, &cfi, &next) && covers(&cfi.fde, vaddr)) {
			*ret_fde = cfi.fde;
			return true;
		}
		if (next <= at)
			return false;
	}
	return false;
}

bool xp_elf_fde(const struct xp_elf *elf, uint64_t vaddr, struct xp_fde *ret_fde)
{
	struct xp_cfi_index index;
	struct xp_cfi cfi;

	if (!find_table(elf, &index))
		return scan(elf, vaddr, ret_fde);
	if (!xp_cfi_find(&index, elf, vaddr, &cfi))
		return false;
	*ret_fde = cfi.fde;
	return true;
}

uint64_t xp_elf_fde_next(const struct xp_elf *elf, uint64_t vaddr)
{
	struct xp_cfi_index index;

	return find_table(elf, &index) ? xp_cfi_next_start(&index, vaddr) : UINT64_MAX;
}
