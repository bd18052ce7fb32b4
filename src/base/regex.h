/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions of contract 8.4 on PCRE2's DFA matcher: searched, UTF-8, bounded in pattern and in match steps. */
#ifndef XP_BASE_REGEX_H
#define XP_BASE_REGEX_H

#include "base/err.h"

struct xp_regex;

/* INVALID_EVENT_SELECTOR for an empty or > 1,024-byte pattern, bad syntax, bad UTF-8, look-around, back references. Returns owned. */
int xp_regex_new(const char *pattern, struct xp_regex **ret_regex, struct xp_err *reterr);
void xp_regex_free(struct xp_regex *regex);
XP_DEFINE_AUTO(struct xp_regex *, xp_regex_free);
/* 1 found, 0 not found, -XP_E_INVALID_EVENT_SELECTOR when the match step limit was reached (reterr filled). Bad UTF-8 in text never matches
 * as text; it is replaced first. */
int xp_regex_search(const struct xp_regex *regex, const char *text, size_t len, struct xp_err *reterr);

#endif
