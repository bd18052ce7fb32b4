/* SPDX-License-Identifier: Apache-2.0 */
/* Sections and notes of an image. In: struct xp_elf. Out: checked views of its bytes. No state. */
#include "elf/elf_priv.h"

#include <stdio.h>
#include <string.h>

bool xp_elf_trim_names(const unsigned char *names, uint64_t *size)
{
	while (*size && names[*size - 1])
		--*size;
	return *size;
}

static bool read_header(const struct xp_elf *elf, size_t index, Elf64_Shdr *ret_header)
{
	if (index >= elf->n_sections)
		return false;
	const unsigned char *bytes = xp_elf_bytes(elf, elf->header.e_shoff + index * sizeof(*ret_header), sizeof(*ret_header));
	if (!bytes)
		return false;
	memcpy(ret_header, bytes, sizeof(*ret_header));
	return true;
}

/* Name in the section name table, "" when it lies outside. */
static const char *name_at(const struct xp_elf *elf, uint32_t offset)
{
	Elf64_Shdr names;

	if (!read_header(elf, elf->names_section, &names) || names.sh_type == SHT_NOBITS)
		return "";
	const unsigned char *bytes = xp_elf_bytes(elf, names.sh_offset, names.sh_size);
	if (!bytes || offset >= names.sh_size || !memchr(bytes + offset, 0, names.sh_size - offset))
		return "";
	return (const char *)bytes + offset;
}

bool xp_elf_section_at(const struct xp_elf *elf, size_t index, struct xp_elf_section *ret_section)
{
	Elf64_Shdr header;

	if (!read_header(elf, index, &header))
		return false;
	*ret_section = (struct xp_elf_section){
		.name = name_at(elf, header.sh_name),
		.type = header.sh_type,
		.link = header.sh_link,
		.info = header.sh_info,
		.flags = header.sh_flags,
		.vaddr = header.sh_addr,
		.offset = header.sh_offset,
		.size = header.sh_size,
		.entry_size = header.sh_entsize,
		.bytes = header.sh_type == SHT_NOBITS ? NULL : xp_elf_bytes(elf, header.sh_offset, header.sh_size),
	};
	return true;
}

bool xp_elf_section(const struct xp_elf *elf, const char *name, struct xp_elf_section *ret_section)
{
	struct xp_elf_section section;

	for (size_t i = 1; xp_elf_section_at(elf, i, &section); i++) {
		if (strcmp(section.name, name))
			continue;
		*ret_section = section;
		return true;
	}
	return false;
}

size_t xp_elf_section_count(const struct xp_elf *elf)
{
	return elf->n_sections;
}

bool xp_elf_symtab(const struct xp_elf *elf, uint32_t section_type, struct xp_symtab *ret_table)
{
	struct xp_elf_section symbols, names;

	for (size_t i = 1; xp_elf_section_at(elf, i, &symbols); i++) {
		if (symbols.type != section_type)
			continue;
		if (!symbols.bytes || symbols.entry_size != sizeof(Elf64_Sym) || symbols.size < 2 * sizeof(Elf64_Sym))
			return false;
		if (!xp_elf_section_at(elf, symbols.link, &names) || !names.bytes)
			return false;
		*ret_table = (struct xp_symtab){ .entries = symbols.bytes,
						 .n = symbols.size / sizeof(Elf64_Sym),
						 .names = (const char *)names.bytes,
						 .names_size = names.size,
						 .dynamic = section_type == SHT_DYNSYM };
		return xp_elf_trim_names(names.bytes, &ret_table->names_size);
	}
	return false;
}

/* Bytes that hold notes at this place: note sections first, since they stay true in separate debug files, then note segments. */
static bool note_place(const struct xp_elf *elf, size_t place, const unsigned char **ret_bytes, uint64_t *ret_size, uint64_t *ret_align)
{
	struct xp_elf_section section;
	Elf64_Phdr header;

	*ret_bytes = NULL;
	if (place < elf->n_sections) {
		if (xp_elf_section_at(elf, place, &section) && section.type == SHT_NOTE) {
			*ret_bytes = section.bytes;
			*ret_size = section.size;
			*ret_align = 4;
		}
		return true;
	}
	if (!xp_elf_program_header(elf, place - elf->n_sections, &header))
		return false;
	if (header.p_type == PT_NOTE) {
		*ret_bytes = xp_elf_bytes(elf, header.p_offset, header.p_filesz);
		*ret_size = header.p_filesz;
		*ret_align = header.p_align == 8 ? 8 : 4;
	}
	return true;
}

static uint64_t align_up(uint64_t value, uint64_t align)
{
	return (value + align - 1) & ~(align - 1);
}

static bool read_note(const unsigned char *bytes, uint64_t size, uint64_t align, uint64_t *offset, struct xp_elf_note *ret_note)
{
	Elf64_Nhdr header;

	if (*offset > size || size - *offset < sizeof(header))
		return false;
	memcpy(&header, bytes + *offset, sizeof(header));
	uint64_t owner = *offset + sizeof(header), desc = align_up(owner + header.n_namesz, align);
	if (header.n_namesz > size - owner || desc > size || header.n_descsz > size - desc)
		return false;
	*ret_note = (struct xp_elf_note){ .owner = (const char *)bytes + owner,
					  .owner_size = header.n_namesz,
					  .desc = bytes + desc,
					  .desc_size = header.n_descsz,
					  .type = header.n_type };
	*offset = align_up(desc + header.n_descsz, align);
	return true;
}

bool xp_elf_note_next(const struct xp_elf *elf, struct xp_elf_note_cursor *cursor, struct xp_elf_note *ret_note)
{
	const unsigned char *bytes;
	uint64_t size = 0, align = 4;

	for (; note_place(elf, cursor->place, &bytes, &size, &align); cursor->place++, cursor->offset = 0)
		if (bytes && read_note(bytes, size, align, &cursor->offset, ret_note))
			return true;
	return false;
}

bool xp_elf_note_is(const struct xp_elf_note *note, const char *owner, uint32_t type)
{
	size_t len = strlen(owner);

	/* Go counts its padding as part of the name. */
	if (note->type != type || note->owner_size <= len || note->owner_size > len + 4 || memcmp(note->owner, owner, len) != 0)
		return false;
	for (size_t i = len; i < note->owner_size; i++)
		if (note->owner[i])
			return false;
	return true;
}

const char *xp_elf_build_id(const struct xp_elf *elf, struct xp_arena *arena)
{
	struct xp_elf_note_cursor cursor = { 0 };
	struct xp_elf_note note;

	while (xp_elf_note_next(elf, &cursor, &note)) {
		if (!xp_elf_note_is(&note, "GNU", NT_GNU_BUILD_ID) || !note.desc_size || note.desc_size > 64)
			continue;
		char *text = xp_arena_zalloc(arena, note.desc_size * 2 + 1);

		for (size_t i = 0; i < note.desc_size; i++)
			snprintf(text + 2 * i, 3, "%02x", note.desc[i]);
		return text;
	}
	return NULL;
}
