/* SPDX-License-Identifier: Apache-2.0 */
/* DWARF expressions as frame rules use them: PLT entries, signal frames, realigned stacks. No jumps, so every one ends. No state. */
#include "elf/cfi.h"

enum { DEPTH = 64, DWARF_BP = 6, DWARF_SP = 7, DWARF_IP = 16 };

enum op {
	DEREF = 0x06,
	CONST1U = 0x08,
	CONST8S = 0x0f,
	CONSTU = 0x10,
	CONSTS = 0x11,
	DUP = 0x12,
	DROP = 0x13,
	OVER = 0x14,
	PICK = 0x15,
	SWAP = 0x16,
	AND = 0x1a,
	MINUS = 0x1c,
	MUL = 0x1e,
	NEG = 0x1f,
	NOT = 0x20,
	OR = 0x21,
	PLUS = 0x22,
	PLUS_UCONST = 0x23,
	SHL = 0x24,
	SHR = 0x25,
	SHRA = 0x26,
	XOR = 0x27,
	EQ = 0x29,
	GE = 0x2a,
	GT = 0x2b,
	LE = 0x2c,
	LT = 0x2d,
	NE = 0x2e,
	LIT0 = 0x30,
	LIT31 = 0x4f,
	BREG0 = 0x70,
	BREG31 = 0x8f,
	BREGX = 0x92,
	NOP = 0x96,
};

struct state {
	const struct xp_cfi_machine *machine;
	struct xp_reader reader;
	uint64_t stack[DEPTH];
	size_t n;
	bool bad;
};

static void push(struct state *state, uint64_t value)
{
	if (state->n < DEPTH)
		state->stack[state->n++] = value;
	else
		state->bad = true;
}

static uint64_t pop(struct state *state)
{
	if (state->n)
		return state->stack[--state->n];
	state->bad = true;
	return 0;
}

/* The value `depth` below the top. */
static void pick(struct state *state, uint64_t depth)
{
	if (depth < state->n)
		push(state, state->stack[state->n - 1 - depth]);
	else
		state->bad = true;
}

static uint64_t shift(unsigned op, uint64_t value, uint64_t by)
{
	if (op == SHRA)
		return (uint64_t)((int64_t)value >> (by > 63 ? 63 : by));
	if (by > 63)
		return 0;
	return op == SHL ? value << by : value >> by;
}

/* Two operands, the lower one first. False when the operation is not one of those. */
static bool binary(unsigned op, uint64_t a, uint64_t b, uint64_t *ret_value)
{
	int64_t x = (int64_t)a, y = (int64_t)b;
	const struct {
		unsigned op;
		uint64_t value;
	} table[] = {
		{ AND, a & b }, { OR, a | b },	{ XOR, a ^ b }, { PLUS, a + b }, { MINUS, a - b }, { MUL, a * b },
		{ EQ, x == y }, { NE, x != y }, { GE, x >= y }, { GT, x > y },	 { LE, x <= y },   { LT, x < y },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].op == op) {
			*ret_value = table[i].value;
			return true;
		}
	*ret_value = shift(op, a, b);
	return op == SHL || op == SHR || op == SHRA;
}

static void push_register(struct state *state, uint64_t reg)
{
	const struct xp_cfi_machine *machine = state->machine;
	uint64_t value = reg == DWARF_BP ? machine->bp : reg == DWARF_SP ? machine->sp : machine->ip;

	state->bad |= reg != DWARF_BP && reg != DWARF_SP && reg != DWARF_IP;
	push(state, value + (uint64_t)xp_read_sleb(&state->reader));
}

/* CONST1U, CONST1S, CONST2U and so on to CONST8S. */
static uint64_t constant(struct state *state, unsigned op)
{
	unsigned size = 1U << ((op - CONST1U) / 2);

	return op % 2 ? (uint64_t)xp_read_int(&state->reader, size) : xp_read_uint(&state->reader, size);
}

static void load(struct state *state)
{
	uint64_t value = 0;

	if (!state->machine->load(pop(state), &value, state->machine->arg))
		state->bad = true;
	push(state, value);
}

/* Operations that only move what is on the stack; false for all others. */
static bool move(struct state *state, unsigned op)
{
	uint64_t a, b;

	if (op == DUP || op == OVER) {
		pick(state, op == OVER);
	} else if (op == PICK) {
		pick(state, xp_read_uint(&state->reader, 1));
	} else if (op == DROP) {
		pop(state);
	} else if (op == SWAP) {
		a = pop(state);
		b = pop(state);
		push(state, a);
		push(state, b);
	} else {
		return op == NOP;
	}
	return true;
}

/* Operations that bring a value in or change the topmost one; false for all others. */
static bool fetch(struct state *state, unsigned op)
{
	if (op >= LIT0 && op <= LIT31)
		push(state, op - LIT0);
	else if (op >= BREG0 && op <= BREG31)
		push_register(state, op - BREG0);
	else if (op == BREGX)
		push_register(state, xp_read_uleb(&state->reader));
	else if (op >= CONST1U && op <= CONST8S)
		push(state, constant(state, op));
	else if (op == CONSTU)
		push(state, xp_read_uleb(&state->reader));
	else if (op == CONSTS)
		push(state, (uint64_t)xp_read_sleb(&state->reader));
	else if (op == DEREF)
		load(state);
	else if (op == PLUS_UCONST)
		push(state, pop(state) + xp_read_uleb(&state->reader));
	else if (op == NEG)
		push(state, 0 - pop(state));
	else if (op == NOT)
		push(state, ~pop(state));
	else
		return false;
	return true;
}

static void step(struct state *state)
{
	unsigned op = (unsigned)xp_read_uint(&state->reader, 1);
	uint64_t value;

	if (fetch(state, op) || move(state, op))
		return;
	uint64_t b = pop(state), a = pop(state);
	state->bad |= !binary(op, a, b, &value);
	push(state, value);
}

bool xp_cfi_compute(const struct xp_cfi_value *value, const struct xp_cfi_machine *machine, bool pushed, uint64_t first,
		    uint64_t *ret_value)
{
	struct state state = { .machine = machine,
			       .reader = { .at = value->expression, .end = value->expression + value->size },
			       .stack = { first },
			       .n = pushed };

	while (state.reader.at < state.reader.end && !state.bad && !state.reader.bad)
		step(&state);
	uint64_t result = pop(&state);
	if (state.bad || state.reader.bad)
		return false;
	*ret_value = result;
	return true;
}
