/* SPDX-License-Identifier: Apache-2.0 */
/* One FDE and its CIE. In: an image and the FDE's address. Out: range, marks, instructions. No state. */
#include "elf/cfi.h"

enum { OMITTED = 0xff, ABSOLUTE_64 = 0x04 };

struct cie {
	struct xp_cfi *cfi; /* alignment, return column, encoding and instructions go here */
	unsigned lsda;	    /* encoding */
	bool sized, signal_frame;
};

/* Length of an entry and a reader over it; false at an end mark or when it does not lie in the segment. */
static bool open_entry(const struct xp_elf *elf, uint64_t vaddr, struct xp_reader *ret_reader)
{
	struct xp_reader reader = xp_elf_reader(elf, vaddr);
	uint64_t length = xp_read_uint(&reader, 4);

	if (length == UINT32_MAX)
		length = xp_read_uint(&reader, 8);
	if (!length || !xp_reader_has(&reader, length))
		return false;
	reader.end = reader.at + length;
	*ret_reader = reader;
	return true;
}

/* The letters behind 'z' each describe a part of the augmentation data; an unknown one ends what can be read of it. */
static void read_augmentation(const unsigned char *letters, struct xp_reader *reader, struct cie *cie)
{
	for (; *letters; letters++) {
		if (*letters == 'R') {
			cie->cfi->encoding = (unsigned)xp_read_uint(reader, 1);
		} else if (*letters == 'L') {
			cie->lsda = (unsigned)xp_read_uint(reader, 1);
		} else if (*letters == 'P') {
			unsigned encoding = (unsigned)xp_read_uint(reader, 1);

			xp_read_pointer(reader, encoding, 0);
		} else if (*letters == 'S') {
			cie->signal_frame = true;
		} else {
			return;
		}
	}
}

static bool read_cie(const struct xp_elf *elf, uint64_t vaddr, struct cie *cie)
{
	struct xp_reader reader;

	if (!open_entry(elf, vaddr, &reader))
		return false;
	uint64_t id = xp_read_uint(&reader, 4), version = xp_read_uint(&reader, 1);
	const unsigned char *letters = reader.at;
	if (reader.bad || id || (version != 1 && version != 3 && version != 4))
		return false;
	while (xp_read_uint(&reader, 1))
		;
	if (version == 4)
		xp_reader_skip(&reader, 2); /* sizes of address and segment selector */
	cie->cfi->code_align = xp_read_uleb(&reader);
	cie->cfi->data_align = xp_read_sleb(&reader);
	cie->cfi->return_column = version == 1 ? xp_read_uint(&reader, 1) : xp_read_uleb(&reader);
	if (reader.bad)
		return false;
	cie->sized = *letters == 'z';
	if (cie->sized) {
		uint64_t size = xp_read_uleb(&reader);
		struct xp_reader data = reader;

		xp_reader_skip(&reader, size);
		data.end = reader.at;
		read_augmentation(letters + 1, &data, cie);
		if (data.bad)
			return false;
	}
	cie->cfi->initial = reader;
	return !reader.bad;
}

/* The first rule applies to the first instruction when nothing advances the location before it. */
static bool begins_framed(struct xp_reader reader)
{
	enum { NOP = 0, DEF_CFA = 12, DEF_CFA_OFFSET = 14, DEF_CFA_EXPRESSION = 15 };

	uint64_t op = xp_reader_has(&reader, 1) ? xp_read_uint(&reader, 1) : NOP;

	/* Opcodes 0x80 to 0xbf: a register is saved already. */
	return op == DEF_CFA || op == DEF_CFA_OFFSET || op == DEF_CFA_EXPRESSION || op >> 6 == 2;
}

bool xp_cfi_read(const struct xp_elf *elf, uint64_t vaddr, struct xp_cfi *ret_cfi, uint64_t *ret_next)
{
	struct xp_cfi cfi = { .encoding = ABSOLUTE_64 };
	struct cie cie = { .cfi = &cfi, .lsda = OMITTED };
	struct xp_reader reader;

	*ret_next = 0;
	if (!open_entry(elf, vaddr, &reader))
		return false;
	*ret_next = reader.vaddr + (uint64_t)(reader.end - reader.at);
	uint64_t here = reader.vaddr, back = xp_read_uint(&reader, 4);
	if (!back || !read_cie(elf, here - back, &cie))
		return false;
	cfi.fde.start = xp_read_pointer(&reader, cfi.encoding, 0);
	cfi.fde.size = xp_read_pointer(&reader, cfi.encoding & 0x0f, 0);
	cfi.fde.signal_frame = cie.signal_frame;
	if (cie.sized) {
		uint64_t extra = xp_read_uleb(&reader);
		struct xp_reader lsda = reader;

		if (cie.lsda != OMITTED && extra)
			cfi.fde.lsda = xp_read_pointer(&lsda, cie.lsda, 0);
		xp_reader_skip(&reader, extra);
	}
	if (reader.bad)
		return false;
	cfi.fde.framed = begins_framed(reader);
	cfi.program = reader;
	*ret_cfi = cfi;
	return true;
}
