/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks out of copied bytes. In: registers and bytes. Out: program counters, leaf first, and how the walk ended. State: the rules. */
#include "elf/unwind_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct xp_unwinder {
	struct xp_rules *rules;
};

int xp_unwinder_new(struct xp_target *target, struct xp_unwinder **ret_unwinder, struct xp_err *reterr)
{
	struct xp_unwinder *unwinder = calloc(1, sizeof(*unwinder));

	if (!unwinder)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "unwinder");
	unwinder->rules = xp_rules_new(target);
	*ret_unwinder = unwinder;
	return 0;
}

void xp_unwinder_free(struct xp_unwinder *unwinder)
{
	if (!unwinder)
		return;
	xp_rules_free(unwinder->rules);
	free(unwinder);
}

const char *const *xp_unwinder_missing(const struct xp_unwinder *unwinder, size_t *ret_n)
{
	return xp_modules_missing(xp_rules_modules(unwinder->rules), ret_n);
}

/* One walk. `exact`: ip is an instruction that ran or will run next, not a return address. */
struct walk {
	const struct xp_stack_bytes *stack;
	uint64_t stack_end; /* of the mapping that the copy begins in */
	struct xp_unwind_regs regs;
	bool exact;
	bool elsewhere; /* a signal frame led to a stack that may be another one */
	enum xp_unwind_end end;
};

static bool stop(struct walk *walk, enum xp_unwind_end end)
{
	walk->end = end;
	return false;
}

/* What lies beyond the copy but on the same stack was not copied; anything else was no stack address. */
static bool load(uint64_t address, uint64_t *ret_value, void *arg)
{
	struct walk *walk = arg;
	const struct xp_stack_bytes *stack = walk->stack;
	uint64_t skip = address - stack->sp;

	if (address >= stack->sp && skip < stack->len && stack->len - skip >= sizeof(*ret_value)) {
		memcpy(ret_value, (const char *)stack->bytes + skip, sizeof(*ret_value));
		return true;
	}
	bool above = address >= stack->sp && address < walk->stack_end && skip + sizeof(*ret_value) > stack->len;
	return stop(walk, above || walk->elsewhere ? XP_UNWIND_COPY : XP_UNWIND_FAILED);
}

static bool compute(struct walk *walk, const struct xp_cfi_value *value, bool pushed, uint64_t cfa, uint64_t *ret_value)
{
	struct xp_cfi_machine machine = { walk->regs.ip, walk->regs.sp, walk->regs.bp, load, walk };

	return xp_cfi_compute(value, &machine, pushed, cfa, ret_value);
}

static bool find_cfa(struct walk *walk, const struct xp_cfi_value *value, uint64_t *ret_cfa)
{
	uint64_t offset = (uint64_t)(int64_t)value->offset;

	if (value->how == XP_CFI_COMPUTED)
		return compute(walk, value, false, 0, ret_cfa);
	*ret_cfa = (value->how == XP_CFI_SP ? walk->regs.sp : walk->regs.bp) + offset;
	return value->how == XP_CFI_SP || value->how == XP_CFI_BP;
}

/* A register of the caller; *ret_value holds that of the callee and stays where the rule says so. */
static bool find_value(struct walk *walk, const struct xp_cfi_value *value, uint64_t cfa, uint64_t *ret_value)
{
	uint64_t offset = (uint64_t)(int64_t)value->offset, address;

	if (value->how == XP_CFI_SAVED)
		return load(cfa + offset, ret_value, walk);
	if (value->how == XP_CFI_SAVED_AT)
		return compute(walk, value, true, cfa, &address) && load(address, ret_value, walk);
	if (value->how == XP_CFI_COMPUTED)
		return compute(walk, value, true, cfa, ret_value);
	if (value->how == XP_CFI_VALUE)
		*ret_value = cfa + offset;
	return value->how != XP_CFI_OTHER;
}

/*
 * Compilers do not say that rbp was popped again, since its old place below rsp still holds the value; the copy begins at rsp. So in front
 * of a return (nothing but the return address is left of the frame) and for a place below rsp, the register itself is meant.
 */
static bool find_bp(struct walk *walk, const struct xp_cfi_rule *rule, uint64_t cfa, uint64_t *ret_bp)
{
	bool returning = rule->cfa.how == XP_CFI_SP && rule->cfa.offset == 8;

	if (returning || (rule->bp.how == XP_CFI_SAVED && cfa + (uint64_t)(int64_t)rule->bp.offset < walk->regs.sp))
		return true;
	return find_value(walk, &rule->bp, cfa, ret_bp);
}

static bool step_by_rule(struct walk *walk, const struct xp_cfi_rule *rule)
{
	struct xp_unwind_regs caller = walk->regs;

	if (rule->ra.how == XP_CFI_UNDEFINED)
		return stop(walk, XP_UNWIND_WHOLE);
	walk->end = XP_UNWIND_FAILED; /* load() knows better where it fails */
	if (rule->ra.how == XP_CFI_SAME || !find_cfa(walk, &rule->cfa, &caller.sp))
		return false;
	if (!find_value(walk, &rule->ra, caller.sp, &caller.ip) || !find_bp(walk, rule, caller.sp, &caller.bp))
		return false;
	/* A handler may run on a stack of its own, anywhere; all other callers lie above. */
	if (!rule->signal_frame && caller.sp <= walk->regs.sp)
		return stop(walk, XP_UNWIND_FAILED);
	walk->elsewhere |= rule->signal_frame;
	walk->exact = rule->signal_frame;
	walk->regs = caller;
	return true;
}

/* Code without a description (Go, JIT) keeps rbp as a chain; 0 ends it (System V ABI). */
static bool step_by_pointer(struct walk *walk)
{
	uint64_t bp = walk->regs.bp;
	struct xp_unwind_regs caller = { .sp = bp + 16 };

	if (!bp)
		return stop(walk, XP_UNWIND_WHOLE);
	if (bp % 8 || bp < walk->regs.sp)
		return stop(walk, XP_UNWIND_FAILED);
	if (!load(bp, &caller.bp, walk) || !load(bp + 8, &caller.ip, walk))
		return false;
	walk->exact = false;
	walk->regs = caller;
	return true;
}

static uint64_t place(const struct walk *walk)
{
	return walk->exact ? walk->regs.ip : walk->regs.ip - 1;
}

/* The kernel "returns" to the first byte of the sigreturn code, so that one byte less would be another function. */
static uint64_t shown(const struct walk *walk, const struct xp_rule *rule)
{
	return rule->kind == XP_RULE_CFI && rule->cfi.signal_frame ? walk->regs.ip : place(walk);
}

/* Goes to the caller, whose rule is then *rule. False: walk->end says why. */
static bool step(struct xp_unwinder *unwinder, struct walk *walk, const struct xp_rule **rule)
{
	if ((*rule)->kind == XP_RULE_CFI ? !step_by_rule(walk, &(*rule)->cfi) : !step_by_pointer(walk))
		return false;
	if (!walk->regs.ip)
		return stop(walk, XP_UNWIND_WHOLE);
	*rule = xp_rules_at(unwinder->rules, place(walk));
	return (*rule)->kind != XP_RULE_NOWHERE || stop(walk, XP_UNWIND_FAILED);
}

void xp_unwind(struct xp_unwinder *unwinder, const struct xp_unwind_regs *regs, const struct xp_stack_bytes *stack, size_t max,
	       struct xp_unwound *out)
{
	struct walk walk = { .stack = stack, .regs = *regs, .exact = true, .end = XP_UNWIND_DEPTH };
	const struct xp_rule *rule = xp_rules_at(unwinder->rules, regs->ip);

	walk.stack_end = xp_rules_stack_end(unwinder->rules, stack->sp);
	for (out->n = 0; out->n < max;) {
		out->pcs[out->n] = shown(&walk, rule);
		out->sps[out->n++] = walk.regs.sp;
		if (!step(unwinder, &walk, &rule)) {
			out->end = walk.end;
			return;
		}
	}
	out->end = XP_UNWIND_DEPTH;
}
