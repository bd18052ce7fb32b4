/* SPDX-License-Identifier: Apache-2.0 */
/* A mixed stack (native, Python, kernel) as inventories hold and print it: contract 10.8 `Frame`. */
#ifndef XP_INVENTORY_STACK_H
#define XP_INVENTORY_STACK_H

#include "elf/python.h"
#include "elf/symbolize.h"

enum xp_frame_language { XP_LANGUAGE_NATIVE, XP_LANGUAGE_PYTHON, XP_LANGUAGE_UNKNOWN, XP_LANGUAGE_COUNT };
extern const char *const xp_frame_language_names[XP_LANGUAGE_COUNT];

struct xp_frame {
	uint64_t address; /* 0 for Python */
	const char *module_path, *build_id;
	struct xp_opt_u64 file_offset;
	const char *symbol;
	struct xp_opt_u64 symbol_offset;
	int language; /* native, python, unknown */
	const char *source_path;
	struct xp_opt_u32 line;
	int kind;			   /* enum xp_frame_kind */
	struct xp_opt_u64 function_offset; /* not written: file offset of the function's start, for selector hints */
};
extern const struct xp_record xp_frame_record; /* "Frame" */

#endif
