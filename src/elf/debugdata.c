/* SPDX-License-Identifier: Apache-2.0 */
/* Mini debug information. In: section .gnu_debugdata (xz). Out: the small ELF file inside it. No state. */
#include "elf/elf_priv.h"

#include <stdlib.h>
#include <string.h>

#include <lzma.h>

enum { FIRST_SIZE = 1 << 20, MAX_UNPACKED = 256 << 20, MAX_DECODER = 256 << 20 };

/* Unpacks into a growing block; NULL on damaged data or above the cap. */
static void *unpack(const unsigned char *bytes, size_t size, size_t *ret_size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret status = lzma_stream_decoder(&stream, MAX_DECODER, 0);
	unsigned char *block = NULL;
	size_t cap = 0;

	stream.next_in = bytes;
	stream.avail_in = size;
	while (status == LZMA_OK && cap < MAX_UNPACKED) {
		size_t more = cap ? cap : FIRST_SIZE;
		unsigned char *grown = realloc(block, cap + more);

		if (!grown) {
			status = LZMA_MEM_ERROR;
			break;
		}
		block = grown;
		stream.next_out = block + cap;
		stream.avail_out = more;
		cap += more;
		do
			status = lzma_code(&stream, LZMA_FINISH);
		while (status == LZMA_OK && stream.avail_out);
	}
	*ret_size = (size_t)stream.total_out;
	lzma_end(&stream);
	if (status == LZMA_STREAM_END && *ret_size)
		return block;
	free(block);
	return NULL;
}

struct xp_elf *xp_elf_open_debugdata(const struct xp_elf *elf)
{
	struct xp_elf_section section;
	struct xp_elf *inner = NULL;
	xp_auto_err ignored = { 0 }; /* a damaged section is the same as none */
	size_t size;

	if (!xp_elf_section(elf, ".gnu_debugdata", &section) || !section.bytes)
		return NULL;
	void *bytes = unpack(section.bytes, section.size, &size);
	if (!bytes || xp_elf_open_bytes(bytes, size, elf->name, &inner, &ignored))
		return NULL;
	return inner;
}
