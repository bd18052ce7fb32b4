/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the architecture's system calls, as the kernel headers of the build know them. */
#ifndef XP_ARCH_X86_64_SYSCALLS_H
#define XP_ARCH_X86_64_SYSCALLS_H

#include <stdint.h>

#include "syscall_names.h" /* generated: XP_SYSCALL_MAX, the highest number with a name */

/* Name of a 64-bit call; NULL when the number has none (also every x32 number). Static text. */
const char *xp_syscall_name(uint32_t nr);
/* Name of a 32-bit call, which has its own table; NULL when the number has none. */
const char *xp_syscall_name_32(uint32_t nr);
/* Number of a 64-bit call; -1 when no call has that name. */
int xp_syscall_number(const char *name);

#endif
