/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers out of text: no rest, no sign, no overflow, no blanks. */
#ifndef XP_BASE_PARSE_H
#define XP_BASE_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal digits only. False when the text is anything else or above 2^64-1. */
bool xp_parse_u64(const char *text, uint64_t *ret_value);
/* Hexadecimal digits only, without 0x. */
bool xp_parse_hex(const char *text, uint64_t *ret_value);
/* A finite decimal number >= 0, such as 0.05 or 1e-3. */
bool xp_parse_share(const char *text, double *ret_value);

#endif
