/* SPDX-License-Identifier: Apache-2.0 */
/* FDE lookup. In: an image and an address. Out: the range and marks of the FDE that covers it. No state. */
#include "elf/eh_frame.h"

#include "elf/elf_priv.h"

enum { OMITTED = 0xff, DATAREL_SDATA4 = 0x3b };

struct xp_reader xp_elf_reader(const struct xp_elf *elf, uint64_t vaddr)
{
	const struct xp_elf_segment *segment = xp_elf_segment_at(elf, vaddr);

	if (!segment)
		return (struct xp_reader){ .bad = true };
	uint64_t skip = vaddr - segment->vaddr;
	const unsigned char *at = xp_elf_bytes(elf, segment->offset + skip, segment->file_size - skip);
	return (struct xp_reader){ .at = at, .end = at + (segment->file_size - skip), .vaddr = vaddr };
}

/* The sorted table of .eh_frame_hdr: pairs of (function start, FDE), both relative to `base`. */
struct table {
	uint64_t base, n;
	const unsigned char *entries;
};

static bool find_table(const struct xp_elf *elf, struct table *ret_table)
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
		ret_table->n = xp_read_pointer(&reader, (unsigned)count, header.p_vaddr);
		ret_table->base = header.p_vaddr;
		ret_table->entries = reader.at;
		return !reader.bad && ret_table->n && ret_table->n <= (uint64_t)(reader.end - reader.at) / 8;
	}
	return false;
}

static uint64_t table_value(const struct table *table, uint64_t index, size_t half)
{
	int32_t value;

	memcpy(&value, table->entries + index * 8 + half * 4, sizeof(value));
	return table->base + (uint64_t)(int64_t)value;
}

/* Number of entries that start at or below the address. */
static uint64_t count_below(const struct table *table, uint64_t vaddr)
{
	uint64_t low = 0, high = table->n;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (table_value(table, middle, 0) <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct cie {
	unsigned pointer, lsda; /* encodings */
	bool sized, signal_frame;
};

static bool read_cie(const struct xp_elf *elf, uint64_t vaddr, struct cie *ret_cie)
{
	struct xp_reader reader = xp_elf_reader(elf, vaddr);
	struct cie cie = { .lsda = OMITTED };

	if (xp_read_uint(&reader, 4) == UINT32_MAX)
		xp_reader_skip(&reader, 8);
	uint64_t id = xp_read_uint(&reader, 4), version = xp_read_uint(&reader, 1);
	const unsigned char *letters = reader.at;

	if (reader.bad || id || (version != 1 && version != 3 && version != 4))
		return false;
	while (xp_read_uint(&reader, 1))
		;
	xp_read_uleb(&reader);
	xp_read_sleb(&reader);
	if (version == 1)
		xp_reader_skip(&reader, 1);
	else
		xp_read_uleb(&reader);
	if (reader.bad)
		return false;
	for (; *letters; letters++) {
		if (*letters == 'z') {
			cie.sized = true;
			xp_read_uleb(&reader);
		} else if (*letters == 'R') {
			cie.pointer = (unsigned)xp_read_uint(&reader, 1);
		} else if (*letters == 'L') {
			cie.lsda = (unsigned)xp_read_uint(&reader, 1);
		} else if (*letters == 'P') {
			unsigned encoding = (unsigned)xp_read_uint(&reader, 1);
			xp_read_pointer(&reader, encoding, 0);
		} else if (*letters == 'S') {
			cie.signal_frame = true;
		}
	}
	*ret_cie = cie;
	return !reader.bad;
}

/* The first rule applies to the first instruction when nothing advances the location before it. */
static bool begins_framed(struct xp_reader *reader)
{
	enum { NOP = 0, DEF_CFA = 12, DEF_CFA_OFFSET = 14, DEF_CFA_EXPRESSION = 15 };

	uint64_t op = xp_reader_has(reader, 1) ? xp_read_uint(reader, 1) : NOP;

	/* Opcodes 0x80 to 0xbf: a register is saved already. */
	return op == DEF_CFA || op == DEF_CFA_OFFSET || op == DEF_CFA_EXPRESSION || op >> 6 == 2;
}

/* Reads the FDE at `vaddr`; *ret_next is the address behind it. False when it is a CIE, an end mark or damaged. */
static bool read_fde(const struct xp_elf *elf, uint64_t vaddr, struct xp_fde *ret_fde, uint64_t *ret_next)
{
	struct xp_reader reader = xp_elf_reader(elf, vaddr);
	struct xp_fde fde = { 0 };
	uint64_t length = xp_read_uint(&reader, 4);
	struct cie cie;

	if (length == UINT32_MAX)
		length = xp_read_uint(&reader, 8);
	*ret_next = 0;
	if (!length || !xp_reader_has(&reader, length))
		return false;
	reader.end = reader.at + length;
	*ret_next = reader.vaddr + length;
	uint64_t here = reader.vaddr, back = xp_read_uint(&reader, 4);
	if (!back || !read_cie(elf, here - back, &cie))
		return false;
	fde.start = xp_read_pointer(&reader, cie.pointer, 0);
	fde.size = xp_read_pointer(&reader, cie.pointer & 0x0f, 0);
	fde.signal_frame = cie.signal_frame;
	if (cie.sized) {
		uint64_t extra = xp_read_uleb(&reader);
		struct xp_reader rules = reader, lsda = reader;

		if (cie.lsda != OMITTED && extra)
			fde.lsda = xp_read_pointer(&lsda, cie.lsda, 0);
		xp_reader_skip(&rules, extra);
		reader = rules;
	}
	if (reader.bad)
		return false;
	fde.framed = begins_framed(&reader);
	*ret_fde = fde;
	return true;
}

static bool covers(const struct xp_fde *fde, uint64_t vaddr)
{
	return vaddr >= fde->start && vaddr - fde->start < fde->size;
}

/* Without a search table: every entry in turn. */
static bool scan(const struct xp_elf *elf, uint64_t vaddr, struct xp_fde *ret_fde)
{
	struct xp_elf_section section;
	struct xp_fde fde;

	if (!xp_elf_section(elf, ".eh_frame", &section) || !section.bytes)
		return false;
	for (uint64_t at = section.vaddr, next; at - section.vaddr < section.size; at = next) {
		if (read_fde(elf, at, &fde, &next) && covers(&fde, vaddr)) {
			*ret_fde = fde;
			return true;
		}
		if (next <= at)
			return false;
	}
	return false;
}

bool xp_elf_fde(const struct xp_elf *elf, uint64_t vaddr, struct xp_fde *ret_fde)
{
	struct table table;
	struct xp_fde fde;
	uint64_t next;

	if (!find_table(elf, &table))
		return scan(elf, vaddr, ret_fde);
	uint64_t n = count_below(&table, vaddr);
	if (!n || !read_fde(elf, table_value(&table, n - 1, 1), &fde, &next) || !covers(&fde, vaddr))
		return false;
	*ret_fde = fde;
	return true;
}

uint64_t xp_elf_fde_next(const struct xp_elf *elf, uint64_t vaddr)
{
	struct table table;

	if (!find_table(elf, &table))
		return UINT64_MAX;
	uint64_t n = count_below(&table, vaddr);
	return n < table.n ? table_value(&table, n, 0) : UINT64_MAX;
}
