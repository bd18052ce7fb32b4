/* SPDX-License-Identifier: Apache-2.0 */
/* From a function in a file to the places where probes sit, and to struct xp_resolved. */
#ifndef XP_FAMILY_PROBE_SITE_H
#define XP_FAMILY_PROBE_SITE_H

#include "elf/symbols.h"
#include "family/probe_file.h"

/* A growing list of sites in an arena. */
struct xp_probe_sites {
	struct xp_arena *arena;
	struct xp_probe_site *at;
	size_t n, cap;
};
void xp_probe_sites_add(struct xp_probe_sites *sites, struct xp_probe_site site);

/* Fills the members that belong to the file and to its offset: paths, build id, kind, mapping, address. */
int xp_resolved_fill_file(struct xp_resolved *resolved, const struct xp_probe_file *file, uint64_t offset, struct xp_arena *arena,
			  struct xp_err *reterr);
/* Fills the members that belong to the symbol; a symbol without name leaves them null. */
void xp_resolved_fill_symbol(struct xp_resolved *resolved, const struct xp_extent *function, struct xp_arena *arena);

/* Adds the site of a function's entry, or of `vaddr` inside it. PROBE_REFUSED. */
int xp_probe_entry(const struct xp_probe_file *file, const struct xp_extent *function, uint64_t vaddr, struct xp_resolved *resolved,
		   struct xp_probe_sites *sites, struct xp_err *reterr);
/* Adds the sites that see a function return, by the method that is safe for the file's language (contract 8.3). PROBE_REFUSED. */
int xp_probe_return(const struct xp_probe_file *file, const struct xp_extent *function, const struct xp_resolve_options *options,
		    struct xp_resolved *resolved, struct xp_probe_sites *sites, struct xp_err *reterr);

#endif
