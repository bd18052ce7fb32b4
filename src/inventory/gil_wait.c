/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises waits for Python's global lock. In: names of a native stack. No state. */
#include "inventory/gil_wait.h"

#include <string.h>

enum { LOOKED_AT = 12 }; /* frames from the leaf: libc's wait, then take_gil */

static bool begins(const char *text, const char *with)
{
	return text && !strncmp(text, with, strlen(with));
}

static bool is_condition_wait(const char *symbol)
{
	if (begins(symbol, "__"))
		symbol += 2;
	return begins(symbol, "pthread_cond_wait") || begins(symbol, "pthread_cond_timedwait") || begins(symbol, "pthread_cond_clockwait");
}

static bool is_interpreter(const char *module_path)
{
	const char *slash = module_path ? strrchr(module_path, '/') : NULL;
	const char *file = slash ? slash + 1 : module_path;

	return begins(file, "libpython") || begins(file, "python");
}

bool xp_is_gil_wait(const struct xp_symbolized *native, size_t n)
{
	bool waits = false;

	for (size_t i = 0; i < n && i < LOOKED_AT; i++) {
		const struct xp_symbolized *frame = &native[i];

		/* GCC's clones are called "take_gil.isra.0" and the like. */
		if (begins(frame->symbol, "take_gil") && (!frame->symbol[8] || frame->symbol[8] == '.'))
			return true;
		if (is_condition_wait(frame->symbol))
			waits = true;
		else if (waits && is_interpreter(frame->module_path))
			return !begins(frame->symbol, "PyThread_");
		else if (waits && i &&
			 strcmp(frame->module_path ? frame->module_path : "", native[i - 1].module_path ? native[i - 1].module_path : ""))
			return false; /* somebody else's condition */
	}
	return false;
}
