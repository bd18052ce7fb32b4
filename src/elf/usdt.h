/* SPDX-License-Identifier: Apache-2.0 */
/* Static markers of .note.stapsdt. */
#ifndef XP_ELF_USDT_H
#define XP_ELF_USDT_H

#include "elf/image.h"

struct xp_usdt_site {
	uint64_t vaddr;
	uint64_t semaphore; /* address, 0 = none; both corrected for a moved link base */
};

/* Sites of one marker, in the arena; 0 when the file has none. */
size_t xp_elf_usdt(const struct xp_elf *elf, const char *provider, const char *name, struct xp_arena *arena,
		   struct xp_usdt_site **ret_sites);

#endif
