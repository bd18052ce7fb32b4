/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses to names, all of a batch at once: one unsorted pass over the symbols of each file that holds one of them, perf maps for
 * JIT code, kallsyms for the kernel. Demangles nothing; that is for what gets printed (elf/demangle.h).
 */
#ifndef XP_ELF_SYMBOLIZE_H
#define XP_ELF_SYMBOLIZE_H

#include "target/target.h"

enum xp_frame_kind { XP_FRAME_NATIVE, XP_FRAME_PYTHON, XP_FRAME_KERNEL, XP_FRAME_JIT, XP_FRAME_UNKNOWN, XP_FRAME_KIND_COUNT };
extern const char *const xp_frame_kind_names[XP_FRAME_KIND_COUNT];

struct xp_symbolized {
	uint64_t address;
	enum xp_frame_kind kind;
	const char *module_path, *build_id; /* NULL: not in a file */
	struct xp_opt_u64 file_offset;	    /* of the address */
	const char *symbol;		    /* ELF name, perf-map name or kernel symbol; NULL: unknown */
	struct xp_opt_u64 symbol_offset;    /* address - start of the symbol */
	struct xp_opt_u64 function_offset;  /* file offset of the function's start, also without a name (from its FDE) */
};

struct xp_symbolizer;

/* Borrows the target. deadline_ns: CLOCK_MONOTONIC, 0 = none; behind it addresses stay module+offset. */
int xp_symbolizer_new(struct xp_target *target, uint64_t deadline_ns, struct xp_symbolizer **ret_symbolizer, struct xp_err *reterr);
void xp_symbolizer_free(struct xp_symbolizer *symbolizer);
XP_DEFINE_AUTO(struct xp_symbolizer *, xp_symbolizer_free);

/* Resolves n distinct addresses (any order); ret[i] belongs to addresses[i]. Strings live as long as the symbolizer. */
int xp_symbolize(struct xp_symbolizer *symbolizer, const uint64_t *addresses, size_t n, struct xp_symbolized *ret, struct xp_err *reterr);

struct xp_symbolize_account {
	bool deadline_reached, kernel_readable;
	uint64_t perf_map_lines, perf_map_broken_lines;
	const char *const *missing; /* files that could not be opened or were replaced */
	size_t n_missing;
};
struct xp_symbolize_account xp_symbolizer_account(const struct xp_symbolizer *symbolizer);

#endif
