/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a target may have copies of the NVTX header's globals: each library that includes the header has its own, in .data. Found in the
 * files, so that no page of the target is touched; whoever uses a place looks whether it really is one.
 */
#ifndef XP_ELF_NVTX_H
#define XP_ELF_NVTX_H

#include "target/target.h"

/* What a target's file was looked through for, known by its place: the first address and a hash of device and inode. */
struct xp_nvtx_file {
	uint64_t start, file;
};

/* Both answers may be NULL; a file that is known is not read again. */
struct xp_nvtx_visitor {
	bool (*knows)(void *arg, const struct xp_nvtx_file *file);
	void (*looked)(void *arg, const struct xp_nvtx_file *file, uint64_t bytes);
	void (*found)(void *arg, const struct xp_nvtx_file *file, uint64_t address);
	void *arg;
};

/* Every file that the target maps executable. Files that cannot be opened or are no ELF files have no places. */
void xp_nvtx_find(struct xp_target *target, const struct xp_nvtx_visitor *visitor);

/* The copies of a target, as its memory has them now. */
struct xp_nvtx_clients {
	uint32_t copies;	  /* of the known shape */
	uint32_t usable, foreign; /* empty or unused; held by another tool */
	uint32_t refused;	  /* places that look alike and are not of the known shape */
};
/* Reads the target's memory at the places found, nothing else. PERMISSION_DENIED. */
int xp_nvtx_clients_read(struct xp_target *target, struct xp_nvtx_clients *ret_clients, struct xp_err *reterr);

#endif
