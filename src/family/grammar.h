/* SPDX-License-Identifier: Apache-2.0 */
/* Small pieces of the selector grammar (contract 8.1) that several families share. */
#ifndef XP_FAMILY_GRAMMAR_H
#define XP_FAMILY_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* True for `word` of the grammar: one or more ASCII letters, digits and underscores in `len` bytes. */
bool xp_grammar_word(const char *text, size_t len);
/* INVALID_EVENT_SELECTOR for the whole selector, with `why` and the family's grammar as a hint. Returns -code. */
int xp_grammar_refuse(struct xp_err *reterr, const char *selector, const char *grammar, const char *why);

#endif
