/* SPDX-License-Identifier: Apache-2.0 */
/* Functions by name. In: a name with version, or a demangled signature. Out: the distinct addresses it stands for. No state. */
#include "elf/elf_priv.h"

#include <string.h>

#include "elf/demangle.h"

/* Splits "name@@V" of .symtab; a name may begin with '@'. */
static void read_suffix(struct xp_symbol *symbol)
{
	const char *at = *symbol->name ? strchr(symbol->name + 1, '@') : NULL;

	symbol->name_len = at ? (size_t)(at - symbol->name) : strlen(symbol->name);
	if (!at)
		return;
	symbol->default_version = at[1] == '@';
	symbol->version = at + 1 + symbol->default_version;
	symbol->version_len = strlen(symbol->version);
}

static struct xp_symbol make_symbol(const struct xp_elf *elf, const struct xp_symtab *table, uint64_t index, const Elf64_Sym *raw,
				    const char *name)
{
	struct xp_symbol symbol = { .name = name,
				    .address = raw->st_value,
				    .size = raw->st_size,
				    .bind = ELF64_ST_BIND(raw->st_info),
				    .ifunc = ELF64_ST_TYPE(raw->st_info) == STT_GNU_IFUNC };
	bool hidden = false;

	read_suffix(&symbol);
	if (!table->dynamic)
		return symbol;
	const char *version = xp_elf_version_of(elf, index, &hidden);
	if (version) {
		symbol.version = version;
		symbol.version_len = strlen(version);
		symbol.default_version = !hidden;
	}
	return symbol;
}

static bool version_is(const struct xp_symbol *symbol, const char *version)
{
	return symbol->version && symbol->version_len == strlen(version) && !memcmp(symbol->version, version, symbol->version_len);
}

/* Same name, apart from a version suffix. Cheap first: this runs for every symbol of the file. */
static bool named(const char *name, const char *wanted, size_t len)
{
	return *name == *wanted && !strncmp(name, wanted, len) && (!name[len] || name[len] == '@');
}

static bool matches(const struct xp_symbol_query *query, const char *name, size_t len)
{
	if (!query->full)
		return named(name, query->name, len);
	if (!strcmp(name, query->name))
		return true;
	const char *at = *name ? strchr(name + 1, '@') : NULL;
	return xp_demangles_to(name, at ? (size_t)(at - name) : strlen(name), query->name);
}

static unsigned rank(const struct xp_symbol *symbol)
{
	return symbol->bind == STB_GLOBAL ? 2 : symbol->bind == STB_LOCAL ? 1 : 0;
}

/* One entry an address; what one table knows of it and the other does not is put together. */
static void add(struct xp_symbols_found *found, const struct xp_symbol *symbol)
{
	for (size_t i = 0; i < found->n; i++) {
		struct xp_symbol *have = &found->at[i];

		if (have->address != symbol->address)
			continue;
		if (!have->version || (symbol->default_version && !have->default_version)) {
			have->version = symbol->version;
			have->version_len = symbol->version_len;
			have->default_version = symbol->default_version;
		}
		if (rank(symbol) > rank(have)) {
			have->bind = symbol->bind;
			have->name = symbol->name;
			have->name_len = symbol->name_len;
		}
		if (!have->size)
			have->size = symbol->size;
		have->ifunc |= symbol->ifunc;
		return;
	}
	if (found->n < XP_FOUND_MAX)
		found->at[found->n++] = *symbol;
	found->total++;
}

static void note_version(struct xp_symbols_found *found, const struct xp_symbol *symbol, struct xp_arena *arena)
{
	const char *text = xp_arena_fmt(arena, "%s%.*s", symbol->default_version ? "@@" : "@", (int)symbol->version_len, symbol->version);

	for (size_t i = 0; i < found->n_versions; i++)
		if (!strcmp(found->versions[i], text))
			return;
	if (found->n_versions < XP_FOUND_MAX)
		found->versions[found->n_versions++] = text;
}

static void drop(struct xp_symbols_found *found, size_t index)
{
	memmove(&found->at[index], &found->at[index + 1], (found->n - index - 1) * sizeof(found->at[0]));
	found->n--;
	found->total--;
}

/* A bare name means the default version; "@V" that version; "@@V" that version, which must be the default. */
static void choose_versions(struct xp_symbols_found *found, const struct xp_symbol_query *query, struct xp_arena *arena)
{
	for (size_t i = 0; i < found->n;) {
		const struct xp_symbol *symbol = &found->at[i];
		bool wanted = query->version ? version_is(symbol, query->version) && (symbol->default_version || !query->default_version)
					     : !symbol->version || symbol->default_version;

		if (wanted) {
			i++;
			continue;
		}
		if (symbol->version)
			note_version(found, symbol, arena);
		drop(found, i);
	}
}

static void scan(const struct xp_elf *elf, const struct xp_symtab *table, const struct xp_symbol_query *query,
		 struct xp_symbols_found *found)
{
	size_t len = strlen(query->name);
	const char *name;
	Elf64_Sym raw;

	for (uint64_t i = 1; i < table->n; i++) {
		if (!xp_symtab_read(table, i, &raw, &name) || !matches(query, name, len))
			continue;
		if (xp_symtab_is_function(elf, &raw, name)) {
			struct xp_symbol symbol = make_symbol(elf, table, i, &raw, name);

			add(found, &symbol);
		} else if (raw.st_shndx == SHN_UNDEF) {
			found->imported = true;
		} else {
			found->data = true;
		}
	}
}

void xp_symbols_find(const struct xp_elf *elf, const struct xp_symbol_query *query, struct xp_arena *arena,
		     struct xp_symbols_found *ret_found)
{
	struct xp_symbols_found found = { 0 };

	for (size_t i = 0; i < elf->n_tables; i++)
		scan(elf, &elf->tables[i], query, &found);
	if (!query->full)
		choose_versions(&found, query, arena);
	*ret_found = found;
}

enum { PLACES_MAX = 1024, WINDOW_BYTES = 4 << 20 };

/* Offsets in a table's names where a text begins, ascending. */
struct places {
	uint32_t at[PLACES_MAX];
	size_t n;
};

/* One pass over the names themselves, which a large file would have to be searched for one by one otherwise. False: too many places. */
static bool find_places(const struct xp_elf *elf, const struct xp_symtab *table, const char *text, struct places *ret_places)
{
	size_t len = strlen(text);

	ret_places->n = 0;
	if (!len)
		return false;
	for (uint64_t from = 0; from < table->names_size; from += WINDOW_BYTES) {
		uint64_t left = table->names_size - from, window = left < WINDOW_BYTES + len ? left : WINDOW_BYTES + len;
		const char *end = table->names + from + window, *at = table->names + from;

		while ((at = memmem(at, (size_t)(end - at), text, len)) && at < table->names + from + WINDOW_BYTES) {
			if (ret_places->n == PLACES_MAX)
				return false;
			ret_places->at[ret_places->n++] = (uint32_t)(at++ - table->names);
		}
		xp_elf_let_go(elf, 0);
	}
	return true;
}

static bool is_place(const struct places *places, uint32_t offset)
{
	size_t low = 0, high = places->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (places->at[middle] < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < places->n && places->at[low] == offset;
}

void xp_symbols_each(const struct xp_elf *elf, const char *prefix, bool (*fn)(const struct xp_symbol *symbol, void *arg), void *arg)
{
	size_t len = strlen(prefix);
	struct places places;
	const char *name;
	Elf64_Sym raw;

	for (size_t t = 0; t < elf->n_tables; t++) {
		bool few = find_places(elf, &elf->tables[t], prefix, &places);

		for (uint64_t i = 1; i < elf->tables[t].n && !(few && !places.n); i++) {
			xp_elf_let_go(elf, i);
			if (!xp_symtab_read(&elf->tables[t], i, &raw, &name) || (few && !is_place(&places, raw.st_name)) ||
			    strncmp(name, prefix, len) || !xp_symtab_is_function(elf, &raw, name))
				continue;
			struct xp_symbol symbol = make_symbol(elf, &elf->tables[t], i, &raw, name);
			if (!fn(&symbol, arg))
				return;
		}
	}
}

/* How well a name answers a search: 2 its own name is `text`, 1 `text` occurs in it, 0 not at all. */
static int likeness(const char *name, size_t name_len, const char *text)
{
	xp_auto(xp_arena_free) struct xp_arena *scratch = xp_arena_new();
	const char *signature = xp_demangle(scratch, name, name_len, false);
	size_t len;

	if (!signature)
		return 1;
	const char *base = xp_signature_base(signature, &len);
	return len == strlen(text) && !memcmp(base, text, len) ? 2 : 1;
}

static bool have_address(const struct xp_symbol *symbols, size_t n, uint64_t address)
{
	for (size_t i = 0; i < n; i++)
		if (symbols[i].address == address)
			return true;
	return false;
}

size_t xp_symbols_near(const struct xp_elf *elf, const char *text, struct xp_arena *arena, struct xp_symbol *ret_symbols, size_t max)
{
	size_t n = 0;
	const char *name;
	Elf64_Sym raw;

	for (int wanted = 2; wanted > 0; wanted--)
		for (size_t t = 0; t < elf->n_tables; t++)
			for (uint64_t i = 1; i < elf->tables[t].n && n < max; i++) {
				if (!xp_symtab_read(&elf->tables[t], i, &raw, &name) || !strstr(name, text) ||
				    !xp_symtab_is_function(elf, &raw, name))
					continue;
				struct xp_symbol symbol = make_symbol(elf, &elf->tables[t], i, &raw, name);
				if (likeness(name, symbol.name_len, text) == wanted && !have_address(ret_symbols, n, symbol.address))
					ret_symbols[n++] = symbol;
			}
	return n;
}

static bool mentioned(const struct xp_elf *elf, const struct xp_symtab *table, const char *wanted, bool defined)
{
	size_t len = strlen(wanted);
	const char *name;
	Elf64_Sym raw;

	for (uint64_t i = 1; i < table->n; i++) {
		xp_elf_let_go(elf, i);
		if (xp_symtab_read(table, i, &raw, &name) && named(name, wanted, len) &&
		    (!defined || xp_symtab_is_function(elf, &raw, name)))
			return true;
	}
	return false;
}

bool xp_symbols_exports(const struct xp_elf *elf, const char *name)
{
	struct xp_symtab table;

	return xp_elf_dynsym(elf, &table) && mentioned(elf, &table, name, true);
}

bool xp_symbols_mention(const struct xp_elf *elf, const char *name)
{
	for (size_t i = 0; i < elf->n_tables; i++)
		if (mentioned(elf, &elf->tables[i], name, false))
			return true;
	return false;
}
