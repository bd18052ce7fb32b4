/* SPDX-License-Identifier: Apache-2.0 */
/* All exits of a function. In: an image and a function's extent. Out: addresses of its returns and leaving jumps. No state. */
#include "elf/code_priv.h"

#include <stdlib.h>
#include <string.h>

#include "elf/eh_frame.h"

enum where { WHERE_COLD, WHERE_AWAY, WHERE_UNKNOWN };

static bool has_target(const struct xp_insn *insn)
{
	return insn->flow == XP_FLOW_JUMP || insn->flow == XP_FLOW_BRANCH;
}

/* A stub of the procedure linkage table: it jumps on through one slot. */
static bool is_stub(const struct xp_elf *elf, uint64_t vaddr)
{
	struct xp_insn insn;

	for (int i = 0; i < 2 && xp_code_insn(elf, vaddr, &insn); i++, vaddr += insn.size) {
		if (insn.flow == XP_FLOW_INDIRECT)
			return insn.reads_slot;
		if (!insn.landing_pad)
			return false;
	}
	return false;
}

/* Behind a jump without symbol: a part of this function when control enters it with a frame set up, or in its middle. */
static enum where classify_unnamed(const struct xp_code_body *body, const struct xp_insn *jump, struct xp_extent *ret_part)
{
	struct xp_fde fde;

	if (!xp_elf_fde(body->elf, jump->target, &fde))
		return WHERE_UNKNOWN;
	*ret_part = (struct xp_extent){ .start = fde.start, .size = fde.size };
	if (fde.framed || fde.start != jump->target)
		return WHERE_COLD;
	return jump->flow == XP_FLOW_JUMP ? WHERE_AWAY : WHERE_UNKNOWN;
}

/* Parts that compilers (NAME.cold) and post-link optimizers (NAME.cold.0, NAME.warm) move away. */
static bool is_part_name(const struct xp_symbol *symbol)
{
	static const char *const marks[] = { ".cold", ".warm" };

	for (size_t i = 0; i < XP_LEN(marks); i++) {
		const char *mark = memmem(symbol->name, symbol->name_len, marks[i], 5);

		if (mark && (mark + 5 == symbol->name + symbol->name_len || mark[5] == '.'))
			return true;
	}
	return false;
}

static enum where classify(const struct xp_code_body *body, const struct xp_insn *jump, const struct xp_symbol *symbol,
			   struct xp_extent *ret_part)
{
	if (is_stub(body->elf, jump->target))
		return jump->flow == XP_FLOW_JUMP ? WHERE_AWAY : WHERE_UNKNOWN;
	if (!symbol->name)
		return classify_unnamed(body, jump, ret_part);
	if (is_part_name(symbol)) {
		if (xp_symbols_extent(body->elf, symbol->address, ret_part))
			return WHERE_COLD;
		return WHERE_UNKNOWN;
	}
	/* A condition that does not hold passes the jump without leaving, and a probe cannot tell. */
	return jump->flow == XP_FLOW_JUMP ? WHERE_AWAY : WHERE_UNKNOWN;
}

static int by_value(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* Symbols behind the jumps that leave what is decoded so far: `targets` ascending, one pass for all. In the arena. */
struct outside {
	uint64_t *targets;
	struct xp_symbol *symbols;
	size_t n;
};

static struct outside find_outside(const struct xp_code_body *body, struct xp_arena *arena)
{
	struct outside outside = { .targets = xp_arena_array(arena, uint64_t, body->n + 1) };

	for (size_t i = 0; i < body->n; i++)
		if (has_target(&body->nodes[i].insn) && !xp_code_holds(body, body->nodes[i].insn.target))
			outside.targets[outside.n++] = body->nodes[i].insn.target;
	outside.symbols = xp_arena_array(arena, struct xp_symbol, outside.n + 1);
	qsort(outside.targets, outside.n, sizeof(*outside.targets), by_value);
	xp_symbols_resolve(body->elf, outside.targets, outside.n, outside.symbols);
	return outside;
}

static const struct xp_symbol *symbol_behind(const struct outside *outside, const struct xp_insn *jump)
{
	const uint64_t *found = bsearch(&jump->target, outside->targets, outside->n, sizeof(*outside->targets), by_value);

	return &outside->symbols[found - outside->targets];
}

/* Follows the jumps of the ranges known so far once; *ret_added tells whether a part was decoded. */
static int follow_once(struct xp_code_body *body, struct xp_arena *arena, bool *ret_added, struct xp_err *reterr)
{
	struct outside outside = find_outside(body, arena);
	size_t n = body->n;

	*ret_added = false;
	for (size_t i = 0; i < n; i++) {
		struct xp_insn jump = body->nodes[i].insn;
		struct xp_extent part = { 0 };

		if (!has_target(&jump) || xp_code_holds(body, jump.target))
			continue;
		enum where where = classify(body, &jump, symbol_behind(&outside, &jump), &part);
		if (where == WHERE_UNKNOWN)
			return xp_code_refuse(body, reterr, "the %s at 0x%lx to 0x%lx may or may not leave it",
					      jump.flow == XP_FLOW_BRANCH ? "conditional jump" : "jump", (unsigned long)jump.address,
					      (unsigned long)jump.target);
		if (where == WHERE_AWAY)
			continue;
		if (xp_code_holds(body, part.start))
			return xp_code_refuse(body, reterr, "its parts overlap at 0x%lx", (unsigned long)part.start);
		int rc = xp_code_add_range(body, part.start, part.size, reterr);
		if (rc)
			return rc;
		*ret_added = true;
	}
	return 0;
}

static int follow_jumps(struct xp_code_body *body, struct xp_arena *arena, struct xp_err *reterr)
{
	bool added = true;
	int rc = 0;

	while (!rc && added)
		rc = follow_once(body, arena, &added, reterr);
	return rc;
}

enum { MAX_NAMED = 8 };
struct named_parts {
	struct xp_symbol at[MAX_NAMED];
	size_t n;
	size_t stem; /* length of the function's name */
};

static bool take_part(const struct xp_symbol *symbol, void *arg)
{
	struct named_parts *parts = arg;
	char behind = symbol->name[parts->stem + strlen(".cold")];

	if (behind && behind != '.' && behind != '@')
		return true;
	for (size_t i = 0; i < parts->n; i++)
		if (parts->at[i].address == symbol->address)
			return true;
	parts->at[parts->n++] = *symbol;
	return parts->n < MAX_NAMED;
}

/* Static functions of one name have cold parts of one name: only what jumps back here belongs here. */
static bool jumps_back(const struct xp_code_body *body, const struct xp_extent *part)
{
	struct xp_insn insn;

	for (uint64_t at = part->start; at - part->start < part->size && xp_code_insn(body->elf, at, &insn); at += insn.size)
		if (has_target(&insn) && xp_code_holds(body, insn.target))
			return true;
	return false;
}

/*
 * Only the unwinder, by an exception table, and jumps through tables lead to code that no direct jump names. Asked first, since the names
 * of a large file are some 100 MB to search.
 */
static bool may_hide_parts(const struct xp_code_body *body)
{
	struct xp_fde fde;

	for (size_t i = 0; i < body->n_ranges; i++)
		if (xp_elf_fde(body->elf, body->ranges[i].start, &fde) && fde.lsda)
			return true;
	for (size_t i = 0; i < body->n; i++)
		if (body->nodes[i].insn.flow == XP_FLOW_INDIRECT && !body->nodes[i].insn.reads_slot)
			return true;
	return false;
}

/* Cold parts that no jump leads to, such as landing pads. */
static int add_named_parts(struct xp_code_body *body, struct xp_arena *arena, struct xp_err *reterr)
{
	const struct xp_symbol *symbol = &body->function->symbol;
	struct named_parts parts = { .stem = symbol->name_len };
	struct xp_extent part;
	int rc = 0;

	if (!symbol->name || !may_hide_parts(body))
		return 0;
	xp_symbols_each(body->elf, xp_arena_fmt(arena, "%.*s.cold", (int)symbol->name_len, symbol->name), take_part, &parts);
	for (size_t i = 0; i < parts.n && !rc; i++)
		if (!xp_code_holds(body, parts.at[i].address) && xp_symbols_extent(body->elf, parts.at[i].address, &part) &&
		    (parts.n == 1 || jumps_back(body, &part)))
			rc = xp_code_add_range(body, part.start, part.size, reterr);
	return rc;
}

/* An instruction begins there, or one without its lock prefix: C libraries skip it in programs of one thread. */
static bool may_land(const struct xp_code_body *body, uint64_t vaddr)
{
	struct xp_insn insn;

	if (xp_code_boundary(body, vaddr))
		return true;
	return xp_code_boundary(body, vaddr - 1) && xp_code_insn(body->elf, vaddr - 1, &insn) && insn.locked;
}

static int check_inner_jumps(const struct xp_code_body *body, struct xp_err *reterr)
{
	for (size_t i = 0; i < body->n; i++) {
		const struct xp_insn *insn = &body->nodes[i].insn;

		if (has_target(insn) && xp_code_holds(body, insn->target) && !may_land(body, insn->target))
			return xp_code_refuse(body, reterr, "the jump at 0x%lx leads into the middle of an instruction",
					      (unsigned long)insn->address);
	}
	return 0;
}

static int leaves(const struct xp_code_body *body, size_t index, bool *ret_leaves, struct xp_err *reterr)
{
	const struct xp_insn *insn = &body->nodes[index].insn;

	*ret_leaves = insn->flow == XP_FLOW_RETURN || (insn->flow == XP_FLOW_JUMP && !xp_code_holds(body, insn->target));
	if (insn->flow == XP_FLOW_INDIRECT) {
		enum xp_indirect what = xp_code_indirect(body, index);

		if (what == XP_INDIRECT_UNKNOWN)
			return xp_code_refuse(body, reterr, "the indirect jump at 0x%lx may be a switch or a tail call",
					      (unsigned long)insn->address);
		*ret_leaves = what == XP_INDIRECT_LEAVES;
	}
	if (*ret_leaves && insn->refused)
		return xp_code_refuse(body, reterr, "its exit at 0x%lx %s, and no probe can sit there", (unsigned long)insn->address,
				      insn->refused);
	return 0;
}

static int collect(const struct xp_code_body *body, uint64_t ret_exits[XP_EXITS_MAX], size_t *ret_n, struct xp_err *reterr)
{
	uint64_t exits[XP_EXITS_MAX];
	size_t n = 0;
	bool exit;

	for (size_t i = 0; i < body->n; i++) {
		int rc = leaves(body, i, &exit, reterr);

		if (rc)
			return rc;
		if (exit && n == XP_EXITS_MAX)
			return xp_code_refuse(body, reterr, "it has more than %d", XP_EXITS_MAX);
		if (exit)
			exits[n++] = body->nodes[i].insn.address;
	}
	if (!n)
		return xp_code_refuse(body, reterr, "it has none, for it never returns");
	qsort(exits, n, sizeof(exits[0]), by_value);
	memcpy(ret_exits, exits, n * sizeof(exits[0]));
	*ret_n = n;
	return 0;
}

int xp_code_exits(const struct xp_elf *elf, const struct xp_extent *function, uint64_t ret_exits[XP_EXITS_MAX], size_t *ret_n,
		  struct xp_err *reterr)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_code_body body = { .elf = elf, .function = function };
	xp_auto(xp_code_body_done) struct xp_code_body *owned = &body;
	int rc = xp_code_add_range(&body, function->start, function->size, reterr);

	if (!rc)
		rc = follow_jumps(&body, arena, reterr);
	if (!rc)
		rc = add_named_parts(&body, arena, reterr);
	if (!rc)
		rc = follow_jumps(&body, arena, reterr);
	if (!rc)
		rc = check_inner_jumps(&body, reterr);
	if (rc)
		return rc;
	xp_code_mark_tables(&body);
	xp_code_use_tables(&body);
	return collect(owned, ret_exits, ret_n, reterr);
}
