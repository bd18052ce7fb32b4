/* SPDX-License-Identifier: Apache-2.0 */
/* Frames as text. No state. */
#include "inventory/stack_text.h"

#include <string.h>

const char *xp_path_base(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

void xp_frame_text(const struct xp_frame *frame, struct xp_text *out)
{
	if (frame->symbol) {
		xp_text_str(out, frame->symbol);
		if (frame->kind != XP_FRAME_PYTHON || !frame->source_path)
			return;
		xp_text_fmt(out, " (%s", xp_path_base(frame->source_path));
		if (frame->line.set)
			xp_text_fmt(out, ":%u", frame->line.v);
		xp_text_char(out, ')');
		return;
	}
	if (frame->module_path && frame->file_offset.set)
		xp_text_fmt(out, "%s+0x%llx", xp_path_base(frame->module_path), (unsigned long long)frame->file_offset.v);
	else
		xp_text_fmt(out, "0x%llx", (unsigned long long)frame->address);
}
