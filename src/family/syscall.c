/* SPDX-License-Identifier: Apache-2.0 */
/* syscall:NAME:entry|exit, any system call of the architecture. In: text. Out: number and boundary. No state. */
#include <string.h>

#include "arch/x86_64/syscalls.h"
#include "family/family.h"
#include "family/grammar.h"

#define GRAMMAR "syscall:NAME:(entry|exit)"

/* The name with the most leading characters in common, for "did you mean". */
static const char *nearest_name(const char *name)
{
	const char *best = NULL;
	size_t best_len = 1;

	for (uint32_t nr = 0; nr <= XP_SYSCALL_MAX; nr++) {
		const char *known = xp_syscall_name(nr);
		size_t len = 0;

		while (known && known[len] && known[len] == name[len])
			len++;
		if (len > best_len) {
			best = known;
			best_len = len;
		}
	}
	return best;
}

static int refuse_name(const char *text, const char *name, const char *boundary, struct xp_err *reterr)
{
	const char *near = nearest_name(name);
	int rc = xp_fail(reterr, XP_E_INVALID_EVENT_SELECTOR, "x86_64 has no system call named %.64s", name);

	xp_err_object(reterr, "%.300s", text);
	if (near)
		xp_err_detail(reterr, "candidates", json_pack("[o]", json_sprintf("syscall:%s:%s", near, boundary)));
	xp_err_hint(reterr, "use the kernel's name of the call, such as newfstatat for fstatat()");
	return rc;
}

static int parse(const char *text, struct xp_arena *arena, struct xp_endpoint *ep, struct xp_err *reterr)
{
	const char *name = text + strlen("syscall:");
	const char *colon = strchr(name, ':');

	if (!colon)
		return xp_grammar_refuse(reterr, text, GRAMMAR, "it has no boundary");
	if (!xp_grammar_word(name, colon - name))
		return xp_grammar_refuse(reterr, text, GRAMMAR, "the name must be letters, digits and underscores");

	bool at_exit = !strcmp(colon + 1, "exit");
	if (!at_exit && strcmp(colon + 1, "entry") != 0)
		return xp_grammar_refuse(reterr, text, GRAMMAR, "the boundary must be entry or exit");

	const char *copy = xp_arena_dup(arena, name, colon - name);
	int number = xp_syscall_number(copy);
	if (number < 0)
		return refuse_name(text, copy, colon + 1, reterr);

	ep->type = at_exit ? XP_EV_SYSCALL_EXIT : XP_EV_SYSCALL_ENTRY;
	ep->boundary = at_exit ? XP_AT_EXIT : XP_AT_ENTRY;
	ep->syscall.name = copy;
	ep->syscall.number = (uint32_t)number;
	return 0;
}

static const char *const heads[] = { "syscall:", NULL };

const struct xp_family xp_family_syscall = {
	.name = "syscall",
	.heads = heads,
	.grammar = GRAMMAR,
	.summary = "entry or exit of one system call, by its kernel name",
	.example = "syscall:fsync:entry",
	.event_types = "syscall_entry, syscall_exit",
	.needs = XP_NEED_BPF_SYSCALL,
	.host = true,
	.parse = parse,
};
