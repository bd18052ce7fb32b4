/* SPDX-License-Identifier: Apache-2.0 */
/* Call frame instructions run up to one address. In: an FDE with its CIE. Out: rules of CFA, return address and rbp. No state. */
#include "elf/cfi.h"

enum { DWARF_BP = 6, DWARF_SP = 7, REMEMBERED_MAX = 16, PROGRAM_MAX = 1 << 20 };

/* DWARF 5, 6.4.2, and the two GNU ones. The three short forms carry an operand in their low six bits. */
enum op {
	NOP = 0x00,
	SET_LOC = 0x01,
	ADVANCE_LOC1 = 0x02,
	ADVANCE_LOC2 = 0x03,
	ADVANCE_LOC4 = 0x04,
	OFFSET_EXTENDED = 0x05,
	RESTORE_EXTENDED = 0x06,
	UNDEFINED = 0x07,
	SAME_VALUE = 0x08,
	REGISTER = 0x09,
	REMEMBER_STATE = 0x0a,
	RESTORE_STATE = 0x0b,
	DEF_CFA = 0x0c,
	DEF_CFA_REGISTER = 0x0d,
	DEF_CFA_OFFSET = 0x0e,
	DEF_CFA_EXPRESSION = 0x0f,
	EXPRESSION = 0x10,
	OFFSET_EXTENDED_SF = 0x11,
	DEF_CFA_SF = 0x12,
	DEF_CFA_OFFSET_SF = 0x13,
	VAL_OFFSET = 0x14,
	VAL_OFFSET_SF = 0x15,
	VAL_EXPRESSION = 0x16,
	GNU_ARGS_SIZE = 0x2e,
	GNU_NEGATIVE_OFFSET = 0x2f,
	ADVANCE_LOC = 0x40,
	OFFSET = 0x80,
	RESTORE = 0xc0,
};

/*
 * Operands of each instruction, in order: r register, u unsigned, s signed, a address, b block, 1 2 4 bytes; f and g: unsigned and signed,
 * both times the data alignment. NULL: unknown.
 */
static const char *const operands[0x40] = {
	[NOP] = "",
	[SET_LOC] = "a",
	[ADVANCE_LOC1] = "1",
	[ADVANCE_LOC2] = "2",
	[ADVANCE_LOC4] = "4",
	[OFFSET_EXTENDED] = "rf",
	[RESTORE_EXTENDED] = "r",
	[UNDEFINED] = "r",
	[SAME_VALUE] = "r",
	[REGISTER] = "ru",
	[REMEMBER_STATE] = "",
	[RESTORE_STATE] = "",
	[DEF_CFA] = "ru",
	[DEF_CFA_REGISTER] = "r",
	[DEF_CFA_OFFSET] = "u",
	[DEF_CFA_EXPRESSION] = "b",
	[EXPRESSION] = "rb",
	[OFFSET_EXTENDED_SF] = "rg",
	[DEF_CFA_SF] = "rg",
	[DEF_CFA_OFFSET_SF] = "g",
	[VAL_OFFSET] = "rf",
	[VAL_OFFSET_SF] = "rg",
	[VAL_EXPRESSION] = "rb",
	[GNU_ARGS_SIZE] = "u",
	[GNU_NEGATIVE_OFFSET] = "rf",
};

struct instruction {
	enum op op;
	uint64_t reg, number;
	struct xp_cfi_value block;
};

struct machine {
	const struct xp_cfi *cfi;
	uint64_t at; /* code address that the rules hold for so far */
	struct xp_cfi_rule now, initial, remembered[REMEMBERED_MAX];
	size_t n_remembered;
	bool bad;
};

static void read_operand(const struct xp_cfi *cfi, struct xp_reader *reader, char shape, struct instruction *in)
{
	if (shape == 'r') {
		in->reg = xp_read_uleb(reader);
	} else if (shape == 'u') {
		in->number = xp_read_uleb(reader);
	} else if (shape == 'f') {
		in->number = xp_read_uleb(reader) * (uint64_t)cfi->data_align;
	} else if (shape == 'g') {
		in->number = (uint64_t)xp_read_sleb(reader) * (uint64_t)cfi->data_align;
	} else if (shape == 'a') {
		in->number = xp_read_pointer(reader, cfi->encoding, 0);
	} else if (shape == 'b') {
		uint64_t size = xp_read_uleb(reader);

		in->block.expression = reader->at;
		in->block.size = (uint16_t)size;
		reader->bad |= size > UINT16_MAX;
		xp_reader_skip(reader, size);
	} else {
		in->number = xp_read_uint(reader, (unsigned)(shape - '0')) * cfi->code_align;
	}
}

static bool read_instruction(const struct xp_cfi *cfi, struct xp_reader *reader, struct instruction *ret_in)
{
	unsigned byte = (unsigned)xp_read_uint(reader, 1), low = byte & 0x3f;
	struct instruction in = { .op = (enum op)(byte & 0xc0) };

	if (in.op == ADVANCE_LOC) {
		in.number = low * cfi->code_align;
	} else if (in.op == RESTORE) {
		in.reg = low;
	} else if (in.op == OFFSET) {
		in.reg = low;
		read_operand(cfi, reader, 'f', &in);
	} else {
		in.op = (enum op)low;
		if (!operands[low])
			return false;
		for (const char *shape = operands[low]; *shape; shape++)
			read_operand(cfi, reader, *shape, &in);
	}
	*ret_in = in;
	return !reader->bad;
}

static bool fits(uint64_t offset)
{
	return (int64_t)offset >= INT32_MIN && (int64_t)offset <= INT32_MAX;
}

/* The rule of a register that matters here; NULL for all others. */
static struct xp_cfi_value *slot(const struct machine *machine, struct xp_cfi_rule *rule, uint64_t reg)
{
	return reg == DWARF_BP ? &rule->bp : reg == machine->cfi->return_column ? &rule->ra : NULL;
}

static void set(struct machine *machine, const struct instruction *in, enum xp_cfi_how how)
{
	struct xp_cfi_value *value = slot(machine, &machine->now, in->reg);
	bool block = how == XP_CFI_SAVED_AT || how == XP_CFI_COMPUTED;
	bool offset = how == XP_CFI_SAVED || how == XP_CFI_VALUE;
	uint64_t number = in->op == GNU_NEGATIVE_OFFSET ? 0 - in->number : in->number;

	if (!value)
		return;
	*value = block ? in->block : (struct xp_cfi_value){ .offset = offset && fits(number) ? (int32_t)number : 0 };
	value->how = (uint8_t)(offset && !fits(number) ? XP_CFI_OTHER : how);
}

static void restore(struct machine *machine, const struct instruction *in)
{
	struct xp_cfi_value *value = slot(machine, &machine->now, in->reg);

	if (value)
		*value = *slot(machine, &machine->initial, in->reg);
}

static void set_cfa_register(struct machine *machine, uint64_t reg)
{
	struct xp_cfi_value *cfa = &machine->now.cfa;

	cfa->how = (uint8_t)(reg == DWARF_SP ? XP_CFI_SP : reg == DWARF_BP ? XP_CFI_BP : XP_CFI_OTHER);
}

static void set_cfa_offset(struct machine *machine, uint64_t offset)
{
	struct xp_cfi_value *cfa = &machine->now.cfa;

	cfa->offset = (int32_t)offset;
	if (!fits(offset) || cfa->how == XP_CFI_COMPUTED)
		cfa->how = XP_CFI_OTHER;
}

static void restore_state(struct machine *machine)
{
	if (machine->n_remembered)
		machine->now = machine->remembered[--machine->n_remembered];
	else
		machine->bad = true;
}

static void remember_state(struct machine *machine)
{
	if (machine->n_remembered < REMEMBERED_MAX)
		machine->remembered[machine->n_remembered++] = machine->now;
	else
		machine->bad = true;
}

static void apply(struct machine *machine, const struct instruction *in)
{
	switch (in->op) {
	case NOP:
	case GNU_ARGS_SIZE:
		return;
	case SET_LOC:
		machine->at = in->number;
		return;
	case ADVANCE_LOC:
	case ADVANCE_LOC1:
	case ADVANCE_LOC2:
	case ADVANCE_LOC4:
		machine->at += in->number;
		return;
	case OFFSET:
	case OFFSET_EXTENDED:
	case OFFSET_EXTENDED_SF:
	case GNU_NEGATIVE_OFFSET:
		return set(machine, in, XP_CFI_SAVED);
	case VAL_OFFSET:
	case VAL_OFFSET_SF:
		return set(machine, in, XP_CFI_VALUE);
	case RESTORE:
	case RESTORE_EXTENDED:
		return restore(machine, in);
	case UNDEFINED:
		return set(machine, in, XP_CFI_UNDEFINED);
	case SAME_VALUE:
		return set(machine, in, XP_CFI_SAME);
	case REGISTER:
		return set(machine, in, XP_CFI_OTHER);
	case EXPRESSION:
		return set(machine, in, XP_CFI_SAVED_AT);
	case VAL_EXPRESSION:
		return set(machine, in, XP_CFI_COMPUTED);
	case REMEMBER_STATE:
		return remember_state(machine);
	case RESTORE_STATE:
		return restore_state(machine);
	case DEF_CFA:
	case DEF_CFA_SF:
		set_cfa_register(machine, in->reg);
		return set_cfa_offset(machine, in->number);
	case DEF_CFA_REGISTER:
		return set_cfa_register(machine, in->reg);
	case DEF_CFA_OFFSET:
	case DEF_CFA_OFFSET_SF:
		return set_cfa_offset(machine, in->number);
	case DEF_CFA_EXPRESSION:
		machine->now.cfa = in->block;
		machine->now.cfa.how = XP_CFI_COMPUTED;
		return;
	}
}

/* Stops in front of the first instruction that holds only above `vaddr`. */
static bool run(struct machine *machine, struct xp_reader reader, uint64_t vaddr)
{
	struct instruction in;

	if (reader.end - reader.at > PROGRAM_MAX)
		return false;
	while (reader.at < reader.end && machine->at <= vaddr) {
		if (!read_instruction(machine->cfi, &reader, &in))
			return false;
		apply(machine, &in);
		if (machine->bad)
			return false;
	}
	return true;
}

bool xp_cfi_rule(const struct xp_cfi *cfi, uint64_t vaddr, struct xp_cfi_rule *ret_rule)
{
	struct machine machine = { .cfi = cfi, .at = cfi->fde.start };

	machine.now.cfa.how = XP_CFI_OTHER;
	machine.now.ra.how = XP_CFI_OTHER;
	if (!run(&machine, cfi->initial, UINT64_MAX))
		return false;
	machine.initial = machine.now;
	machine.at = cfi->fde.start;
	if (!run(&machine, cfi->program, vaddr))
		return false;
	machine.now.signal_frame = cfi->fde.signal_frame;
	*ret_rule = machine.now;
	return true;
}
