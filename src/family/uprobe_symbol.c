/* SPDX-License-Identifier: Apache-2.0 */
/* Names to functions, and helpful refusals. In: endpoint and file. Out: the function's extent. No state. */
#include "family/uprobe_symbol.h"

#include <string.h>

#include "elf/demangle.h"

enum { MAX_CANDIDATES = 20 };

static const char *boundary_word(const struct xp_endpoint *ep)
{
	return ep->boundary == XP_AT_EXIT ? "return" : "entry";
}

/* Adds a ready selector to the array; one that could not be parsed back (a colon in a plain name) is left out. */
static void add_candidate(json_t *list, const char *selector)
{
	if (json_array_size(list) < MAX_CANDIDATES)
		json_array_append_new(list, xp_json_text(selector));
}

static void attach_candidates(struct xp_err *reterr, json_t *list)
{
	if (json_array_size(list))
		xp_err_detail(reterr, "candidates", list);
	else
		json_decref(list);
}

/* Names all libraries that the process maps and that define the function. */
static void name_definers(const struct xp_endpoint *ep, const struct xp_probe_file *file, struct xp_arena *arena, json_t *candidates,
			  struct xp_err *reterr)
{
	const struct xp_mapping **files;
	size_t n = xp_probe_files(file->target, arena, &files);

	for (size_t i = 0; i < n; i++) {
		xp_auto_err ignored = { 0 }; /* a library that cannot be read is not named */
		struct xp_probe_file other;

		if (xp_same_mapped_file(files[i], file->mapping) || xp_probe_file_open_mapping(file->target, files[i], &other, &ignored))
			continue;
		if (xp_symbols_exports(other.elf, ep->uprobe.name)) {
			xp_err_hint(reterr, "%s defines it: select it there", files[i]->path);
			add_candidate(candidates,
				      xp_arena_fmt(arena, "uprobe:%s:%s:%s", files[i]->path, ep->uprobe.name, boundary_word(ep)));
		}
		xp_probe_file_done(&other);
	}
}

static void add_near(const struct xp_endpoint *ep, const struct xp_probe_file *file, struct xp_arena *arena, json_t *candidates)
{
	struct xp_symbol near[MAX_CANDIDATES];
	size_t len, n;
	const char *text = ep->uprobe.name;

	if (ep->uprobe.target == XP_UPROBE_FULL_NAME) {
		text = xp_signature_base(ep->uprobe.name, &len);
		text = xp_arena_dup(arena, text, len);
	}
	n = *text ? xp_symbols_near(file->elf, text, arena, near, MAX_CANDIDATES) : 0;
	for (size_t i = 0; i < n; i++) {
		const char *signature = xp_demangle(arena, near[i].name, near[i].name_len, false);

		add_candidate(candidates, xp_arena_fmt(arena, "uprobe:%s:%s%.*s:%s", file->mapping->path, signature ? "symbol=" : "",
						       (int)(signature ? strlen(signature) : near[i].name_len),
						       signature ? signature : near[i].name, boundary_word(ep)));
	}
}

static void add_versions(const struct xp_endpoint *ep, const struct xp_probe_file *file, const struct xp_symbols_found *found,
			 struct xp_arena *arena, json_t *candidates)
{
	for (size_t i = 0; i < found->n_versions; i++)
		add_candidate(candidates, xp_arena_fmt(arena, "uprobe:%s:%s%s:%s", file->mapping->path, ep->uprobe.name, found->versions[i],
						       boundary_word(ep)));
}

static void hint_table(const struct xp_probe_file *file, struct xp_err *reterr)
{
	enum xp_symbol_source source = xp_elf_symbol_source(file->elf);

	if (source == XP_SYMBOLS_NONE)
		xp_err_hint(reterr, "the file is stripped of all symbols; select a function by its file offset: +0xHEX");
	if (source == XP_SYMBOLS_DYNSYM)
		xp_err_hint(reterr,
			    "the file is stripped, only exported functions have names; select others by file offset: +0xHEX, or install "
			    "its debug file");
}

static int not_found(const struct xp_endpoint *ep, const struct xp_probe_file *file, const struct xp_symbols_found *found,
		     struct xp_arena *arena, struct xp_err *reterr)
{
	json_t *candidates = json_array();
	const char *path = file->mapping->path, *name = ep->uprobe.name;

	xp_fail(reterr, XP_E_SYMBOL_NOT_FOUND, "%s defines no function %.256s", path, name);
	xp_err_object(reterr, "%s", ep->selector);
	if (found->n_versions && ep->uprobe.version)
		xp_err_say(reterr, "%s defines %.256s, but not in version %.64s%s", path, name, ep->uprobe.version,
			   ep->uprobe.default_version ? " as the default one" : "");
	else if (found->n_versions)
		xp_err_say(reterr, "%s defines %.256s in old versions only, none of which is the default", path, name);
	else if (found->imported)
		xp_err_say(reterr, "%s only imports %.256s and does not define it", path, name);
	else if (found->data)
		xp_err_say(reterr, "%.256s in %s is data, not a function", name, path);
	add_versions(ep, file, found, arena, candidates);
	if (!found->n_versions)
		name_definers(ep, file, arena, candidates, reterr);
	if (!json_array_size(candidates))
		add_near(ep, file, arena, candidates);
	if (!found->imported && !found->n_versions)
		hint_table(file, reterr);
	attach_candidates(reterr, candidates);
	return -XP_E_SYMBOL_NOT_FOUND;
}

static int ambiguous(const struct xp_endpoint *ep, const struct xp_probe_file *file, const struct xp_symbols_found *found,
		     struct xp_arena *arena, struct xp_err *reterr)
{
	json_t *candidates = json_array();
	uint64_t offset;

	xp_fail(reterr, XP_E_AMBIGUOUS_TARGET, "%.256s names %lu functions of %s", ep->uprobe.name, (unsigned long)found->total,
		file->mapping->path);
	xp_err_object(reterr, "%s", ep->selector);
	for (size_t i = 0; i < found->n; i++)
		if (xp_elf_to_offset(file->elf, found->at[i].address, &offset))
			add_candidate(candidates, xp_arena_fmt(arena, "uprobe:%s:+0x%lx:%s", file->mapping->path, (unsigned long)offset,
							       boundary_word(ep)));
	xp_err_hint(reterr, "take one of the candidates, each of which is one of these functions");
	attach_candidates(reterr, candidates);
	return -XP_E_AMBIGUOUS_TARGET;
}

int xp_uprobe_find_symbol(const struct xp_endpoint *ep, const struct xp_probe_file *file, struct xp_arena *arena,
			  struct xp_extent *ret_function, struct xp_err *reterr)
{
	struct xp_symbol_query query = { .name = ep->uprobe.name,
					 .version = ep->uprobe.version,
					 .default_version = ep->uprobe.default_version,
					 .full = ep->uprobe.target == XP_UPROBE_FULL_NAME };
	struct xp_symbols_found found;

	xp_symbols_find(file->elf, &query, arena, &found);
	if (!found.n)
		return not_found(ep, file, &found, arena, reterr);
	if (found.total > 1)
		return ambiguous(ep, file, &found, arena, reterr);
	struct xp_extent function = { .start = found.at[0].address, .symbol = found.at[0] };
	if (function.symbol.ifunc)
		return xp_uprobe_refuse_ifunc(ep, file, &function.symbol, reterr);
	function.size = xp_symbols_size(file->elf, &function.symbol);
	if (!xp_elf_is_text(file->elf, function.start) || !function.size)
		return xp_fail(reterr, XP_E_SYMBOL_NOT_FOUND, "%.256s at address 0x%lx of %s is in no executable segment", ep->uprobe.name,
			       (unsigned long)function.start, file->mapping->path);
	*ret_function = function;
	return 0;
}
