/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding a function from end to end. In: address ranges. Out: struct xp_code_body, which owns its nodes. */
#include "elf/code_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void xp_code_body_done(struct xp_code_body *body)
{
	free(body->nodes);
	body->nodes = NULL;
}

int xp_code_refuse(const struct xp_code_body *body, struct xp_err *reterr, const char *fmt, ...)
{
	const struct xp_symbol *symbol = &body->function->symbol;
	char why[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	xp_fail(reterr, XP_E_PROBE_REFUSED, "cannot find every exit of the function at 0x%lx%s%.*s%s: %s",
		(unsigned long)body->function->start, symbol->name ? " (" : "", symbol->name ? (int)symbol->name_len : 0,
		symbol->name ? symbol->name : "", symbol->name ? ")" : "", why);
	xp_err_hint(reterr, "measure its entry only, or the return of a function that it calls or that calls it");
	return -XP_E_PROBE_REFUSED;
}

static int add_node(struct xp_code_body *body, const struct xp_insn *insn, struct xp_err *reterr)
{
	if (body->n == body->cap) {
		size_t cap = body->cap ? body->cap * 2 : 256;
		struct xp_code_node *grown = realloc(body->nodes, cap * sizeof(*grown));

		if (!grown)
			return xp_fail_sys(reterr, ENOMEM, "realloc", "decoded instructions");
		body->nodes = grown;
		body->cap = cap;
	}
	body->nodes[body->n++] = (struct xp_code_node){ .insn = *insn };
	return 0;
}

/* A range must not run out at its end, padding apart; a call may be the last, since it may never return. */
static bool ends_well(const struct xp_code_body *body, size_t first)
{
	for (size_t i = body->n; i > first; i--) {
		const struct xp_insn *insn = &body->nodes[i - 1].insn;

		if (!insn->nop)
			return insn->flow != XP_FLOW_NEXT && insn->flow != XP_FLOW_BRANCH;
	}
	return false;
}

int xp_code_add_range(struct xp_code_body *body, uint64_t start, uint64_t size, struct xp_err *reterr)
{
	size_t first = body->n;
	struct xp_insn insn;
	int rc = 0;

	if (body->n_ranges == XP_RANGES_MAX)
		return xp_code_refuse(body, reterr, "it has more than %d separate parts", XP_RANGES_MAX);
	if (size > XP_BODY_MAX_BYTES)
		return xp_code_refuse(body, reterr, "it is larger than %d bytes", XP_BODY_MAX_BYTES);
	for (uint64_t at = start; at - start < size && !rc; at += insn.size) {
		if (!xp_code_insn(body->elf, at, &insn) || insn.size > size - (at - start))
			return xp_code_refuse(body, reterr, "what is at 0x%lx is no whole instruction", (unsigned long)at);
		rc = add_node(body, &insn, reterr);
	}
	if (rc)
		return rc;
	if (!ends_well(body, first))
		return xp_code_refuse(body, reterr, "it runs on into what follows it at 0x%lx", (unsigned long)(start + size));
	body->ranges[body->n_ranges++] = (struct xp_code_range){ .start = start, .end = start + size, .first = first, .last = body->n };
	return 0;
}

static const struct xp_code_range *find_range(const struct xp_code_body *body, uint64_t vaddr)
{
	for (size_t i = 0; i < body->n_ranges; i++)
		if (vaddr >= body->ranges[i].start && vaddr < body->ranges[i].end)
			return &body->ranges[i];
	return NULL;
}

bool xp_code_holds(const struct xp_code_body *body, uint64_t vaddr)
{
	return find_range(body, vaddr);
}

bool xp_code_boundary(const struct xp_code_body *body, uint64_t vaddr)
{
	const struct xp_code_range *range = find_range(body, vaddr);
	size_t low = range ? range->first : 0, high = range ? range->last : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (body->nodes[middle].insn.address == vaddr)
			return true;
		if (body->nodes[middle].insn.address < vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}
