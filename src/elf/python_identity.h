/* SPDX-License-Identifier: Apache-2.0 */
/* Marks of code objects (struct xp_python_identity of wire/sample.h), taken from outside. */
#ifndef XP_ELF_PYTHON_IDENTITY_H
#define XP_ELF_PYTHON_IDENTITY_H

#include "elf/python_priv.h"

enum { XP_PYTHON_BATCH = 64 };

/* Marks of the n code objects that lie there now, at most XP_PYTHON_BATCH. False: not all of them can be read. */
bool xp_python_identify(const struct xp_python *python, const uint64_t *codes, size_t n, uint32_t *ret_marks);

#endif
