/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One ELF file, mapped read-only and treated as hostile: every offset, size and name is checked before use. Addresses are the file's own
 * virtual addresses (unrelocated) unless a name says offset.
 */
#ifndef XP_ELF_IMAGE_H
#define XP_ELF_IMAGE_H

#include "base/arena.h"
#include "base/err.h"

struct xp_elf;

enum xp_elf_kind { XP_ELF_EXECUTABLE, XP_ELF_PIE, XP_ELF_SHARED };

/* A loadable segment as far as it lies in the file. */
struct xp_elf_segment {
	uint64_t vaddr, offset, file_size;
	bool exec, write;
};

struct xp_elf_section {
	const char *name;
	uint32_t type, link, info;
	uint64_t flags, vaddr, offset, size, entry_size;
	const unsigned char *bytes; /* NULL for SHT_NOBITS and when it does not lie in the file */
};

/*
 * Borrows fd, which may be closed afterwards; `name` is for error texts. SYMBOL_NOT_FOUND: no ELF file or damaged headers;
 * UNSUPPORTED_TARGET: ELF of another class, byte order or machine. Returns owned.
 */
int xp_elf_open(int fd, const char *name, struct xp_elf **ret_elf, struct xp_err *reterr);
/* Takes `bytes` (malloc) in every case. For files unpacked in memory. */
int xp_elf_open_bytes(void *bytes, size_t size, const char *name, struct xp_elf **ret_elf, struct xp_err *reterr);
void xp_elf_close(struct xp_elf *elf);
XP_DEFINE_AUTO(struct xp_elf *, xp_elf_close);

const char *xp_elf_name(const struct xp_elf *elf);
enum xp_elf_kind xp_elf_kind(const struct xp_elf *elf);
/* A program without dynamic section: everything it uses is inside the file. */
bool xp_elf_is_static(const struct xp_elf *elf);

/* `size` bytes at a file offset, or NULL when they do not all lie in the file. Unaligned: copy out with memcpy. */
const unsigned char *xp_elf_bytes(const struct xp_elf *elf, uint64_t offset, uint64_t size);
/* The same by address, within one segment's file part. */
const unsigned char *xp_elf_at(const struct xp_elf *elf, uint64_t vaddr, uint64_t size);
/* Segment whose file part holds the address or offset; NULL when none does. */
const struct xp_elf_segment *xp_elf_segment_at(const struct xp_elf *elf, uint64_t vaddr);
const struct xp_elf_segment *xp_elf_segment_of_offset(const struct xp_elf *elf, uint64_t offset);
const struct xp_elf_segment *xp_elf_segments(const struct xp_elf *elf, size_t *ret_n);
bool xp_elf_to_offset(const struct xp_elf *elf, uint64_t vaddr, uint64_t *ret_offset);
bool xp_elf_to_vaddr(const struct xp_elf *elf, uint64_t offset, uint64_t *ret_vaddr);
/* The address lies in the file part of an executable segment. */
bool xp_elf_is_text(const struct xp_elf *elf, uint64_t vaddr);

/* Section by index or name; false when there is none. */
bool xp_elf_section_at(const struct xp_elf *elf, size_t index, struct xp_elf_section *ret_section);
bool xp_elf_section(const struct xp_elf *elf, const char *name, struct xp_elf_section *ret_section);
size_t xp_elf_section_count(const struct xp_elf *elf);

/* One note. `index` runs over all notes of all note sections and segments; start with a zeroed cursor. */
struct xp_elf_note {
	const char *owner; /* owner_size bytes, the final NUL counted */
	size_t owner_size;
	const unsigned char *desc;
	size_t desc_size;
	uint32_t type;
};
struct xp_elf_note_cursor {
	size_t place;	 /* section index, then program header index */
	uint64_t offset; /* inside it */
};
bool xp_elf_note_next(const struct xp_elf *elf, struct xp_elf_note_cursor *cursor, struct xp_elf_note *ret_note);
bool xp_elf_note_is(const struct xp_elf_note *note, const char *owner, uint32_t type);

/* Build id as lower-case hex in the arena, NULL when the file has none. */
const char *xp_elf_build_id(const struct xp_elf *elf, struct xp_arena *arena);
/* DT_NEEDED number `index`, NULL behind the last. */
const char *xp_elf_needed(const struct xp_elf *elf, size_t index);
/* DT_SONAME, NULL: the file has none. */
const char *xp_elf_soname(const struct xp_elf *elf);

#endif
