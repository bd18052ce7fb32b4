/* SPDX-License-Identifier: Apache-2.0 */
/* Names of kernel code: /proc/kallsyms, lines "ADDRESS TYPE name [module]". */
#ifndef XP_ELF_KALLSYMS_H
#define XP_ELF_KALLSYMS_H

#include <stdbool.h>

#include "base/arena.h"
#include "elf/code_name.h"

/*
 * Names `n` ascending kernel addresses in one pass over the text of `fd`, into the arena. False when the kernel hides addresses from us
 * (all are 0) or the file cannot be read; then no name is set.
 */
bool xp_kallsyms_resolve(int fd, const uint64_t *addresses, size_t n, struct xp_arena *arena, struct xp_code_name *ret_names);

#endif
