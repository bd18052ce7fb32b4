/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded reader of packed DWARF data: it never passes its end and remembers that it was asked to. */
#ifndef XP_ELF_READER_H
#define XP_ELF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct xp_reader {
	const unsigned char *at, *end;
	uint64_t vaddr; /* address of `at` */
	bool bad;	/* something did not fit; every later read gives 0 */
};

static inline bool xp_reader_has(struct xp_reader *reader, uint64_t size)
{
	if (reader->bad || size > (uint64_t)(reader->end - reader->at))
		reader->bad = true;
	return !reader->bad;
}

static inline void xp_reader_skip(struct xp_reader *reader, uint64_t size)
{
	if (!xp_reader_has(reader, size))
		return;
	reader->at += size;
	reader->vaddr += size;
}

/* Unsigned little-endian number of 1, 2, 4 or 8 bytes. */
static inline uint64_t xp_read_uint(struct xp_reader *reader, unsigned size)
{
	uint64_t value = 0;

	if (!xp_reader_has(reader, size))
		return 0;
	memcpy(&value, reader->at, size);
	xp_reader_skip(reader, size);
	return value;
}

static inline int64_t xp_read_int(struct xp_reader *reader, unsigned size)
{
	uint64_t value = xp_read_uint(reader, size);
	uint64_t sign = size < 8 ? 1ULL << (8 * size - 1) : 0;

	return (int64_t)((value ^ sign) - sign);
}

static inline uint64_t xp_read_uleb(struct xp_reader *reader)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint64_t byte = xp_read_uint(reader, 1);

		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
}

static inline int64_t xp_read_sleb(struct xp_reader *reader)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = xp_read_uint(reader, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && byte & 0x40)
		value |= ~0ULL << shift;
	return (int64_t)value;
}

/*
 * A pointer in one of the DW_EH_PE_* encodings (LSB, exception frames). `data_base` is the base of datarel ones. Indirect ones give the
 * address of the pointer. DW_EH_PE_omit and unknown encodings make the reader bad.
 */
static inline uint64_t xp_read_pointer(struct xp_reader *reader, unsigned encoding, uint64_t data_base)
{
	uint64_t base = (encoding & 0x70) == 0x10 ? reader->vaddr : (encoding & 0x70) == 0x30 ? data_base : 0;

	switch (encoding & 0x0f) {
	case 0x00:
	case 0x04:
	case 0x0c:
		return base + xp_read_uint(reader, 8);
	case 0x01:
		return base + xp_read_uleb(reader);
	case 0x02:
		return base + xp_read_uint(reader, 2);
	case 0x03:
		return base + xp_read_uint(reader, 4);
	case 0x09:
		return base + (uint64_t)xp_read_sleb(reader);
	case 0x0a:
		return base + (uint64_t)xp_read_int(reader, 2);
	case 0x0b:
		return base + (uint64_t)xp_read_int(reader, 4);
	default:
		reader->bad = true;
		return 0;
	}
}

#endif
