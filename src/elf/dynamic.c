/* SPDX-License-Identifier: Apache-2.0 */
/* The dynamic section as the loader reads it: needed libraries, kind, the dynamic symbols of files without section headers. No state. */
#include "elf/elf_priv.h"

#include <string.h>

static bool entry_at(const struct xp_elf_dynamic *dynamic, uint64_t index, Elf64_Dyn *ret_entry)
{
	if (index >= dynamic->n)
		return false;
	memcpy(ret_entry, dynamic->entries + index * sizeof(*ret_entry), sizeof(*ret_entry));
	return ret_entry->d_tag != DT_NULL;
}

static uint64_t value_of(const struct xp_elf_dynamic *dynamic, int64_t tag)
{
	Elf64_Dyn entry;

	for (uint64_t i = 0; entry_at(dynamic, i, &entry); i++)
		if (entry.d_tag == tag)
			return entry.d_un.d_val;
	return 0;
}

static void read_names(struct xp_elf *elf)
{
	struct xp_elf_dynamic *dynamic = &elf->dynamic;
	uint64_t size = value_of(dynamic, DT_STRSZ);
	const unsigned char *names = size ? xp_elf_at(elf, value_of(dynamic, DT_STRTAB), size) : NULL;

	if (!names || !xp_elf_trim_names(names, &size))
		return;
	dynamic->names = (const char *)names;
	dynamic->names_size = size;
}

static void read_relocations(struct xp_elf *elf)
{
	static const int64_t tags[2][2] = { { DT_RELA, DT_RELASZ }, { DT_JMPREL, DT_PLTRELSZ } };
	struct xp_elf_dynamic *dynamic = &elf->dynamic;

	for (int i = 0; i < 2; i++) {
		uint64_t size = value_of(dynamic, tags[i][1]);

		dynamic->rela[i].entries = xp_elf_at(elf, value_of(dynamic, tags[i][0]), size);
		dynamic->rela[i].n = dynamic->rela[i].entries ? size / sizeof(Elf64_Rela) : 0;
	}
}

/* Highest index in the chains of a DT_GNU_HASH table, plus one; 0 when it is damaged. */
static uint64_t count_gnu_hash(const struct xp_elf *elf, uint64_t vaddr)
{
	uint32_t head[4], last = 0, bucket, link;
	const unsigned char *bytes = xp_elf_at(elf, vaddr, sizeof(head));

	if (!bytes)
		return 0;
	memcpy(head, bytes, sizeof(head));
	uint64_t buckets = vaddr + sizeof(head) + 8ULL * head[2], chains = buckets + 4ULL * head[0];
	bytes = xp_elf_at(elf, buckets, 4ULL * head[0]);
	if (!bytes)
		return 0;
	for (uint32_t i = 0; i < head[0]; i++) {
		memcpy(&bucket, bytes + 4ULL * i, sizeof(bucket));
		if (bucket > last)
			last = bucket;
	}
	if (last < head[1])
		return head[1];
	for (;; last++) {
		bytes = xp_elf_at(elf, chains + 4ULL * (last - head[1]), sizeof(link));
		if (!bytes)
			return 0;
		memcpy(&link, bytes, sizeof(link));
		if (link & 1)
			return (uint64_t)last + 1;
	}
}

static uint64_t count_symbols(const struct xp_elf *elf)
{
	uint64_t vaddr = value_of(&elf->dynamic, DT_HASH);
	uint32_t head[2];
	const unsigned char *bytes = vaddr ? xp_elf_at(elf, vaddr, sizeof(head)) : NULL;

	if (bytes) {
		memcpy(head, bytes, sizeof(head));
		return head[1];
	}
	vaddr = value_of(&elf->dynamic, DT_GNU_HASH);
	return vaddr ? count_gnu_hash(elf, vaddr) : 0;
}

bool xp_elf_dynsym(const struct xp_elf *elf, struct xp_symtab *ret_table)
{
	if (xp_elf_symtab(elf, SHT_DYNSYM, ret_table))
		return true;
	uint64_t n = elf->dynamic.names ? count_symbols(elf) : 0;
	const unsigned char *entries = n ? xp_elf_at(elf, value_of(&elf->dynamic, DT_SYMTAB), n * sizeof(Elf64_Sym)) : NULL;
	if (!entries)
		return false;
	*ret_table = (struct xp_symtab){
		.entries = entries, .n = n, .names = elf->dynamic.names, .names_size = elf->dynamic.names_size, .dynamic = true
	};
	return true;
}

static void read_versions(struct xp_elf *elf)
{
	struct xp_elf_dynamic *dynamic = &elf->dynamic;
	struct xp_symtab table;
	uint64_t versym = value_of(dynamic, DT_VERSYM);

	dynamic->verdef_vaddr = value_of(dynamic, DT_VERDEF);
	dynamic->n_verdef = value_of(dynamic, DT_VERDEFNUM);
	if (!versym || !xp_elf_dynsym(elf, &table))
		return;
	dynamic->versym = xp_elf_at(elf, versym, table.n * sizeof(Elf64_Versym));
	dynamic->n_versym = dynamic->versym ? table.n : 0;
}

void xp_elf_read_dynamic(struct xp_elf *elf)
{
	struct xp_elf_dynamic *dynamic = &elf->dynamic;
	Elf64_Phdr header;

	for (size_t i = 0; xp_elf_program_header(elf, i, &header); i++) {
		if (header.p_type != PT_DYNAMIC)
			continue;
		dynamic->entries = xp_elf_bytes(elf, header.p_offset, header.p_filesz);
		dynamic->n = dynamic->entries ? header.p_filesz / sizeof(Elf64_Dyn) : 0;
		break;
	}
	if (!dynamic->n)
		return;
	dynamic->soname = value_of(dynamic, DT_SONAME);
	dynamic->pie = value_of(dynamic, DT_FLAGS_1) & DF_1_PIE;
	read_names(elf);
	read_relocations(elf);
	read_versions(elf);
}

const char *xp_elf_needed(const struct xp_elf *elf, size_t index)
{
	const struct xp_elf_dynamic *dynamic = &elf->dynamic;
	Elf64_Dyn entry;

	for (uint64_t i = 0; dynamic->names && entry_at(dynamic, i, &entry); i++)
		if (entry.d_tag == DT_NEEDED && entry.d_un.d_val < dynamic->names_size && !index--)
			return dynamic->names + entry.d_un.d_val;
	return NULL;
}

const char *xp_elf_soname(const struct xp_elf *elf)
{
	const struct xp_elf_dynamic *dynamic = &elf->dynamic;
	uint64_t at = dynamic->n ? value_of(dynamic, DT_SONAME) : 0;

	return at && dynamic->names && at < dynamic->names_size ? dynamic->names + at : NULL;
}

/* An old PIE has no flag: it is told from a library by its loader and its missing library name. */
enum xp_elf_kind xp_elf_kind(const struct xp_elf *elf)
{
	if (elf->header.e_type == ET_EXEC)
		return XP_ELF_EXECUTABLE;
	if (elf->dynamic.pie || (elf->has_interp && !elf->dynamic.soname))
		return XP_ELF_PIE;
	return XP_ELF_SHARED;
}

bool xp_elf_is_static(const struct xp_elf *elf)
{
	return !xp_elf_needed(elf, 0) && !elf->has_interp;
}
