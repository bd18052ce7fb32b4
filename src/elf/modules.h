/* SPDX-License-Identifier: Apache-2.0 */
/* The files mapped into a target, each opened once, on its first use, through its mapping (deleted files too); the vDSO out of memory. */
#ifndef XP_ELF_MODULES_H
#define XP_ELF_MODULES_H

#include "elf/cfi.h"
#include "target/target.h"

struct xp_module {
	struct xp_elf *elf; /* NULL: no ELF file, or no way to open it */
	const char *path;
	uint64_t device, inode; /* 0, 0 for the vDSO */
	struct xp_cfi_index frames;
	bool framed; /* `frames` can be used */
	bool loaded; /* for the symbolizer: names were looked for */
	const char *build_id;
};

struct xp_modules;

/* Borrows the target. */
struct xp_modules *xp_modules_new(struct xp_target *target);
void xp_modules_free(struct xp_modules *modules);
XP_DEFINE_AUTO(struct xp_modules *, xp_modules_free);

/* NULL: no file is mapped there. The result lives as long as `modules`. */
struct xp_module *xp_modules_at(struct xp_modules *modules, const struct xp_mapping *mapping);
/* File address of a run-time address inside the mapping; false when the file has no segment there. */
bool xp_module_vaddr(const struct xp_module *module, const struct xp_mapping *mapping, uint64_t address, uint64_t *ret_vaddr);

/* Remembers a path once, for warnings. */
void xp_modules_miss(struct xp_modules *modules, const char *path);
const char *const *xp_modules_missing(const struct xp_modules *modules, size_t *ret_n);
/* Memory that lives as long as `modules`. */
struct xp_arena *xp_modules_arena(const struct xp_modules *modules);

#endif
