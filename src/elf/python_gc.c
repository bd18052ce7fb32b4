// SPDX-License-Identifier: Apache-2.0
/* The interpreter's garbage collector among native functions: by name, and in a stripped interpreter by the markers inside it. No state. */
#include "elf/code.h"
#include "elf/eh_frame.h"
#include "elf/python_priv.h"
#include "elf/usdt.h"

/* How far the collector may be from the call that everybody can name. */
enum { FUNCTIONS_MAX = 64 };

/* Functions by the calls that lead to them from PyGC_Collect, each once, in order of distance. */
struct reached {
	struct xp_fde at[FUNCTIONS_MAX];
	size_t n;
};

static void reach(const struct xp_elf *elf, uint64_t address, struct reached *reached)
{
	struct xp_fde fde;

	if (reached->n == FUNCTIONS_MAX || !xp_elf_fde(elf, address, &fde) || fde.framed || fde.start != address)
		return;
	for (size_t i = 0; i < reached->n; i++)
		if (reached->at[i].start == fde.start)
			return;
	reached->at[reached->n++] = fde;
}

static bool take_entry(const struct xp_symbol *symbol, void *arg)
{
	uint64_t *address = arg;

	if (symbol->name_len != strlen("PyGC_Collect"))
		return true;
	*address = symbol->address;
	return false;
}

/* True when the function jumps into the part; what it calls is reached. */
static bool jumps_into(const struct xp_elf *elf, const struct xp_fde *function, const struct xp_fde *part, struct reached *reached)
{
	struct xp_insn insn;

	for (uint64_t at = function->start; at < function->start + function->size && xp_code_insn(elf, at, &insn); at += insn.size) {
		bool jump = insn.flow == XP_FLOW_BRANCH || insn.flow == XP_FLOW_JUMP;

		if (jump && insn.target - part->start < part->size)
			return true;
		if (insn.flow == XP_FLOW_CALL || (jump && insn.target - function->start >= function->size))
			reach(elf, insn.target, reached);
	}
	return false;
}

/* A marker may sit in a part that the compiler moved away from its function. Whose part it is, the jump that leads there tells. */
static uint64_t owner_of(const struct xp_elf *elf, const struct xp_fde *part)
{
	struct reached reached = { 0 };
	uint64_t entry = 0;

	xp_symbols_each(elf, "PyGC_Collect", take_entry, &entry);
	reach(elf, entry, &reached);
	for (size_t i = 0; i < reached.n; i++)
		if (jumps_into(elf, &reached.at[i], part, &reached))
			return reached.at[i].start;
	return 0;
}

static void add_collector(const struct xp_elf *elf, uint64_t marker, struct xp_python_place *place)
{
	struct xp_fde fde;
	uint64_t offset;

	if (place->n_collectors == XP_PYTHON_COLLECTORS_MAX || !xp_elf_fde(elf, marker, &fde))
		return;
	uint64_t start = fde.framed ? owner_of(elf, &fde) : fde.start;
	if (!xp_elf_to_offset(elf, start, &offset))
		return;
	for (size_t i = 0; i < place->n_collectors; i++)
		if (place->collectors[i] == offset)
			return;
	place->collectors[place->n_collectors++] = offset;
}

void xp_python_gc_shape(struct xp_elf *elf, struct xp_arena *arena, struct xp_python_place *place)
{
	static const char *const markers[] = { "gc__start", "gc__done" };

	for (size_t i = 0; i < XP_LEN(markers); i++) {
		struct xp_usdt_site *sites;
		size_t n = xp_elf_usdt(elf, "python", markers[i], arena, &sites);

		for (size_t j = 0; j < n; j++)
			add_collector(elf, sites[j].vaddr, place);
	}
}

bool xp_python_is_collector(const struct xp_python *python, const char *symbol, const char *module_path, struct xp_opt_u64 function_offset)
{
	/* Names that CPython's collector has had; `collect` lost its suffix such as ".constprop.0". */
	static const char *const names[] = { "gc_collect_main", "gc_collect_region", "gc_collect_young",     "gc_collect_increment",
					     "gc_collect_full", "collect",	     "collect_with_callback" };

	if (!xp_python_is_its_file(python, module_path))
		return false;
	size_t len = symbol ? strcspn(symbol, ".") : 0;
	for (size_t i = 0; i < XP_LEN(names) && symbol; i++)
		if (strlen(names[i]) == len && !strncmp(names[i], symbol, len))
			return true;
	for (size_t i = 0; i < python->place.n_collectors && function_offset.set; i++)
		if (python->place.collectors[i] == function_offset.v)
			return true;
	return false;
}
