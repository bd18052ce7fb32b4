/* SPDX-License-Identifier: Apache-2.0 */
/* python:gc_start and gc_end, by the interpreter's markers, else by its collector function. In: endpoint and target. Out: sites. No state.
 */
#include <string.h>

#include "elf/code.h"
#include "elf/usdt.h"
#include "family/grammar.h"
#include "family/probe_site.h"

#define GRAMMAR "python:(gc_start|gc_end)"

static int parse(const char *text, struct xp_arena *arena, struct xp_endpoint *ep, struct xp_err *reterr)
{
	const char *word = text + strlen("python:");
	bool at_end = !strcmp(word, "gc_end");

	if (!at_end && strcmp(word, "gc_start") != 0)
		return xp_grammar_refuse(reterr, text, GRAMMAR, "the only events are gc_start and gc_end");
	ep->type = at_end ? XP_EV_PYTHON_GC_END : XP_EV_PYTHON_GC_START;
	ep->boundary = at_end ? XP_AT_EXIT : XP_AT_ENTRY;
	return 0;
}

static const char *marker_name(const struct xp_endpoint *ep)
{
	return ep->boundary == XP_AT_EXIT ? "gc__done" : "gc__start";
}

static int add_marker(const struct xp_probe_file *file, const struct xp_usdt_site *marker, struct xp_probe_sites *sites,
		      struct xp_err *reterr)
{
	const char *path = file->mapping->path;
	struct xp_probe_site site = { 0 };
	struct xp_insn insn;

	if (!xp_elf_to_offset(file->elf, marker->vaddr, &site.offset) || !xp_code_insn(file->elf, marker->vaddr, &insn))
		return xp_fail(reterr, XP_E_SYMBOL_NOT_FOUND, "the marker at address 0x%lx of %s is in no part of the file",
			       (unsigned long)marker->vaddr, path);
	if (insn.refused || insn.nop5)
		return xp_fail(reterr, XP_E_PROBE_REFUSED, "the marker at address 0x%lx of %s %s; no probe can sit there",
			       (unsigned long)marker->vaddr, path, insn.refused ? insn.refused : "is a 5-byte nop, which kernels rewrite");
	if (marker->semaphore && !xp_elf_to_offset(file->elf, marker->semaphore, &site.ref_ctr_offset))
		return xp_fail(reterr, XP_E_SYMBOL_NOT_FOUND, "the marker's semaphore at address 0x%lx of %s is in no part of the file",
			       (unsigned long)marker->semaphore, path);
	xp_probe_sites_add(sites, site);
	return 0;
}

static int use_markers(const struct xp_endpoint *ep, const struct xp_probe_file *file, const struct xp_usdt_site *markers, size_t n,
		       struct xp_resolved *resolved, struct xp_probe_sites *sites, struct xp_err *reterr)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		rc = add_marker(file, &markers[i], sites, reterr);
	if (!rc)
		rc = xp_resolved_fill_file(resolved, file, sites->at[0].offset, sites->arena, reterr);
	resolved->usdt_provider = "python";
	resolved->usdt_name = marker_name(ep);
	return rc;
}

enum { MAX_VARIANTS = 8 };
struct collectors {
	struct xp_symbol at[MAX_VARIANTS];
	size_t n;
	const char *stem;
};

/* The collector, and copies of it that the compiler specialised; a cold or split-off part is none. */
static bool take_collector(const struct xp_symbol *symbol, void *arg)
{
	struct collectors *found = arg;
	const char *suffix = symbol->name + strlen(found->stem);

	if (*suffix && strncmp(suffix, ".constprop.", 11) && strncmp(suffix, ".isra.", 6) && strncmp(suffix, ".lto_priv.", 10))
		return true;
	if (strstr(suffix, ".cold") || strstr(suffix, ".part"))
		return true;
	for (size_t i = 0; i < found->n; i++)
		if (found->at[i].address == symbol->address)
			return true;
	found->at[found->n++] = *symbol;
	return found->n < MAX_VARIANTS;
}

/* gc_collect_main since 3.10, collect before. The plain word is trusted only beside Python's own API. */
static void find_collectors(const struct xp_probe_file *file, struct collectors *ret_found)
{
	static const char *const stems[] = { "gc_collect_main", "collect" };

	*ret_found = (struct collectors){ 0 };
	if (!xp_symbols_exports(file->elf, "PyGC_Collect"))
		return;
	xp_probe_file_load_symbols(file);
	for (size_t i = 0; i < XP_LEN(stems) && !ret_found->n; i++) {
		ret_found->stem = stems[i];
		xp_symbols_each(file->elf, stems[i], take_collector, ret_found);
	}
}

static int use_collectors(const struct xp_endpoint *ep, const struct xp_probe_file *file, const struct collectors *found,
			  const struct xp_resolve_options *options, struct xp_resolved *resolved, struct xp_probe_sites *sites,
			  struct xp_err *reterr)
{
	struct xp_extent first = { 0 };
	uint64_t offset = 0;
	int rc = 0;

	for (size_t i = 0; i < found->n && !rc; i++) {
		struct xp_extent function = { .start = found->at[i].address, .symbol = found->at[i] };

		function.size = xp_symbols_size(file->elf, &function.symbol);
		if (!i)
			first = function;
		rc = ep->boundary == XP_AT_ENTRY ? xp_probe_entry(file, &function, function.start, resolved, sites, reterr)
						 : xp_probe_return(file, &function, options, resolved, sites, reterr);
	}
	if (rc)
		return rc;
	xp_elf_to_offset(file->elf, first.start, &offset); /* it has a site, so it is in the file */
	xp_resolved_fill_symbol(resolved, &first, sites->arena);
	return xp_resolved_fill_file(resolved, file, offset, sites->arena, reterr);
}

/* 0 with *ret_used false: this file is no interpreter, or has nothing to probe. */
static int try_file(struct xp_endpoint *ep, const struct xp_probe_file *file, const struct xp_resolve_options *options,
		    struct xp_arena *arena, bool *ret_used, struct xp_err *reterr)
{
	struct xp_resolved *resolved = xp_arena_new_of(arena, struct xp_resolved);
	struct xp_probe_sites sites = { .arena = arena };
	struct xp_usdt_site *markers;
	struct collectors found = { 0 };
	size_t n = xp_elf_usdt(file->elf, "python", marker_name(ep), arena, &markers);
	int rc;

	if (!n)
		find_collectors(file, &found);
	*ret_used = n || found.n;
	if (!*ret_used)
		return 0;
	resolved->return_method = XP_RETURN_NONE;
	rc = n ? use_markers(ep, file, markers, n, resolved, &sites, reterr)
	       : use_collectors(ep, file, &found, options, resolved, &sites, reterr);
	if (rc)
		return rc;
	resolved->sites = sites.at;
	resolved->n_sites = sites.n;
	ep->resolved = resolved;
	return 0;
}

static int not_built_in(struct xp_target *target, struct xp_err *reterr)
{
	xp_fail(reterr, XP_E_SYMBOL_NOT_FOUND,
		"garbage collection events are not built in: no file of process %u has the markers python:gc__start and gc__done, or the "
		"symbol of "
		"Python's collector",
		xp_target_pid(target));
	xp_err_hint(reterr, "use a Python built --with-dtrace, or one whose symbol table was not stripped");
	return -XP_E_SYMBOL_NOT_FOUND;
}

static int resolve(struct xp_endpoint *ep, struct xp_target *target, const struct xp_resolve_options *options, struct xp_arena *arena,
		   struct xp_err *reterr)
{
	const struct xp_mapping **mappings;
	size_t n = xp_probe_files(target, arena, &mappings);
	xp_auto_err denied = { 0 };

	for (size_t i = 0; i < n; i++) {
		xp_auto_err err = { 0 };
		struct xp_probe_file file;
		bool used = false;

		if (xp_probe_file_open_mapping(target, mappings[i], &file, &err)) {
			if (err.code == XP_E_PERMISSION_DENIED)
				xp_err_move(&denied, &err);
			continue;
		}
		int rc = try_file(ep, &file, options, arena, &used, reterr);
		xp_probe_file_done(&file);
		if (rc || used)
			return rc;
	}
	return denied.code ? xp_err_move(reterr, &denied) : not_built_in(target, reterr);
}

static const char *const heads[] = { "python:", NULL };

const struct xp_family xp_family_python = {
	.name = "python",
	.heads = heads,
	.grammar = GRAMMAR,
	.summary = "start and end of Python's cyclic garbage collection",
	.example = "python:gc_start",
	.event_types = "python_gc_start, python_gc_end",
	.needs = XP_NEED_BPF_UPROBE,
	.host = true,
	.parse = parse,
	.resolve = resolve,
};
