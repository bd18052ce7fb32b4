/* SPDX-License-Identifier: Apache-2.0 */
/* A frame as one word for people and for stack formats. */
#ifndef XP_INVENTORY_STACK_TEXT_H
#define XP_INVENTORY_STACK_TEXT_H

#include "base/text.h"
#include "inventory/stack.h"

/* "function (file.py:12)" for Python, "function" else; "module+0x1f0" without a name, "0x7f…" without a module. */
void xp_frame_text(const struct xp_frame *frame, struct xp_text *out);
/* The last part of a path; NULL for NULL. */
const char *xp_path_base(const char *path);

#endif
