// SPDX-License-Identifier: Apache-2.0
/*
 * Code objects. In: frames as they were taken. Out: names and lines. State: codes and lines of struct xp_python. A code object can be freed
 * and another one take its place before it is read, so what is read counts only if it has the mark that the frame was taken with.
 */
#include <stdlib.h>

#include "elf/python_identity.h"

enum {
	NAME_CHARS = 256,
	PATH_CHARS = 1024,
	TABLE_BYTES_MAX = 1 << 20,
	TABLE_BYTES_KEPT = 1 << 16,
	TABLES_BYTES_KEPT = 8 << 20,
	LINES_MAX = 1 << 18,
	POOL_BYTES_MAX = 1 << 14
};

struct head {
	uint64_t type, file, name, qualname, lines;
	uint64_t units; /* 2-byte instructions; 0 before 3.11 */
	uint32_t first_line;
};

struct code {
	uint64_t address;
	uint32_t mark;
	struct head head;
	const char *qualname, *path;
	const unsigned char *table; /* lines; NULL: read when they are asked for */
	size_t table_bytes;
	uint32_t id;
	bool hidden;
};

uint32_t xp_python_code_bytes(const struct xp_python_objects *objects)
{
	const uint32_t ends[] = { objects->object_type + 8, objects->file + 8,	objects->name + 8,
				  objects->qualname + 8,    objects->lines + 8, objects->first_line + 4 };
	uint32_t bytes = 0;

	for (size_t i = 0; i < XP_LEN(ends); i++)
		if (ends[i] > bytes)
			bytes = ends[i];
	return bytes;
}

static uint64_t word_at(const unsigned char *bytes, uint32_t at)
{
	uint64_t word;

	memcpy(&word, bytes + at, sizeof(word));
	return word;
}

static bool peek_head(const struct xp_python *python, uint64_t address, struct head *ret_head)
{
	const struct xp_python_objects *objects = &python->objects;
	unsigned char bytes[XP_PYTHON_CODE_BYTES_MAX];

	if (!xp_python_peek(python, address, bytes, xp_python_code_bytes(objects)))
		return false;
	*ret_head = (struct head){
		.units = objects->bytecode ? word_at(bytes, objects->bytes_size) : 0,
		.type = word_at(bytes, objects->object_type),
		.file = word_at(bytes, objects->file),
		.name = word_at(bytes, objects->name),
		.qualname = objects->qualname ? word_at(bytes, objects->qualname) : 0,
		.lines = word_at(bytes, objects->lines),
	};
	memcpy(&ret_head->first_line, bytes + objects->first_line, sizeof(ret_head->first_line));
	return true;
}

/* Is the object with this mark still, or again, or nearly what it was? */
static bool is_unchanged(const struct xp_python *python, uint64_t address, uint32_t mark)
{
	uint32_t now;

	return xp_python_identify(python, &address, 1, &now) && now == mark;
}

/*
 * A freed object keeps most of its words, and nothing marks the line table that was its. The count of references tells: it ends at 0, and
 * CPython's allocator puts the address of the next free block of the same pool there.
 */
static bool is_alive(const struct xp_python *python, uint64_t address)
{
	uint64_t references;

	return xp_python_peek_word(python, address, &references) && references &&
	       (references > address ? references - address : address - references) > POOL_BYTES_MAX;
}

static bool is_code_type(struct xp_python *python, uint64_t type)
{
	uint64_t name;
	char text[5];

	if (python->code_type)
		return type == python->code_type;
	if (!xp_python_peek_word(python, type + python->objects.type_name, &name) || !xp_python_peek(python, name, text, sizeof(text)) ||
	    memcmp(text, "code", sizeof(text)) != 0)
		return false;
	python->code_type = type;
	return true;
}

bool xp_python_is_code(struct xp_python *python, uint64_t address)
{
	uint64_t type;

	return address && xp_python_peek_word(python, address + python->objects.object_type, &type) && is_code_type(python, type);
}

/* The line table, behind which the caller looks whether the object is still there. NULL: it can't be read. Returns owned. */
static void *read_table(const struct xp_python *python, const struct head *head, size_t *ret_bytes)
{
	xp_auto(xp_free) void *table = NULL;
	uint64_t size;

	if (!xp_python_peek_word(python, head->lines + python->objects.bytes_size, &size) || size > TABLE_BYTES_MAX)
		return NULL;
	table = malloc(size + 1); /* a function of one line may have an empty one */
	if (!table || (size && !xp_python_peek(python, head->lines + python->objects.bytes_data, table, size)))
		return NULL;
	*ret_bytes = size;
	return xp_steal(&table);
}

/* Large tables, and those beyond the memory that all may take, are read again for each line. */
static void keep_table(struct xp_python *python, struct code *code, const void *table, size_t bytes)
{
	if (bytes > TABLE_BYTES_KEPT || python->table_bytes + bytes > TABLES_BYTES_KEPT)
		return;
	python->table_bytes += bytes;
	code->table = memcpy(xp_arena_array(python->arena, unsigned char, bytes + 1), table, bytes);
	code->table_bytes = bytes;
}

/* Reads a code object that is not known yet. NULL: it is gone, or there are too many. */
static struct code *read_code(struct xp_python *python, uint64_t address, uint32_t mark)
{
	struct head head;
	size_t bytes = 0;

	if (python->n_codes == XP_PYTHON_CODES_MAX || !peek_head(python, address, &head) || !is_code_type(python, head.type))
		return NULL;
	const char *path = xp_python_text(python, head.file, PATH_CHARS);
	const char *qualname = xp_python_text(python, head.qualname ? head.qualname : head.name, NAME_CHARS);
	xp_auto(xp_free) void *table = read_table(python, &head, &bytes);
	bool alive = is_alive(python, address);
	if (!path || !qualname || !is_unchanged(python, address, mark))
		return NULL;
	struct code *code = xp_arena_new_of(python->arena, struct code);
	*code = (struct code){ .address = address, .mark = mark, .head = head, .qualname = qualname, .path = path };
	code->id = python->n_codes++;
	code->hidden = head.file == head.name; /* static code objects of the interpreter have one text for both */
	if (alive && table)
		keep_table(python, code, table, bytes);
	return code;
}

struct code_query {
	uint64_t address;
	uint32_t mark;
};

static bool same_code(uint64_t value, const void *arg)
{
	const struct code *code = (const struct code *)(uintptr_t)value;
	const struct code_query *query = arg;

	return code->address == query->address && code->mark == query->mark;
}

static struct code *find_code(struct xp_python *python, uint64_t address, uint32_t mark)
{
	struct code_query query = { address, mark };
	uint64_t key = xp_hash_mix(address) ^ mark;
	bool new;
	const uint64_t *known = xp_map_find(&python->codes, key, same_code, &query);

	if (known)
		return (struct code *)(uintptr_t)*known;
	struct code *code = read_code(python, address, mark);

	if (code)
		*xp_map_at(&python->codes, key, same_code, &query, &new) = (uintptr_t)code;
	return code;
}

/* Distance in bytes from the start of the bytecode, negative before the first instruction. */
static int64_t offset_of(const struct xp_python *python, int32_t instr)
{
	if (python->objects.bytecode)
		return (int64_t)instr - python->objects.bytecode;
	return (int64_t)instr * (python->objects.line_format == XP_PYTHON_LINETABLE ? 2 : 1);
}

/* An instruction of the code object at all; the one before the first means that it has not begun. */
static bool is_inside(const struct code *code, int64_t offset)
{
	return !code->head.units || (offset >= -2 && offset < 2 * (int64_t)(code->head.units & INT32_MAX));
}

static bool decode_line(const struct xp_python *python, const struct code *code, int64_t offset, uint32_t *ret_line)
{
	xp_auto(xp_free) void *read = NULL;
	const void *table = code->table;
	size_t bytes = code->table_bytes;

	if (!table) {
		table = read = read_table(python, &code->head, &bytes);
		if (!table || !is_alive(python, code->address) || !is_unchanged(python, code->address, code->mark))
			return false;
	}
	return xp_python_line(python->objects.line_format, table, bytes, code->head.first_line, offset, ret_line);
}

/* The map's value: the line above bit 0, which says that there is one. */
static struct xp_opt_u32 find_line(struct xp_python *python, const struct code *code, int32_t instr)
{
	struct xp_opt_u32 line = { 0 };
	uint64_t key = (uint64_t)code->id << 32 | (uint32_t)instr;
	bool new;

	if (python->lines.n >= LINES_MAX)
		xp_map_clear(&python->lines);
	uint64_t *slot = xp_map_at(&python->lines, key, NULL, NULL, &new);
	if (new &&decode_line(python, code, offset_of(python, instr), &line.v))
		*slot = (uint64_t)line.v << 1 | 1;
	line.set = *slot & 1;
	line.v = (uint32_t)(*slot >> 1);
	return line;
}

bool xp_python_frame_read(struct xp_python *python, const struct xp_rec_python_frame *frame, struct xp_python_frame *ret_frame)
{
	if (xp_python_is_shim(python, frame)) {
		*ret_frame = (struct xp_python_frame){ .shim = true };
		return true;
	}
	struct code *code = find_code(python, xp_python_code_of(frame), frame->mark);

	if (!code || !is_inside(code, offset_of(python, frame->instr)))
		return false;
	*ret_frame = (struct xp_python_frame){
		.qualname = code->qualname,
		.source_path = code->path,
		.entry = python->layout.version < 0x030b || (python->layout.version == 0x030b && XP_PYTHON_IS_ENTRY(frame->code)),
		.hidden = code->hidden,
	};
	if (!code->hidden)
		ret_frame->line = find_line(python, code, frame->instr);
	return true;
}

bool xp_python_frames_read(struct xp_python *python, const struct xp_rec_python_frame *frames, size_t n, struct xp_python_frame *ret_frames)
{
	for (size_t i = 0; i < n; i++)
		if (!xp_python_frame_read(python, &frames[i], &ret_frames[i]))
			return false;
	return true;
}
