/* SPDX-License-Identifier: Apache-2.0 */
/* Functions by address. In: ascending addresses. Out: the symbol that covers each, in one unsorted pass. No state. */
#include "elf/elf_priv.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "elf/eh_frame.h"

/* Best answers so far for one address. `below` is the nearest start at or below it, whatever its size. */
struct slot {
	Elf64_Sym cover, below;
	const char *cover_name, *below_name;
};

enum { BUCKETS = 4096 };

/* The addresses of one pass. `first` skips the search for most symbols: the first address at or above each start of a bucket. */
struct wanted {
	const uint64_t *vaddrs;
	size_t n;
	unsigned shift;
	uint32_t first[BUCKETS + 1];
};

static void prepare(struct wanted *wanted, const uint64_t *vaddrs, size_t n)
{
	*wanted = (struct wanted){ .vaddrs = vaddrs, .n = n };
	while (vaddrs[n - 1] >> wanted->shift >= BUCKETS)
		wanted->shift++;
	for (size_t bucket = 0, i = 0; bucket <= BUCKETS; bucket++) {
		while (i < n && vaddrs[i] >> wanted->shift < bucket)
			i++;
		wanted->first[bucket] = (uint32_t)i;
	}
}

/* The first address at or above `value`, which is none above the last. */
static size_t lower_bound(const struct wanted *wanted, uint64_t value)
{
	uint64_t bucket = value >> wanted->shift;
	size_t low = wanted->first[bucket], high = wanted->first[bucket + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (wanted->vaddrs[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static unsigned rank(const Elf64_Sym *symbol)
{
	static const unsigned char ranks[16] = { [STB_LOCAL] = 2, [STB_GLOBAL] = 3, [STB_WEAK] = 1 };

	return ranks[ELF64_ST_BIND(symbol->st_info)] * 2U + (ELF64_ST_TYPE(symbol->st_info) != STT_NOTYPE);
}

/* The innermost symbol wins, then the better kind, then the one that has a size. */
static bool better(const Elf64_Sym *symbol, const Elf64_Sym *than, const char *than_name)
{
	if (!than_name || symbol->st_value != than->st_value)
		return !than_name || symbol->st_value > than->st_value;
	if (!symbol->st_size != !than->st_size)
		return symbol->st_size;
	return rank(symbol) > rank(than);
}

/* Names lie scattered in a large table: they are touched only for a symbol that would be an answer. */
static void offer(const struct xp_elf *elf, const struct wanted *wanted, size_t i, struct slot *slots, const Elf64_Sym *symbol,
		  const char *name)
{
	const uint64_t *vaddrs = wanted->vaddrs;
	bool below = better(symbol, &slots[i].below, slots[i].below_name);

	if ((!below && vaddrs[i] - symbol->st_value >= symbol->st_size) || !xp_symtab_is_function(elf, symbol, name))
		return;
	if (below) {
		slots[i].below = *symbol;
		slots[i].below_name = name;
	}
	for (; i < wanted->n && vaddrs[i] - symbol->st_value < symbol->st_size; i++)
		if (better(symbol, &slots[i].cover, slots[i].cover_name)) {
			slots[i].cover = *symbol;
			slots[i].cover_name = name;
		}
}

/* A symbol of size 0 ends at the next symbol, which `below` tells, and where an FDE begins behind it. */
static bool reaches(const struct xp_elf *elf, const Elf64_Sym *symbol, uint64_t vaddr)
{
	struct xp_fde fde;

	if (symbol->st_size || xp_elf_segment_at(elf, vaddr) != xp_elf_segment_at(elf, symbol->st_value))
		return false;
	if (xp_elf_fde(elf, vaddr, &fde))
		return fde.start <= symbol->st_value;
	return !xp_elf_fde(elf, symbol->st_value, &fde);
}

static void answer(const struct xp_elf *elf, uint64_t vaddr, const struct slot *slot, struct xp_symbol *ret_symbol)
{
	const Elf64_Sym *symbol = &slot->cover;
	const char *name = slot->cover_name;

	if (!name && slot->below_name && reaches(elf, &slot->below, vaddr)) {
		symbol = &slot->below;
		name = slot->below_name;
	}
	*ret_symbol = (struct xp_symbol){ .name = name };
	if (!name)
		return;
	const char *at = strchr(name + 1, '@');
	ret_symbol->name_len = at ? (size_t)(at - name) : strlen(name);
	ret_symbol->address = symbol->st_value;
	ret_symbol->size = symbol->st_size;
	ret_symbol->bind = ELF64_ST_BIND(symbol->st_info);
	ret_symbol->ifunc = ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC;
}

/* Large files have a million symbols: what cannot be an answer goes by its address and size alone. */
static void scan(const struct xp_elf *elf, const struct xp_symtab *table, const struct wanted *wanted, struct slot *slots)
{
	const unsigned char *entry = table->entries + offsetof(Elf64_Sym, st_value);
	const char *name;
	Elf64_Sym symbol;
	uint64_t extent[2]; /* st_value, st_size */

	for (uint64_t i = 1; i < table->n; i++) {
		memcpy(extent, entry + i * sizeof(symbol), sizeof(extent));
		if (extent[0] > wanted->vaddrs[wanted->n - 1])
			continue;
		size_t at = lower_bound(wanted, extent[0]);
		if (extent[0] < slots[at].below.st_value && wanted->vaddrs[at] - extent[0] >= extent[1])
			continue;
		if (xp_symtab_read(table, i, &symbol, &name))
			offer(elf, wanted, at, slots, &symbol, name);
	}
}

void xp_symbols_resolve(const struct xp_elf *elf, const uint64_t *vaddrs, size_t n, struct xp_symbol *results)
{
	if (!n)
		return;
	xp_auto(xp_free) void *memory = calloc(n, sizeof(struct slot));
	struct slot *slots = memory;
	struct wanted wanted;

	memset(results, 0, n * sizeof(*results));
	if (!slots)
		abort(); /* as in the arena: an out of memory that nothing can mend */
	prepare(&wanted, vaddrs, n);
	for (size_t i = 0; i < elf->n_tables; i++)
		scan(elf, &elf->tables[i], &wanted, slots);
	for (size_t i = 0; i < n; i++) {
		if (i && slots[i - 1].below_name && better(&slots[i - 1].below, &slots[i].below, slots[i].below_name)) {
			slots[i].below = slots[i - 1].below;
			slots[i].below_name = slots[i - 1].below_name;
		}
		answer(elf, vaddrs[i], &slots[i], &results[i]);
	}
}

/* Start of the nearest function symbol above `vaddr`, or UINT64_MAX. */
static uint64_t next_start(const struct xp_elf *elf, uint64_t vaddr)
{
	uint64_t next = UINT64_MAX;
	const char *name;
	Elf64_Sym symbol;

	for (size_t t = 0; t < elf->n_tables; t++)
		for (uint64_t i = 1; i < elf->tables[t].n; i++)
			if (xp_symtab_read(&elf->tables[t], i, &symbol, &name) && symbol.st_value > vaddr && symbol.st_value < next &&
			    xp_symtab_is_function(elf, &symbol, name))
				next = symbol.st_value;
	return next;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Size of a symbol that has none: up to the end of its FDE, else to the next function, FDE or the end of the segment. */
static uint64_t find_size(const struct xp_elf *elf, uint64_t start)
{
	const struct xp_elf_segment *segment = xp_elf_segment_at(elf, start);
	struct xp_fde fde;

	if (!segment)
		return 0;
	uint64_t end = least(next_start(elf, start), segment->vaddr + segment->file_size);
	if (xp_elf_fde(elf, start, &fde))
		return least(end, fde.start + fde.size) - start;
	return least(end, xp_elf_fde_next(elf, start)) - start;
}

uint64_t xp_symbols_size(const struct xp_elf *elf, const struct xp_symbol *symbol)
{
	return symbol->size ? symbol->size : find_size(elf, symbol->address);
}

bool xp_symbols_extent(const struct xp_elf *elf, uint64_t vaddr, struct xp_extent *ret_extent)
{
	struct xp_extent extent = { 0 };
	struct xp_fde fde;

	xp_symbols_resolve(elf, &vaddr, 1, &extent.symbol);
	if (extent.symbol.name) {
		extent.start = extent.symbol.address;
		extent.size = xp_symbols_size(elf, &extent.symbol);
	} else if (xp_elf_fde(elf, vaddr, &fde)) {
		extent.start = fde.start;
		extent.size = fde.size;
	} else {
		return false;
	}
	if (vaddr - extent.start >= extent.size)
		return false;
	*ret_extent = extent;
	return true;
}
