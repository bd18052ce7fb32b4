/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telling a switch from a tail call. In: a decoded body. Out: what each indirect jump is. No state.
 * Labels are visible inside their function only, so an indirect jump can stay inside only where the body refers to a table of its own
 * labels (or to a label itself). A jump right behind such a reference is a switch; where a body refers to none, every indirect jump leaves
 * it.
 */
#include <string.h>

#include "elf/code_priv.h"
#include "elf/reloc.h"

enum { TABLE_PROBES = 16, LOOK_BACK = 48 };

/* 8-byte addresses: two entries in a row that are instructions of the body. Compilers may fold an offset in, so not only the first two. */
static bool wide_table(const struct xp_code_body *body, uint64_t table)
{
	int run = 0;

	for (uint64_t i = 0; i < TABLE_PROBES && run < 2; i++) {
		const unsigned char *bytes = xp_elf_at(body->elf, table + 8 * i, 8);
		uint64_t value;

		if (!bytes)
			return false;
		memcpy(&value, bytes, sizeof(value));
		if (!value && i < 2)
			xp_elf_pointer_at(body->elf, table + 8 * i, &value);
		run = value && xp_code_boundary(body, value) ? run + 1 : 0;
	}
	return run == 2;
}

/* 4-byte distances from the table to the label. */
static bool narrow_table(const struct xp_code_body *body, uint64_t table)
{
	int run = 0;

	for (uint64_t i = 0; i < TABLE_PROBES && run < 2; i++) {
		const unsigned char *bytes = xp_elf_at(body->elf, table + 4 * i, 4);
		int32_t distance;

		if (!bytes)
			return false;
		memcpy(&distance, bytes, sizeof(distance));
		run = distance && xp_code_boundary(body, table + (uint64_t)(int64_t)distance) ? run + 1 : 0;
	}
	return run == 2;
}

static bool needs_tables(const struct xp_code_body *body)
{
	for (size_t i = 0; i < body->n; i++)
		if (body->nodes[i].insn.flow == XP_FLOW_INDIRECT && !body->nodes[i].insn.reads_slot)
			return true;
	return false;
}

void xp_code_mark_tables(struct xp_code_body *body)
{
	bool wanted = needs_tables(body);

	for (size_t i = 0; wanted && i < body->n; i++) {
		struct xp_code_node *node = &body->nodes[i];
		uint64_t reference = node->insn.reference;

		if (!reference || node->insn.flow == XP_FLOW_CALL || reference == body->function->start)
			continue;
		node->wide = xp_code_holds(body, reference) || wide_table(body, reference);
		node->label_table = node->wide || narrow_table(body, reference);
	}
}

/* Control comes to the next instruction only by a jump from elsewhere. */
static bool breaks_flow(enum xp_flow flow)
{
	return flow == XP_FLOW_JUMP || flow == XP_FLOW_INDIRECT || flow == XP_FLOW_RETURN || flow == XP_FLOW_STOP;
}

/* Steps back from the jump at `index` while control can only have come that way; false at the start or a break. */
static bool step_back(const struct xp_code_body *body, size_t index, size_t *back)
{
	if (++*back > LOOK_BACK || *back > index)
		return false;
	const struct xp_code_node *node = &body->nodes[index - *back];
	return !breaks_flow(node->insn.flow) && node->insn.address < node[1].insn.address;
}

/* The node whose table the jump goes through; NULL when none is near. */
static struct xp_code_node *near_table(const struct xp_code_body *body, size_t index)
{
	size_t back = 0;

	do
		if (body->nodes[index - back].label_table)
			return &body->nodes[index - back];
	while (step_back(body, index, &back));
	return NULL;
}

/* The jump adds a distance out of a table; where the table is was worked out earlier, outside a loop. */
static bool near_distance(const struct xp_code_body *body, size_t index)
{
	size_t back = 0;

	do
		if (body->nodes[index - back].insn.loads_distance)
			return true;
	while (step_back(body, index, &back));
	return false;
}

static bool has_narrow_table(const struct xp_code_body *body)
{
	for (size_t i = 0; i < body->n; i++)
		if (body->nodes[i].label_table && !body->nodes[i].wide)
			return true;
	return false;
}

static void use_narrow_tables(struct xp_code_body *body)
{
	for (size_t i = 0; i < body->n; i++)
		body->nodes[i].used |= body->nodes[i].label_table && !body->nodes[i].wide;
}

void xp_code_use_tables(struct xp_code_body *body)
{
	for (size_t i = 0; i < body->n; i++) {
		if (body->nodes[i].insn.flow != XP_FLOW_INDIRECT)
			continue;
		struct xp_code_node *table = near_table(body, i);

		if (table)
			table->used = true;
		else if (near_distance(body, i))
			use_narrow_tables(body);
	}
}

enum xp_indirect xp_code_indirect(const struct xp_code_body *body, size_t index)
{
	const struct xp_insn *jump = &body->nodes[index].insn;

	if (jump->reads_slot)
		return XP_INDIRECT_LEAVES;
	if (jump->notrack || near_table(body, index) || (near_distance(body, index) && has_narrow_table(body)))
		return XP_INDIRECT_SWITCH;
	/* A table of distances serves the one switch behind it; labels and tables of addresses may be stored and used anywhere. */
	for (size_t i = 0; i < body->n; i++)
		if (body->nodes[i].label_table && (body->nodes[i].wide || !body->nodes[i].used))
			return XP_INDIRECT_UNKNOWN;
	return XP_INDIRECT_LEAVES;
}
