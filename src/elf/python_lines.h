/* SPDX-License-Identifier: Apache-2.0 */
/* Line tables of CPython's code objects, each of its three formats. Tables are hostile bytes: every read is checked. */
#ifndef XP_ELF_PYTHON_LINES_H
#define XP_ELF_PYTHON_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum xp_python_lines {
	XP_PYTHON_LNOTAB,    /* 3.8, 3.9: pairs of byte distance and signed line distance */
	XP_PYTHON_LINETABLE, /* 3.10: pairs of length and signed line distance, -128 = no line */
	XP_PYTHON_LOCATIONS, /* 3.11 and newer: entries of variable length, lengths in 2-byte units */
};

/*
 * Line of the instruction at byte `offset` of the code; a negative offset (not started) gives first_line. False: it has no line, or the
 * table does not reach it.
 */
bool xp_python_line(enum xp_python_lines format, const uint8_t *table, size_t size, uint32_t first_line, int64_t offset,
		    uint32_t *ret_line);

#endif
