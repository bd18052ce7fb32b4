/* SPDX-License-Identifier: Apache-2.0 */
/* A file that the target maps, opened for looking up probe sites. */
#ifndef XP_FAMILY_PROBE_FILE_H
#define XP_FAMILY_PROBE_FILE_H

#include "elf/image.h"
#include "family/family.h"

struct xp_probe_file {
	struct xp_target *target;	  /* borrowed */
	const struct xp_mapping *mapping; /* one of its mappings, executable unless nothing else is there */
	struct xp_elf *elf;		  /* owned */
};

/*
 * Finds `path` among the target's executable mappings: by name, then by device and inode in the target's view, then in ours. Opens the
 * mapped file itself and its symbols. BINARY_NOT_MAPPED with candidates; UNSUPPORTED_TARGET, SYMBOL_NOT_FOUND for what is no x86_64 ELF
 * file.
 */
int xp_probe_file_open(struct xp_target *target, const char *path, struct xp_probe_file *ret_file, struct xp_err *reterr);
/* The same for a mapping at hand, without symbols other than .dynsym until they are loaded: unpacking them is dear. */
int xp_probe_file_open_mapping(struct xp_target *target, const struct xp_mapping *mapping, struct xp_probe_file *ret_file,
			       struct xp_err *reterr);
void xp_probe_file_load_symbols(const struct xp_probe_file *file);
void xp_probe_file_done(struct xp_probe_file *file);

/* The first mapping, in address order, of every file that the target maps executable; in the arena. */
size_t xp_probe_files(const struct xp_target *target, struct xp_arena *arena, const struct xp_mapping ***ret_mappings);

/* Both are ranges of one file. */
bool xp_same_mapped_file(const struct xp_mapping *a, const struct xp_mapping *b);
/*
 * The executable mapping that holds the file offset. SYMBOL_NOT_FOUND when the file has none there; BINARY_NOT_MAPPED when the target runs
 * a copy of that text in anonymous memory.
 */
int xp_probe_file_at(const struct xp_probe_file *file, uint64_t offset, const struct xp_mapping **ret_mapping, struct xp_err *reterr);
/* Address in the target's memory of an address of the file, by any mapping of the file; false when there is none. */
bool xp_probe_file_address(const struct xp_probe_file *file, uint64_t vaddr, uint64_t *ret_address);

#endif
