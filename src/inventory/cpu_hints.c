/* SPDX-License-Identifier: Apache-2.0 */
/* Ready selectors of hot functions, where a probe is possible (contract 8.3). In: hotspots, the target. Out: their hints. No state. */
#include <string.h>
#include <time.h>

#include "elf/code.h"
#include "elf/language.h"
#include "family/probe_site.h"
#include "inventory/cpu_build.h"

#define LARGE_SHARE 0.25
/* Finding every exit of a function in a large C++ or Rust file takes some 10 ms: only what may be measured next is worth it. */
#define WORTH_EXITS 0.05
#define WORK_NS 150000000ull /* of this thread, then the rest has no hint */

static bool wants_hint(const struct xp_hotspot *spot)
{
	const struct xp_frame *frame = spot->frame;

	return frame->kind == XP_FRAME_NATIVE && frame->symbol && frame->module_path && frame->function_offset.set;
}

static uint64_t worked_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

static bool worth_exits(const struct xp_hotspot *spot)
{
	return spot->exclusive_proportion >= WORTH_EXITS || spot->inclusive_proportion >= LARGE_SHARE;
}

static bool can_return(const struct xp_elf *elf, const struct xp_language *language, const struct xp_extent *function,
		       const struct xp_hotspot *spot)
{
	xp_auto_err refused = { 0 };
	uint64_t exits[XP_EXITS_MAX];
	size_t n;

	if (language->go && language->go_major == 1 && language->go_minor < 17)
		return false;
	if (!language->go && !language->cxx && !language->rust)
		return true; /* the kernel's return probe, wherever the entry can be probed */
	return worth_exits(spot) && !xp_code_exits(elf, function, exits, &n, &refused);
}

/* Functions are measured from their start; a part without a symbol of its own start, such as .cold, gives no hint. */
static void hint(const struct xp_elf *elf, const struct xp_language *language, struct xp_hotspot *spot, const struct xp_symbol *symbol,
		 struct xp_arena *arena)
{
	struct xp_extent function = { .start = symbol->address, .size = xp_symbols_size(elf, symbol), .symbol = *symbol };
	const char *path = spot->frame->module_path;
	uint64_t offset = spot->frame->function_offset.v, at;
	xp_auto_err refused = { 0 };
	bool go = language->go && language->go_major == 1 && language->go_minor >= 17 &&
		  (language->go_text_start == language->go_text_end ||
		   (symbol->address >= language->go_text_start && symbol->address < language->go_text_end));

	if (!symbol->name || symbol->ifunc || !function.size || !xp_elf_to_offset(elf, symbol->address, &at) || at != offset)
		return;
	if (xp_code_entry(elf, &function, go, &at, &refused))
		return;
	spot->entry_selector_hint = xp_arena_fmt(arena, "uprobe:%s:+0x%llx:entry", path, (unsigned long long)offset);
	if (can_return(elf, language, &function, spot))
		spot->return_selector_hint = xp_arena_fmt(arena, "uprobe:%s:+0x%llx:return", path, (unsigned long long)offset);
}

/* All hotspots of one file: its symbols are passed over once. */
static void hint_file(const struct xp_probe_file *file, struct xp_hotspot **spots, size_t n, uint64_t deadline, struct xp_arena *arena)
{
	struct xp_language language = xp_elf_language(file->elf);
	uint64_t vaddrs[XP_HINTED_HOTSPOTS];
	struct xp_symbol symbols[XP_HINTED_HOTSPOTS];
	size_t known = 0;

	for (size_t i = 0; i < n; i++) { /* by address, as the pass wants them */
		size_t at = known;
		uint64_t vaddr;

		if (!xp_elf_to_vaddr(file->elf, spots[i]->frame->function_offset.v, &vaddr))
			continue;
		struct xp_hotspot *spot = spots[i];
		for (; at && vaddrs[at - 1] > vaddr; at--) {
			vaddrs[at] = vaddrs[at - 1];
			spots[at] = spots[at - 1];
		}
		vaddrs[at] = vaddr;
		spots[at] = spot;
		known++;
	}
	xp_symbols_resolve(file->elf, vaddrs, known, symbols);
	for (size_t i = 0; i < known && worked_ns() < deadline; i++)
		hint(file->elf, &language, spots[i], &symbols[i], arena);
}

static size_t choose(struct xp_cpu_samples *value, struct xp_hotspot **ret_spots)
{
	size_t n = 0;

	for (size_t i = 0; i < value->inventory.n_hotspots && n < XP_HINTED_HOTSPOTS; i++) {
		struct xp_hotspot *spot = &value->inventory.hotspots[i];

		if (wants_hint(spot) && (i < XP_HINTED_FIRST || spot->inclusive_proportion >= LARGE_SHARE))
			ret_spots[n++] = spot;
	}
	return n;
}

void xp_cpu_hints(struct xp_target *target, struct xp_arena *arena, struct xp_cpu_samples *out)
{
	struct xp_hotspot *wanted[XP_HINTED_HOTSPOTS];
	uint64_t deadline = worked_ns() + WORK_NS;
	size_t n = choose(out, wanted);

	for (size_t i = 0; i < n; i++) {
		struct xp_hotspot *spots[XP_HINTED_HOTSPOTS];
		xp_auto_err refused = { 0 };
		struct xp_probe_file file;
		size_t same = 0;

		if (!wanted[i] || worked_ns() >= deadline)
			continue;
		const char *path = wanted[i]->frame->module_path;
		for (size_t j = i; j < n; j++) {
			if (!wanted[j] || strcmp(wanted[j]->frame->module_path, path) != 0)
				continue;
			spots[same++] = wanted[j];
			wanted[j] = NULL;
		}
		if (xp_probe_file_open(target, path, &file, &refused))
			continue; /* such as [vdso]: no selector names it */
		hint_file(&file, spots, same, deadline, arena);
		xp_probe_file_done(&file);
	}
}
