/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of program a process runs: machine type, C library, Python, CUDA; from its executable's headers and its mappings. */
#ifndef XP_TARGET_PROGRAM_H
#define XP_TARGET_PROGRAM_H

#include "target/target.h"

enum xp_libc { XP_LIBC_GLIBC, XP_LIBC_MUSL, XP_LIBC_STATIC, XP_LIBC_UNKNOWN, XP_LIBC_COUNT };
extern const char *const xp_libc_names[XP_LIBC_COUNT];

struct xp_program {
	const char *executable;	      /* "" when there is none (kernel threads) */
	const char *machine;	      /* as uname -m spells it; "unknown" */
	int libc;		      /* enum xp_libc */
	const char *python_version;   /* "3.11"; NULL: no CPython is mapped */
	const char *const *libraries; /* executable file mappings but the program itself, sorted, each once */
	size_t n_libraries;
	bool libcuda, libcudart, agent;
};
void xp_program_read(const struct xp_target *target, struct xp_arena *arena, struct xp_program *ret_program);

#endif
