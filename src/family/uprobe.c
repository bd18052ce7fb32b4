/* SPDX-License-Identifier: Apache-2.0 */
/* uprobe:PATH:TARGET:entry|return, any native function. In: endpoint and target. Out: where its probes sit. No state. */
#include "elf/code.h"
#include "family/probe_site.h"
#include "family/uprobe_parse.h"
#include "family/uprobe_symbol.h"

/* The function around an offset that was given as a number; without one no boundary can be checked. */
static int find_offset(const struct xp_endpoint *ep, const struct xp_probe_file *file, struct xp_extent *ret_function, uint64_t *ret_vaddr,
		       struct xp_err *reterr)
{
	const char *path = file->mapping->path;
	uint64_t vaddr;

	if (!xp_elf_to_vaddr(file->elf, ep->uprobe.offset, &vaddr) || !xp_elf_is_text(file->elf, vaddr))
		return xp_fail(reterr, XP_E_SYMBOL_NOT_FOUND, "file offset 0x%lx of %s is in no executable segment",
			       (unsigned long)ep->uprobe.offset, path);
	if (!xp_symbols_extent(file->elf, vaddr, ret_function)) {
		xp_fail(reterr, XP_E_PROBE_REFUSED, "no symbol and no frame description of %s covers file offset 0x%lx", path,
			(unsigned long)ep->uprobe.offset);
		xp_err_hint(reterr,
			    "without the function's start no instruction boundary can be checked, and a probe inside an instruction "
			    "would end the process");
		return -XP_E_PROBE_REFUSED;
	}
	*ret_vaddr = vaddr;
	return 0;
}

/* What lies behind endbr64 is the function's start as well: stack and registers are the same there. */
static uint64_t fold_landing_pad(const struct xp_elf *elf, const struct xp_extent *function, uint64_t vaddr)
{
	struct xp_insn first;

	if (xp_code_insn(elf, function->start, &first) && first.landing_pad && vaddr == function->start + first.size)
		return function->start;
	return vaddr;
}

static int place(const struct xp_endpoint *ep, const struct xp_probe_file *file, const struct xp_extent *function, uint64_t vaddr,
		 const struct xp_resolve_options *options, struct xp_resolved *resolved, struct xp_probe_sites *sites,
		 struct xp_err *reterr)
{
	vaddr = fold_landing_pad(file->elf, function, vaddr);
	if (ep->boundary == XP_AT_ENTRY)
		return xp_probe_entry(file, function, vaddr, resolved, sites, reterr);
	if (vaddr == function->start)
		return xp_probe_return(file, function, options, resolved, sites, reterr);
	xp_fail(reterr, XP_E_PROBE_REFUSED, "a return selector needs the start of a function, and this is %lu bytes behind it",
		(unsigned long)(vaddr - function->start));
	return -XP_E_PROBE_REFUSED;
}

static int find_function(const struct xp_endpoint *ep, const struct xp_probe_file *file, struct xp_arena *arena,
			 struct xp_extent *ret_function, uint64_t *ret_vaddr, struct xp_err *reterr)
{
	if (ep->uprobe.target == XP_UPROBE_OFFSET)
		return find_offset(ep, file, ret_function, ret_vaddr, reterr);
	int rc = xp_uprobe_find_symbol(ep, file, arena, ret_function, reterr);
	if (!rc)
		*ret_vaddr = ret_function->start;
	return rc;
}

static int resolve_in(struct xp_endpoint *ep, const struct xp_probe_file *file, const struct xp_resolve_options *options,
		      struct xp_arena *arena, struct xp_err *reterr)
{
	struct xp_resolved *resolved = xp_arena_new_of(arena, struct xp_resolved);
	struct xp_probe_sites sites = { .arena = arena };
	struct xp_extent function;
	uint64_t vaddr = 0, offset;
	int rc = find_function(ep, file, arena, &function, &vaddr, reterr);

	if (rc)
		return rc;
	if (!xp_elf_to_offset(file->elf, vaddr, &offset))
		return xp_fail(reterr, XP_E_SYMBOL_NOT_FOUND, "address 0x%lx of %s is in no part of the file", (unsigned long)vaddr,
			       file->mapping->path);
	resolved->return_method = XP_RETURN_NONE;
	rc = xp_resolved_fill_file(resolved, file, offset, arena, reterr);
	if (!rc)
		rc = place(ep, file, &function, vaddr, options, resolved, &sites, reterr);
	if (rc)
		return rc;
	xp_resolved_fill_symbol(resolved, &function, arena);
	resolved->sites = sites.at;
	resolved->n_sites = sites.n;
	ep->resolved = resolved;
	return 0;
}

static int resolve(struct xp_endpoint *ep, struct xp_target *target, const struct xp_resolve_options *options, struct xp_arena *arena,
		   struct xp_err *reterr)
{
	struct xp_probe_file file;
	int rc = xp_probe_file_open(target, ep->uprobe.path, &file, reterr);

	if (rc)
		return rc;
	rc = resolve_in(ep, &file, options, arena, reterr);
	xp_probe_file_done(&file);
	return rc;
}

static const char *const heads[] = { "uprobe:", NULL };

const struct xp_family xp_family_uprobe = {
	.name = "uprobe",
	.heads = heads,
	.grammar = XP_UPROBE_GRAMMAR,
	.summary = "entry or return of a native function: C, C++, Rust, Go, in the program or a library",
	.example = "uprobe:/usr/lib/x86_64-linux-gnu/libc.so.6:fsync:entry",
	.event_types = "host_function_entry, host_function_exit",
	.needs = XP_NEED_BPF_UPROBE,
	.host = true,
	.parse = xp_uprobe_parse,
	.resolve = resolve,
};
