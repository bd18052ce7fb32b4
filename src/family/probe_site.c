/* SPDX-License-Identifier: Apache-2.0 */
/* Placing probes. In: a mapped file, a function, a boundary. Out: sites and struct xp_resolved, in the arena. No state. */
#include "family/probe_site.h"

#include <string.h>

#include "elf/code.h"
#include "elf/demangle.h"
#include "elf/language.h"

void xp_probe_sites_add(struct xp_probe_sites *sites, struct xp_probe_site site)
{
	if (sites->n == sites->cap) {
		size_t cap = sites->cap ? sites->cap * 2 : 4;
		struct xp_probe_site *grown = xp_arena_array(sites->arena, struct xp_probe_site, cap);

		if (sites->n)
			memcpy(grown, sites->at, sites->n * sizeof(*grown));
		sites->at = grown;
		sites->cap = cap;
	}
	sites->at[sites->n++] = site;
}

int xp_resolved_fill_file(struct xp_resolved *resolved, const struct xp_probe_file *file, uint64_t offset, struct xp_arena *arena,
			  struct xp_err *reterr)
{
	static const int kinds[] = {
		[XP_ELF_EXECUTABLE] = XP_OBJECT_EXECUTABLE, [XP_ELF_PIE] = XP_OBJECT_PIE, [XP_ELF_SHARED] = XP_OBJECT_SHARED
	};
	const struct xp_mapping *mapping;
	char path[4200];
	int rc = xp_probe_file_at(file, offset, &mapping, reterr);

	if (!rc)
		rc = xp_target_mapping_path(file->target, mapping, path, sizeof(path), reterr);
	if (rc)
		return rc;
	resolved->mapping = *mapping;
	resolved->mapping.path = resolved->binary_path = xp_arena_str(arena, mapping->path);
	resolved->attach_path = xp_arena_str(arena, path);
	resolved->build_id = xp_elf_build_id(file->elf, arena);
	resolved->object_kind = kinds[xp_elf_kind(file->elf)];
	resolved->file_offset = offset;
	resolved->runtime_address = mapping->start + (offset - mapping->offset);
	resolved->replaced_on_disk = xp_target_mapping_replaced(file->target, mapping);
	return 0;
}

void xp_resolved_fill_symbol(struct xp_resolved *resolved, const struct xp_extent *function, struct xp_arena *arena)
{
	const struct xp_symbol *symbol = &function->symbol;

	if (!symbol->name)
		return;
	resolved->symbol = xp_arena_dup(arena, symbol->name, symbol->name_len);
	resolved->symbol_demangled = xp_demangle(arena, symbol->name, symbol->name_len, false);
	if (symbol->version)
		resolved->symbol_version = xp_arena_dup(arena, symbol->version, symbol->version_len);
	resolved->symbol_virtual_address = (struct xp_opt_u64)XP_SOME(function->start);
	resolved->symbol_size = (struct xp_opt_u64)XP_SOME(function->size);
}

/* Offset of a site, which must be mapped executable like the function's start. */
static int add_site(const struct xp_probe_file *file, uint64_t vaddr, struct xp_probe_site site, struct xp_probe_sites *sites,
		    struct xp_err *reterr)
{
	const struct xp_mapping *mapping;

	if (!xp_elf_to_offset(file->elf, vaddr, &site.offset))
		return xp_fail(reterr, XP_E_SYMBOL_NOT_FOUND, "address 0x%lx of %s is in no part of the file", (unsigned long)vaddr,
			       file->mapping->path);
	int rc = xp_probe_file_at(file, site.offset, &mapping, reterr);
	if (!rc)
		xp_probe_sites_add(sites, site);
	return rc;
}

static bool is_go_code(const struct xp_language *language, uint64_t vaddr)
{
	if (language->go_text_start == language->go_text_end)
		return language->go;
	return vaddr >= language->go_text_start && vaddr < language->go_text_end;
}

/* From Go 1.17 on r14 holds the goroutine in Go code. */
static bool has_goroutine_register(const struct xp_language *language)
{
	return language->go_major > 1 || (language->go_major == 1 && language->go_minor >= 17);
}

int xp_probe_entry(const struct xp_probe_file *file, const struct xp_extent *function, uint64_t vaddr, struct xp_resolved *resolved,
		   struct xp_probe_sites *sites, struct xp_err *reterr)
{
	struct xp_language language = xp_elf_go(file->elf);
	int rc;

	resolved->goroutine_key = is_go_code(&language, vaddr) && has_goroutine_register(&language);
	if (vaddr == function->start)
		rc = xp_code_entry(file->elf, function, resolved->goroutine_key, &vaddr, reterr);
	else
		rc = xp_code_check(file->elf, function, vaddr, reterr);
	return rc ? rc : add_site(file, vaddr, (struct xp_probe_site){ 0 }, sites, reterr);
}

static int add_exits(const struct xp_probe_file *file, const struct xp_extent *function, struct xp_resolved *resolved,
		     struct xp_probe_sites *sites, struct xp_err *reterr)
{
	uint64_t exits[XP_EXITS_MAX];
	size_t n;
	int rc = xp_code_exits(file->elf, function, exits, &n, reterr);

	for (size_t i = 0; i < n && !rc; i++)
		rc = add_site(file, exits[i], (struct xp_probe_site){ .exit_site = true }, sites, reterr);
	resolved->return_method = XP_RETURN_EXIT_SITES;
	return rc;
}

static int add_kernel_return(const struct xp_probe_file *file, const struct xp_extent *function, struct xp_resolved *resolved,
			     struct xp_probe_sites *sites, struct xp_err *reterr)
{
	uint64_t vaddr;
	int rc = xp_code_entry(file->elf, function, false, &vaddr, reterr);

	resolved->return_method = XP_RETURN_URETPROBE;
	return rc ? rc : add_site(file, vaddr, (struct xp_probe_site){ .uretprobe = true }, sites, reterr);
}

int xp_probe_return(const struct xp_probe_file *file, const struct xp_extent *function, const struct xp_resolve_options *options,
		    struct xp_resolved *resolved, struct xp_probe_sites *sites, struct xp_err *reterr)
{
	struct xp_language language = xp_elf_language(file->elf);

	if (language.go && !has_goroutine_register(&language)) {
		xp_fail(reterr, XP_E_PROBE_REFUSED, "%s was built with Go %u.%u; returns can be paired from Go 1.17 on only",
			file->mapping->path, language.go_major, language.go_minor);
		if (!language.go_major)
			xp_err_say(reterr, "%s is a Go program whose version cannot be read; returns can be paired from Go 1.17 on only",
				   file->mapping->path);
		xp_err_hint(reterr, "measure the function's entry only");
		return -XP_E_PROBE_REFUSED;
	}
	resolved->goroutine_key = is_go_code(&language, function->start) && has_goroutine_register(&language);
	if (language.go)
		return add_exits(file, function, resolved, sites, reterr);
	if (!language.cxx && !language.rust)
		return add_kernel_return(file, function, resolved, sites, reterr);
	resolved->cxx_return = options->allow_cxx_return;
	return options->allow_cxx_return ? add_kernel_return(file, function, resolved, sites, reterr)
					 : add_exits(file, function, resolved, sites, reterr);
}
