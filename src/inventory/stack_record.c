// SPDX-License-Identifier: Apache-2.0
/* Field table of a stack's frame. No state. */
#include "inventory/stack.h"

const char *const xp_frame_language_names[XP_LANGUAGE_COUNT] = {
	[XP_LANGUAGE_NATIVE] = "native",
	[XP_LANGUAGE_PYTHON] = "python",
	[XP_LANGUAGE_UNKNOWN] = "unknown",
};

static const struct xp_field fields[] = {
	XP_FIELD(xp_frame, address, U64, "address of the instruction; 0 for Python"),
	XP_FIELD(xp_frame, module_path, STR, "file it lies in, as the target's maps name it; null: in none", .flags = XP_NULLABLE),
	XP_FIELD(xp_frame, build_id, STR, "build id of that file; null: it has none", .flags = XP_NULLABLE),
	XP_FIELD(xp_frame, file_offset, OPT_U64, "where in that file"),
	XP_FIELD(xp_frame, symbol, STR, "function; Python: its qualified name; null: none is known", .flags = XP_NULLABLE),
	XP_FIELD(xp_frame, symbol_offset, OPT_U64, "distance from the function's start"),
	XP_FIELD_ENUM(xp_frame, language, xp_frame_language_names, "native for kernel frames too; unknown for code of a JIT"),
	XP_FIELD(xp_frame, source_path, STR, "Python: file of the code object; null: not Python", .flags = XP_NULLABLE),
	XP_FIELD(xp_frame, line, OPT_U32, "Python: line of the instruction; null: it has none, or not Python"),
	XP_FIELD_ENUM(xp_frame, kind, xp_frame_kind_names, "what kind of code"),
	XP_FIELD_FALSE("inlined", "inlined functions are not told apart"),
};
const struct xp_record xp_frame_record = XP_RECORD("Frame", xp_frame, fields, "one function of a stack");
