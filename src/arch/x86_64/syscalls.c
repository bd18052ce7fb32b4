/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups in the generated tables of system call names. No state. */
#include "arch/x86_64/syscalls.h"

#include <stddef.h>
#include <string.h>

#define XP_ENTRY(number, name) [number] = name,

static const char *const names_64[XP_SYSCALL_MAX + 1] = { XP_SYSCALL_LIST(XP_ENTRY) };
static const char *const names_32[XP_SYSCALL_32_MAX + 1] = { XP_SYSCALL_32_LIST(XP_ENTRY) };

const char *xp_syscall_name(uint32_t nr)
{
	return nr <= XP_SYSCALL_MAX ? names_64[nr] : NULL;
}

const char *xp_syscall_name_32(uint32_t nr)
{
	return nr <= XP_SYSCALL_32_MAX ? names_32[nr] : NULL;
}

int xp_syscall_number(const char *name)
{
	for (int nr = 0; nr <= XP_SYSCALL_MAX; nr++)
		if (names_64[nr] && !strcmp(names_64[nr], name))
			return nr;
	return -1;
}
