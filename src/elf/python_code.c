// SPDX-License-Identifier: Apache-2.0
/*
 * Code objects. In: frames as they were taken. Out: names and lines. State: codes and lines of struct xp_python, checked against the
 * target's memory at every use, since a code object can be freed and another one take its place.
 */
#include <stdlib.h>
#include <sys/uio.h>

#include "elf/python_priv.h"

enum {
	BATCH = 64,
	NAME_CHARS = 256,
	PATH_CHARS = 1024,
	TABLE_BYTES_MAX = 1 << 20,
	TABLE_BYTES_QUICK = 2048,
	LINES_MAX = 1 << 18,
	POOL_BYTES_MAX = 1 << 14
};

/* Members that tell one code object from another at the same address. */
struct head {
	uint64_t type, file, name, qualname, lines;
	uint64_t units; /* 2-byte instructions; 0 before 3.11 */
	uint32_t first_line;
	bool alive;
};

struct code {
	struct head head;
	uint64_t address;
	const char *qualname, *path;
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

/*
 * A freed object keeps most of its words, so a dead code object looks right while its texts are others' already. The count of references
 * tells: it ends at 0, and CPython's allocator puts the address of the next free block of the same pool there.
 */
static bool is_alive(uint64_t references, uint64_t address)
{
	return references && (references > address ? references - address : address - references) > POOL_BYTES_MAX;
}

static struct head parse_head(const struct xp_python_objects *objects, uint64_t address, const unsigned char *bytes)
{
	struct head head = {
		.alive = is_alive(word_at(bytes, 0), address),
		.units = objects->bytecode ? word_at(bytes, objects->bytes_size) : 0,
		.type = word_at(bytes, objects->object_type),
		.file = word_at(bytes, objects->file),
		.name = word_at(bytes, objects->name),
		.qualname = objects->qualname ? word_at(bytes, objects->qualname) : 0,
		.lines = word_at(bytes, objects->lines),
	};

	memcpy(&head.first_line, bytes + objects->first_line, sizeof(head.first_line));
	return head;
}

static bool same_head(const struct head *a, const struct head *b)
{
	return a->type == b->type && a->file == b->file && a->name == b->name && a->qualname == b->qualname && a->lines == b->lines &&
	       a->units == b->units && a->first_line == b->first_line;
}

static bool peek_head(const struct xp_python *python, uint64_t address, struct head *ret_head)
{
	unsigned char bytes[XP_PYTHON_CODE_BYTES_MAX];

	if (!xp_python_peek(python, address, bytes, xp_python_code_bytes(&python->objects)))
		return false;
	*ret_head = parse_head(&python->objects, address, bytes);
	return ret_head->alive;
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

/* Reads the texts of a code object that is not known yet, or is another one now. NULL: it went away meanwhile, or there are too many. */
static struct code *read_code(struct xp_python *python, uint64_t address, const struct head *head)
{
	struct head again;

	if (python->n_codes == XP_PYTHON_CODES_MAX)
		return NULL;
	const char *path = xp_python_text(python, head->file, PATH_CHARS);
	const char *qualname = xp_python_text(python, head->qualname ? head->qualname : head->name, NAME_CHARS);
	if (!path || !qualname || !peek_head(python, address, &again) || !same_head(head, &again))
		return NULL;
	struct code *code = xp_arena_new_of(python->arena, struct code);
	*code = (struct code){ .head = *head, .address = address, .qualname = qualname, .path = path, .id = python->n_codes++ };
	code->hidden = head->file == head->name; /* static code objects of the interpreter have one text for both */
	return code;
}

static struct code *find_code(struct xp_python *python, uint64_t address, const struct head *head)
{
	bool new;
	const uint64_t *known = xp_map_find(&python->codes, address, NULL, NULL);
	struct code *code = known ? (struct code *)(uintptr_t)*known : NULL;

	if (!head->alive)
		return NULL;
	if (code && same_head(&code->head, head))
		return code;
	if (!is_code_type(python, head->type))
		return NULL;
	code = read_code(python, address, head);
	if (code)
		*xp_map_at(&python->codes, address, NULL, NULL, &new) = (uintptr_t)code;
	return code;
}

/* Distance in bytes from the start of the bytecode, negative before the first instruction. */
static int64_t offset_of(const struct xp_python *python, const struct code *code, uint64_t instr)
{
	if (python->objects.bytecode)
		return (int64_t)(instr - (code->address + python->objects.bytecode));
	return (int64_t)instr * (python->objects.line_format == XP_PYTHON_LINETABLE ? 2 : 1);
}

/* An instruction of the code object at all; the one before the first means that it has not begun. */
static bool is_inside(const struct code *code, int64_t offset)
{
	return !code->head.units || (offset >= -2 && offset < 2 * (int64_t)(code->head.units & INT32_MAX));
}

static bool decode_line(const struct xp_python *python, const struct code *code, int64_t offset, uint32_t *ret_line)
{
	unsigned char quick[TABLE_BYTES_QUICK];
	void *table = quick;
	xp_auto(xp_free) void *large = NULL;
	uint64_t size;
	struct head again;

	if (!xp_python_peek_word(python, code->head.lines + python->objects.bytes_size, &size) || size > TABLE_BYTES_MAX)
		return false;
	if (size > sizeof(quick))
		table = large = malloc(size);
	return table && xp_python_peek(python, code->head.lines + python->objects.bytes_data, table, size) &&
	       peek_head(python, code->address, &again) && same_head(&code->head, &again) &&
	       xp_python_line(python->objects.line_format, table, size, code->head.first_line, offset, ret_line);
}

/* The map's value: the line above bit 0, which says that there is one. */
static struct xp_opt_u32 find_line(struct xp_python *python, const struct code *code, uint64_t instr)
{
	struct xp_opt_u32 line = { 0 };
	uint64_t key = (uint64_t)code->id << 48 | (instr & ((1ull << 48) - 1));
	bool new;

	if (python->lines.n >= LINES_MAX)
		xp_map_clear(&python->lines);
	uint64_t *slot = xp_map_at(&python->lines, key, NULL, NULL, &new);
	if (new &&decode_line(python, code, offset_of(python, code, instr), &line.v))
		*slot = (uint64_t)line.v << 1 | 1;
	line.set = *slot & 1;
	line.v = (uint32_t)(*slot >> 1);
	return line;
}

static bool fill_frame(struct xp_python *python, const struct xp_rec_python_frame *frame, const struct head *head,
		       struct xp_python_frame *ret_frame)
{
	struct code *code = find_code(python, xp_python_code_of(frame), head);

	if (!code || !is_inside(code, offset_of(python, code, frame->instr)))
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

/* The heads of all code objects at once: one system call for up to BATCH frames. */
static bool peek_heads(const struct xp_python *python, const struct xp_rec_python_frame *frames, size_t n, unsigned char *bytes)
{
	size_t each = xp_python_code_bytes(&python->objects), wanted = 0;
	struct iovec local = { bytes, 0 }, remote[BATCH];

	for (size_t i = 0; i < n; i++)
		if (!xp_python_is_shim(python, &frames[i]))
			remote[wanted++] = (struct iovec){ (void *)(uintptr_t)xp_python_code_of(&frames[i]), each };
	local.iov_len = wanted * each;
	return !wanted || process_vm_readv((pid_t)xp_target_pid(python->target), &local, 1, remote, wanted, 0) == (ssize_t)local.iov_len;
}

static bool read_batch(struct xp_python *python, const struct xp_rec_python_frame *frames, size_t n, struct xp_python_frame *ret_frames)
{
	unsigned char bytes[BATCH * XP_PYTHON_CODE_BYTES_MAX];
	const unsigned char *at = bytes;

	if (!peek_heads(python, frames, n, bytes))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (xp_python_is_shim(python, &frames[i])) {
			ret_frames[i] = (struct xp_python_frame){ .shim = true };
			continue;
		}
		struct head head = parse_head(&python->objects, xp_python_code_of(&frames[i]), at);
		if (!fill_frame(python, &frames[i], &head, &ret_frames[i]))
			return false;
		at += xp_python_code_bytes(&python->objects);
	}
	return true;
}

bool xp_python_frames_read(struct xp_python *python, const struct xp_rec_python_frame *frames, size_t n, struct xp_python_frame *ret_frames)
{
	for (size_t i = 0; i < n; i += BATCH)
		if (!read_batch(python, frames + i, n - i < BATCH ? n - i : BATCH, ret_frames + i))
			return false;
	return true;
}

bool xp_python_frame_read(struct xp_python *python, const struct xp_rec_python_frame *frame, struct xp_python_frame *ret_frame)
{
	return xp_python_frames_read(python, frame, 1, ret_frame);
}
