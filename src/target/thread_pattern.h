/* SPDX-License-Identifier: Apache-2.0 */
/* Name patterns of threads (contract 6.8): what a summary groups by. */
#ifndef XP_TARGET_THREAD_PATTERN_H
#define XP_TARGET_THREAD_PATTERN_H

#include "base/arena.h"

/* Results list this many patterns, the largest, and one "*" for the rest. */
enum { XP_MAX_PATTERNS = 16 };

/* The name as valid UTF-8 with each run of digits as one '#': "worker-12" -> "worker-#". In the arena; "" for NULL. */
char *xp_thread_pattern(struct xp_arena *arena, const char *comm);

#endif
