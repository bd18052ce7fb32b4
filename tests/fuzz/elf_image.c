/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an ELF file: every question that selectors and sampling ask of an image ends, and reads nothing outside it. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#include "elf/code.h"
#include "elf/demangle.h"
#include "elf/eh_frame.h"
#include "elf/language.h"
#include "elf/reloc.h"
#include "elf/usdt.h"

enum { N_ADDRESSES = 64 };

static bool count(const struct xp_symbol *symbol, void *arg)
{
	size_t *n = arg;

	*n += symbol->name_len;
	return true;
}

static void ask_about_names(const struct xp_elf *elf, struct xp_arena *arena)
{
	static const char *const names[] = { "one_ret", "calc", "choice", "a", "Foo::fun()" };
	struct xp_symbols_found found;
	struct xp_symbol near[8];
	struct xp_usdt_site *sites;
	uint64_t slots[4];
	size_t n_chars = 0;

	for (size_t i = 0; i < XP_LEN(names); i++) {
		struct xp_symbol_query query = { .name = names[i], .version = i == 1 ? "XP_1.0" : NULL, .full = i == 4 };

		xp_symbols_find(elf, &query, arena, &found);
		if (found.n > found.total)
			abort();
		xp_symbols_exports(elf, names[i]);
		xp_elf_import_slots(elf, names[i], slots, XP_LEN(slots));
	}
	for (size_t i = 0, n = xp_symbols_near(elf, "f", arena, near, XP_LEN(near)); i < n; i++)
		xp_demangle(arena, near[i].name, near[i].name_len, true);
	xp_elf_usdt(elf, "python", "gc__start", arena, &sites);
	xp_elf_build_id(elf, arena);
	xp_elf_needed(elf, 0);
	if (xp_elf_soname(elf))
		n_chars += strlen(xp_elf_soname(elf));
	xp_symbols_each(elf, "f", count, &n_chars);
	xp_symbols_each(elf, "", count, &n_chars);
	xp_elf_language(elf);
}

static void ask_about_code(const struct xp_elf *elf, uint64_t vaddr)
{
	xp_auto_err err = { 0 };
	struct xp_extent function;
	uint64_t exits[XP_EXITS_MAX], entry;
	size_t n;

	xp_elf_fde_next(elf, vaddr);
	xp_elf_ifunc_slots(elf, vaddr, exits, 1);
	if (!xp_symbols_extent(elf, vaddr, &function))
		return;
	if (vaddr - function.start >= function.size)
		abort();
	if (function.size <= 4096)
		xp_code_check(elf, &function, vaddr, &err);
	xp_code_entry(elf, &function, true, &entry, &err);
	if (!xp_code_exits(elf, &function, exits, &n, &err) && (!n || n > XP_EXITS_MAX))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto(xp_elf_close) struct xp_elf *elf = NULL;
	xp_auto_err err = { 0 };
	struct xp_symbol named[N_ADDRESSES];
	uint64_t vaddrs[N_ADDRESSES];
	size_t n;
	void *copy = malloc(size + 1);

	memcpy(copy, data, size);
	if (xp_elf_open_bytes(copy, size, "fuzz", &elf, &err)) {
		if (!err.message[0])
			abort();
		return 0;
	}
	xp_elf_load_symbols(elf, -1, "/nowhere/fuzz");
	ask_about_names(elf, arena);
	const struct xp_elf_segment *segments = xp_elf_segments(elf, &n);
	for (size_t i = 0; i < n && i < 4; i++) {
		for (size_t k = 0; k < N_ADDRESSES; k++)
			vaddrs[k] = segments[i].vaddr + k * (segments[i].file_size / N_ADDRESSES);
		xp_symbols_resolve(elf, vaddrs, N_ADDRESSES, named);
		for (size_t k = 0; segments[i].exec && k < 8; k++)
			ask_about_code(elf, vaddrs[k * 8 + 1]);
	}
	return 0;
}
