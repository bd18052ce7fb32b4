/* SPDX-License-Identifier: Apache-2.0 */
/* What a file was written in, as far as it decides whether the kernel's return probe is safe (contract 8.3). */
#ifndef XP_ELF_LANGUAGE_H
#define XP_ELF_LANGUAGE_H

#include "elf/image.h"

struct xp_language {
	bool go, cxx, rust;		     /* cxx: also the unwinder that throws; rust: looked for where there is no C++ */
	unsigned go_major, go_minor;	     /* 0.0: not readable */
	uint64_t go_text_start, go_text_end; /* where Go code lies; equal when unknown */
};

/* The Go members only: cheap. Wants loaded symbols, as the next one. */
struct xp_language xp_elf_go(const struct xp_elf *elf);
/* All members. In stripped files the marks of the C++ and Rust run times in read-only data are looked for too. */
struct xp_language xp_elf_language(const struct xp_elf *elf);

#endif
