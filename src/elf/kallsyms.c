/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel symbols, read once for all addresses. In: the text of /proc/kallsyms. Out: the function that each address lies in. No state. */
#include "elf/kallsyms.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The kernel's names are below 512 bytes (KSYM_NAME_LEN). No function comes near REACH: what lies further off is in a gap. */
enum { CHUNK = 64 * 1024, NAME_BYTES = 600, REACH = 1 << 20 };

/* The nearest symbol at or below one address, and the rest of its line. */
struct slot {
	uint64_t start;
	char type;
	bool found;
	char name[NAME_BYTES];
};

struct scan {
	const uint64_t *addresses;
	size_t n;
	struct slot *slots;
	bool readable;
};

static bool is_code(char type)
{
	return memchr("tTwW", type, 4);
}

/* Of several at one address, code before data, then global before local, then the first. */
static bool better(uint64_t start, char type, const struct slot *than)
{
	if (!than->found || start != than->start)
		return !than->found || start > than->start;
	if (is_code(type) != is_code(than->type))
		return is_code(type);
	return type == 'T' && than->type != 'T';
}

/* Cuts the line in place. */
static void take_line(struct scan *scan, char *line, size_t len)
{
	uint64_t start = 0;
	size_t i = 0;

	for (; i < len && i < 16 && xp_hex_digit(line[i]) >= 0; i++)
		start = start << 4 | (uint64_t)xp_hex_digit(line[i]);
	if (i + 3 >= len || line[i] != ' ' || line[i + 2] != ' ' || line[i + 3] == '\t' || memchr(line, '\0', len))
		return;
	scan->readable |= start;
	size_t at = xp_first_from(scan->addresses, scan->n, start), size = len - (i + 3);
	struct slot *slot = &scan->slots[at];
	if (!start || at == scan->n || size >= NAME_BYTES || !better(start, line[i + 1], slot))
		return;
	slot->start = start;
	slot->type = line[i + 1];
	slot->found = true;
	memcpy(slot->name, line + i + 3, size);
	slot->name[size] = '\0';
}

/* Takes the whole lines in `text`; returns how many bytes of the last one are left, moved to the front. */
static size_t take_lines(struct scan *scan, char *text, size_t len)
{
	char *line = text, *end = text + len, *stop;

	while ((stop = memchr(line, '\n', (size_t)(end - line)))) {
		take_line(scan, line, (size_t)(stop - line));
		line = stop + 1;
	}
	size_t rest = (size_t)(end - line);
	memmove(text, line, rest);
	return rest;
}

static bool read_all(struct scan *scan, int fd)
{
	char text[CHUNK];
	size_t rest = 0;

	for (;;) {
		ssize_t n = read(fd, text + rest, sizeof(text) - rest);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return !n && scan->readable;
		rest = take_lines(scan, text, rest + (size_t)n);
		if (rest == sizeof(text))
			return false; /* a line that is none of the kernel's */
	}
}

/* "name<TAB>[module]" */
static void hand_out(struct slot *slot, uint64_t address, struct xp_arena *arena, struct xp_code_name *ret_name)
{
	*ret_name = (struct xp_code_name){ 0 };
	if (!slot->found || !is_code(slot->type) || address - slot->start > REACH)
		return;
	char *tab = strchr(slot->name, '\t');
	if (tab)
		*tab = '\0';
	*ret_name = (struct xp_code_name){
		.start = slot->start,
		.name = xp_arena_str(arena, slot->name),
		.module = tab ? xp_arena_str(arena, tab + 1) : NULL,
	};
	if (tab)
		*tab = '\t'; /* the next address may lie in the same function */
}

bool xp_kallsyms_resolve(int fd, const uint64_t *addresses, size_t n, struct xp_arena *arena, struct xp_code_name *ret_names)
{
	xp_auto(xp_arena_free) struct xp_arena *scratch = xp_arena_new();
	struct scan scan = { .addresses = addresses, .n = n, .slots = xp_arena_array(scratch, struct slot, n + 1) };
	bool readable = fd >= 0 && read_all(&scan, fd);

	for (size_t i = 0; i < n; i++) {
		if (i && scan.slots[i - 1].found && better(scan.slots[i - 1].start, scan.slots[i - 1].type, &scan.slots[i]))
			scan.slots[i] = scan.slots[i - 1];
		if (readable)
			hand_out(&scan.slots[i], addresses[i], arena, &ret_names[i]);
		else
			ret_names[i] = (struct xp_code_name){ 0 };
	}
	return readable;
}
