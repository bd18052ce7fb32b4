/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as frame descriptions: they lie at a fixed place of an otherwise sound ELF image and are looked up, run and followed on a small
 * stack. Every step ends, reads nothing outside, and a walk never goes down.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#include "elf/cfi.h"

enum { BASE = 0x1000, STACK = 0x7000, WORDS = 64 };

static struct xp_elf *wrap(const uint8_t *data, size_t size)
{
	size_t head = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
	char *image = calloc(1, head + size);
	struct xp_elf *elf = NULL;
	xp_auto_err err = { 0 };
	Elf64_Ehdr header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			      .e_type = ET_DYN,
			      .e_machine = EM_X86_64,
			      .e_version = EV_CURRENT,
			      .e_phoff = sizeof(Elf64_Ehdr),
			      .e_ehsize = sizeof(Elf64_Ehdr),
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = 1 };
	Elf64_Phdr segment = {
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = head, .p_vaddr = BASE, .p_filesz = size, .p_memsz = size
	};

	memcpy(image, &header, sizeof(header));
	memcpy(image + sizeof(header), &segment, sizeof(segment));
	memcpy(image + head, data, size);
	if (xp_elf_open_bytes(image, head + size, "fuzz", &elf, &err))
		abort();
	return elf;
}

static bool load(uint64_t address, uint64_t *ret_value, void *arg)
{
	const uint64_t *words = arg;

	if (address < STACK || address - STACK >= WORDS * 8 || address % 8)
		return false;
	*ret_value = words[(address - STACK) / 8];
	return true;
}

static void follow(const struct xp_cfi_rule *rule)
{
	uint64_t words[WORDS], value;
	struct xp_cfi_machine machine = { BASE + 7, STACK + 64, STACK + 128, load, words };
	const struct xp_cfi_value *parts[] = { &rule->cfa, &rule->ra, &rule->bp };

	for (size_t i = 0; i < WORDS; i++)
		words[i] = STACK + i * 8;
	for (size_t i = 0; i < 3; i++)
		if (parts[i]->how == XP_CFI_COMPUTED || parts[i]->how == XP_CFI_SAVED_AT)
			xp_cfi_compute(parts[i], &machine, i, STACK + 200, &value);
	if (rule->cfa.how == XP_CFI_SAME || rule->cfa.how == XP_CFI_SAVED || rule->cfa.how == XP_CFI_UNDEFINED)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	xp_auto(xp_elf_close) struct xp_elf *elf = size ? wrap(data, size) : NULL;
	struct xp_cfi_index index = { 0 };
	struct xp_cfi_rule rule;
	struct xp_cfi cfi;

	if (!elf || !xp_cfi_index_scan(&index, elf, BASE, size))
		return 0;
	uint64_t at = xp_cfi_next_start(&index, 0);
	for (size_t i = 0; i < 64 && at != UINT64_MAX; i++, at = xp_cfi_next_start(&index, at)) {
		if (!xp_cfi_find(&index, elf, at, &cfi))
			continue;
		if (at - cfi.fde.start >= cfi.fde.size)
			abort();
		for (uint64_t skip = 0; skip < cfi.fde.size && skip < 64; skip += 7)
			if (xp_cfi_rule(&cfi, cfi.fde.start + skip, &rule))
				follow(&rule);
	}
	xp_cfi_index_done(&index);
	return 0;
}
