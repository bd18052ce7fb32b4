/* SPDX-License-Identifier: Apache-2.0 */
/* Mangled names to signatures: Itanium C++, Rust legacy and v0. */
#ifndef XP_ELF_DEMANGLE_H
#define XP_ELF_DEMANGLE_H

#include "base/arena.h"

#include <stdbool.h>

/* The name (len bytes) is mangled by a scheme that we read. */
bool xp_is_mangled(const char *name, size_t len);
/* Signature in the arena; NULL when the name is not mangled, damaged, or above 4,096 bytes. keep_hash: Rust's "::h0123…" stays. */
const char *xp_demangle(struct xp_arena *arena, const char *name, size_t len, bool keep_hash);
/* The name is mangled and its signature equals `signature` (with or without Rust's hash). */
bool xp_demangles_to(const char *name, size_t len, const char *signature);
/* The function's own name in a signature: "fun" in "ns::Foo<int>::fun(int) const". Points into it. */
const char *xp_signature_base(const char *signature, size_t *ret_len);

#endif
