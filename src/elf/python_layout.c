// SPDX-License-Identifier: Apache-2.0
/*
 * Offsets inside CPython's structs. In: a release, and from 3.13 on the table that the runtime begins with (_Py_DebugOffsets). Out: the
 * layouts of struct xp_python. Numbers of 3.8 to 3.12 are offsetof of the public headers of GIL builds for x86-64. No state.
 */
#include "elf/python_priv.h"

enum { OLDEST = 8, FIRST_WITH_TABLE = 13, NEWEST = 14, FINAL = 0xf };

struct known {
	uint32_t minor;
	struct xp_python_layout walk;
	struct xp_python_objects objects;
};

/* What 3.8 and 3.9 share; 3.10 keeps f_lasti elsewhere and has another line table. */
#define OLD_WALK(next, head, lasti)                                                                                      \
	.interpreters_head = 32, .interp_next = 0, .interp_threads_head = head, .tstate_next = next, .tstate_frame = 24, \
	.tstate_thread_id = 176, .frame_back = 24, .frame_code = 32, .frame_instr = lasti, .instr_is_int = 1
#define OLD_OBJECTS(format)                                                                                                  \
	.object_type = 8, .type_name = 24, .interp_of_tstate = 16, .file = 104, .name = 112, .first_line = 40, .lines = 120, \
	.bytes_size = 16, .bytes_data = 32, .text_length = 16, .text_state = 32, .text_ascii = 48, .text_compact = 72,       \
	.line_format = format

static const struct known known[] = {
	{ 8, { OLD_WALK(8, 8, 104) }, { OLD_OBJECTS(XP_PYTHON_LNOTAB) } },
	{ 9, { OLD_WALK(8, 8, 104) }, { OLD_OBJECTS(XP_PYTHON_LNOTAB) } },
	{ 10, { OLD_WALK(8, 8, 96) }, { OLD_OBJECTS(XP_PYTHON_LINETABLE) } },
	{ 11,
	  { .interpreters_head = 40,
	    .interp_threads_head = 16,
	    .tstate_next = 8,
	    .tstate_frame = 56,
	    .tstate_thread_id = 152,
	    .tstate_native_id = 160,
	    .has_cframe = 1,
	    .cframe_frame = 8,
	    .frame_back = 48,
	    .frame_code = 32,
	    .frame_instr = 56,
	    .frame_owner = 69,
	    .has_owner = 1,
	    .frame_is_entry = 68,
	    .has_is_entry = 1 },
	  { .object_type = 8,
	    .type_name = 24,
	    .interp_of_tstate = 16,
	    .file = 112,
	    .name = 120,
	    .qualname = 128,
	    .first_line = 72,
	    .lines = 136,
	    .bytecode = 184,
	    .bytes_size = 16,
	    .bytes_data = 32,
	    .text_length = 16,
	    .text_state = 32,
	    .text_ascii = 48,
	    .text_compact = 72,
	    .line_format = XP_PYTHON_LOCATIONS } },
	{ 12,
	  { .interpreters_head = 40,
	    .interp_threads_head = 72,
	    .tstate_next = 8,
	    .tstate_frame = 56,
	    .tstate_thread_id = 136,
	    .tstate_native_id = 144,
	    .has_cframe = 1,
	    .frame_back = 8,
	    .frame_instr = 56,
	    .frame_owner = 70,
	    .has_owner = 1 },
	  { .object_type = 8,
	    .type_name = 24,
	    .interp_of_tstate = 16,
	    .file = 112,
	    .name = 120,
	    .qualname = 128,
	    .first_line = 68,
	    .lines = 136,
	    .bytecode = 192,
	    .bytes_size = 16,
	    .bytes_data = 32,
	    .text_length = 16,
	    .text_state = 32,
	    .text_ascii = 40,
	    .text_compact = 56,
	    .line_format = XP_PYTHON_LOCATIONS } },
};

/* One offset that the runtime publishes: where it stands (3.13, 3.14), the size word of its group, and where it goes. */
struct published {
	uint16_t at[NEWEST - FIRST_WITH_TABLE + 1], group[NEWEST - FIRST_WITH_TABLE + 1];
	uint16_t width;	 /* bytes of the member that it leads to */
	bool in_objects; /* else in the walk's layout */
	uint16_t member;
};
#define WALK(a, b, group_a, group_b, bytes, field)                                                     \
	{                                                                                              \
		{ a, b }, { group_a, group_b }, bytes, false, offsetof(struct xp_python_layout, field) \
	}
#define OBJECT(a, b, group_a, group_b, bytes, field)                                                   \
	{                                                                                              \
		{ a, b }, { group_a, group_b }, bytes, true, offsetof(struct xp_python_objects, field) \
	}

static const struct published published[] = {
	WALK(40, 40, 24, 24, 8, interpreters_head),
	WALK(64, 64, 48, 48, 8, interp_next),
	WALK(72, 72, 48, 48, 8, interp_threads_head),
	WALK(168, 192, 152, 176, 8, tstate_next),
	OBJECT(176, 200, 152, 176, 8, interp_of_tstate),
	WALK(184, 208, 152, 176, 8, tstate_frame),
	WALK(192, 216, 152, 176, 8, tstate_thread_id),
	WALK(200, 224, 152, 176, 8, tstate_native_id),
	WALK(232, 256, 224, 248, 8, frame_back),
	WALK(240, 264, 224, 248, 8, frame_code),
	WALK(248, 272, 224, 248, 8, frame_instr),
	WALK(264, 288, 224, 248, 1, frame_owner),
	OBJECT(280, 320, 272, 312, 8, file),
	OBJECT(288, 328, 272, 312, 8, name),
	OBJECT(296, 336, 272, 312, 8, qualname),
	OBJECT(304, 344, 272, 312, 8, lines),
	OBJECT(312, 352, 272, 312, 4, first_line),
	OBJECT(344, 384, 272, 312, 1, bytecode),
	OBJECT(360, 408, 352, 400, 8, object_type),
	OBJECT(376, 424, 368, 416, 8, type_name),
	OBJECT(520, 600, 512, 592, 8, bytes_size),
	OBJECT(528, 608, 512, 592, 1, bytes_data),
	OBJECT(544, 624, 536, 616, 4, text_state),
	OBJECT(552, 632, 536, 616, 8, text_length),
};
enum { ASCII_SIZE_313 = 560, ASCII_SIZE_314 = 640, TABLE_BYTES = 648, COMPACT_EXTRA = 16, GROUP_SIZE_MAX = 1 << 20 };

static uint64_t word_at(const unsigned char *table, size_t at)
{
	uint64_t word;

	memcpy(&word, table + at, sizeof(word));
	return word;
}

static bool take_published(struct xp_python *python, const unsigned char *table, size_t column)
{
	for (size_t i = 0; i < XP_LEN(published); i++) {
		const struct published *word = &published[i];
		uint64_t offset = word_at(table, word->at[column]), size = word_at(table, word->group[column]);
		bool inside = size <= GROUP_SIZE_MAX && offset <= size && word->width <= size - offset;
		uint32_t value = (uint32_t)offset;

		if (!inside)
			return false;
		memcpy((char *)(word->in_objects ? (void *)&python->objects : (void *)&python->layout) + word->member, &value,
		       sizeof(value));
	}
	return true;
}

static bool refuse(struct xp_python *python, const struct xp_python_release *release, const char *what)
{
	python->why = xp_arena_fmt(python->arena, "CPython %s %s", xp_python_release_text(python->arena, release), what);
	return false;
}

/* From 3.13 on: the release inside the table is compared too, so that a runtime that is not set up yet is told from a strange one. */
static bool lay_out_published(struct xp_python *python, const struct xp_python_release *release)
{
	unsigned char table[TABLE_BYTES];
	size_t column = release->minor - FIRST_WITH_TABLE;

	if (!xp_python_peek(python, python->place.runtime, table, sizeof(table)))
		return refuse(python, release, "cannot be read in memory");
	if (memcmp(table, "xdebugpy", 8) != 0)
		return refuse(python, release, "does not begin with its table of offsets; a patched build");
	uint64_t hex = word_at(table, 8);
	if (hex >> 24 != release->major || (hex >> 16 & 255) != release->minor || (hex >> 4 & 15) != FINAL)
		return refuse(python, release, "has the table of offsets of another release");
	if (word_at(table, 16))
		return refuse(python, release, "is a free-threaded build, whose frames are not read");
	uint64_t ascii = word_at(table, column ? ASCII_SIZE_314 : ASCII_SIZE_313);
	if (!take_published(python, table, column) || ascii > GROUP_SIZE_MAX)
		return refuse(python, release, "has a damaged table of offsets");
	python->layout.has_owner = 1;
	python->layout.code_tag_mask = release->minor >= 14 ? 3 : 0;
	python->objects.text_ascii = (uint32_t)ascii;
	python->objects.text_compact = (uint32_t)ascii + COMPACT_EXTRA; /* length and pointer of the UTF-8 copy */
	python->objects.line_format = XP_PYTHON_LOCATIONS;
	return true;
}

/* First line, path, names and line table follow each other in all builds, and what lies between them is as constant as they are. */
static bool lay_out_identity(struct xp_python *python)
{
	const struct xp_python_objects *objects = &python->objects;
	struct xp_python_layout *layout = &python->layout;

	layout->code_start = objects->first_line & ~7u;
	layout->code_bytes = objects->lines + 8 - layout->code_start;
	layout->code_name = objects->qualname ? objects->qualname : objects->name;
	layout->code_file = objects->file;
	layout->text_length = objects->text_length;
	layout->text_data = objects->text_ascii;
	return layout->code_start < layout->code_file && layout->code_file < layout->code_name && layout->code_name < objects->lines &&
	       layout->code_bytes <= XP_PYTHON_HEAD_MAX;
}

bool xp_python_lay_out(struct xp_python *python, const struct xp_python_release *release)
{
	if (release->major != 3 || release->minor < OLDEST || release->minor > NEWEST)
		return refuse(python, release, "is not among the known releases, 3.8 to 3.14");
	if (release->level != FINAL)
		return refuse(python, release, "is a pre-release, whose layout may differ from the release's");
	if (release->minor >= FIRST_WITH_TABLE) {
		if (!lay_out_published(python, release))
			return false;
	} else {
		python->layout = known[release->minor - OLDEST].walk;
		python->objects = known[release->minor - OLDEST].objects;
	}
	if (!lay_out_identity(python) || xp_python_code_bytes(&python->objects) > XP_PYTHON_CODE_BYTES_MAX ||
	    xp_python_frame_bytes(&python->layout) > XP_PYTHON_FRAME_BYTES_MAX)
		return refuse(python, release, "has larger frames or code objects than any known build");
	python->layout.version = release->major << 8 | release->minor;
	python->layout.runtime = python->place.runtime;
	return true;
}
