/* SPDX-License-Identifier: Apache-2.0 */
/* Opening an ELF file. In: a descriptor or bytes. Out: struct xp_elf with checked headers and segments. Owns the mapping. */
#include "elf/elf_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

const unsigned char *xp_elf_bytes(const struct xp_elf *elf, uint64_t offset, uint64_t size)
{
	if (offset > elf->size || size > elf->size - offset)
		return NULL;
	return elf->data + offset;
}

bool xp_elf_program_header(const struct xp_elf *elf, size_t index, Elf64_Phdr *ret_header)
{
	if (index >= elf->header.e_phnum || elf->header.e_phentsize != sizeof(*ret_header))
		return false;
	const unsigned char *bytes = elf->header.e_phoff > elf->size
					     ? NULL
					     : xp_elf_bytes(elf, elf->header.e_phoff + index * sizeof(*ret_header), sizeof(*ret_header));
	if (!bytes)
		return false;
	memcpy(ret_header, bytes, sizeof(*ret_header));
	return true;
}

static const char *machine_name(unsigned machine)
{
	switch (machine) {
	case EM_386:
		return "i386";
	case EM_AARCH64:
		return "aarch64";
	case EM_ARM:
		return "arm";
	case EM_RISCV:
		return "riscv";
	case EM_PPC64:
		return "ppc64";
	case EM_S390:
		return "s390";
	case EM_CUDA:
		return "cuda";
	case EM_BPF:
		return "bpf";
	default:
		return "of another machine";
	}
}

static int check_header(struct xp_elf *elf, struct xp_err *reterr)
{
	const unsigned char *bytes = xp_elf_bytes(elf, 0, EI_NIDENT);

	if (!bytes || memcmp(bytes, ELFMAG, SELFMAG))
		return xp_fail(reterr, XP_E_SYMBOL_NOT_FOUND, "%s is not an ELF file, so it has no functions to look up", elf->name);
	if (bytes[EI_CLASS] != ELFCLASS64) {
		Elf32_Ehdr *small = (Elf32_Ehdr *)(uintptr_t)bytes; /* only to name the place of the machine field */
		uint16_t machine = 0;
		const unsigned char *at = xp_elf_bytes(elf, (uint64_t)((unsigned char *)&small->e_machine - bytes), sizeof(machine));

		if (at)
			memcpy(&machine, at, sizeof(machine));
		return xp_fail(reterr, XP_E_UNSUPPORTED_TARGET, "%s is a 32-bit program (%s); xprobe reads 64-bit x86_64 files", elf->name,
			       machine == EM_X86_64 ? "x32" : machine_name(machine));
	}
	bytes = xp_elf_bytes(elf, 0, sizeof(elf->header));
	if (!bytes)
		return xp_fail(reterr, XP_E_SYMBOL_NOT_FOUND, "%s ends within its ELF header", elf->name);
	memcpy(&elf->header, bytes, sizeof(elf->header));
	if (bytes[EI_DATA] != ELFDATA2LSB || elf->header.e_machine != EM_X86_64)
		return xp_fail(reterr, XP_E_UNSUPPORTED_TARGET, "%s is %s%s; xprobe reads x86_64 files", elf->name,
			       bytes[EI_DATA] != ELFDATA2LSB ? "big-endian, " : "", machine_name(elf->header.e_machine));
	return 0;
}

/* The parts of a loadable segment that lie behind the end of the file do not exist for us. */
static void add_segment(struct xp_elf *elf, const Elf64_Phdr *header)
{
	struct xp_elf_segment *segment = &elf->segments[elf->n_segments];

	if (header->p_offset >= elf->size || !header->p_filesz)
		return;
	segment->vaddr = header->p_vaddr;
	segment->offset = header->p_offset;
	segment->file_size = header->p_filesz;
	if (segment->file_size > elf->size - segment->offset)
		segment->file_size = elf->size - segment->offset;
	if (segment->vaddr > UINT64_MAX - segment->file_size)
		return;
	segment->exec = header->p_flags & PF_X;
	segment->write = header->p_flags & PF_W;
	elf->n_segments++;
}

static int read_segments(struct xp_elf *elf, struct xp_err *reterr)
{
	Elf64_Phdr header;

	elf->segments = calloc((size_t)elf->header.e_phnum + 1, sizeof(*elf->segments));
	if (!elf->segments)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "segments of %s", elf->name);
	for (size_t i = 0; xp_elf_program_header(elf, i, &header); i++) {
		if (header.p_type == PT_LOAD)
			add_segment(elf, &header);
		if (header.p_type == PT_INTERP)
			elf->has_interp = true;
	}
	return 0;
}

static void read_section_count(struct xp_elf *elf)
{
	const Elf64_Ehdr *header = &elf->header;
	const unsigned char *bytes = header->e_shoff ? xp_elf_bytes(elf, header->e_shoff, sizeof(Elf64_Shdr)) : NULL;
	Elf64_Shdr first;

	if (!bytes || header->e_shentsize != sizeof(first))
		return;
	memcpy(&first, bytes, sizeof(first));
	elf->n_sections = header->e_shnum ? header->e_shnum : first.sh_size;
	elf->names_section = header->e_shstrndx == SHN_XINDEX ? first.sh_link : header->e_shstrndx;
	if (elf->n_sections > (elf->size - header->e_shoff) / sizeof(first))
		elf->n_sections = (elf->size - header->e_shoff) / sizeof(first);
}

/* Takes the image; completes or closes it. */
static int finish(struct xp_elf *image, const char *name, struct xp_elf **ret_elf, struct xp_err *reterr)
{
	xp_auto(xp_elf_close) struct xp_elf *elf = image;

	elf->name = strdup(name);
	if (!elf->name)
		return xp_fail_sys(reterr, ENOMEM, "strdup", "%s", name);
	int rc = check_header(elf, reterr);
	if (!rc)
		rc = read_segments(elf, reterr);
	if (rc)
		return rc;
	read_section_count(elf);
	xp_elf_read_dynamic(elf);
	*ret_elf = xp_steal(&elf);
	return 0;
}

int xp_elf_open(int fd, const char *name, struct xp_elf **ret_elf, struct xp_err *reterr)
{
	struct stat st;

	if (fstat(fd, &st))
		return xp_fail_sys(reterr, errno, "fstat", "%s", name);
	if (!S_ISREG(st.st_mode) || st.st_size <= 0)
		return xp_fail(reterr, XP_E_SYMBOL_NOT_FOUND, "%s is not a regular file with content", name);
	struct xp_elf *elf = calloc(1, sizeof(*elf));
	if (!elf)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "%s", name);
	void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED) {
		free(elf);
		return xp_fail_sys(reterr, errno, "mmap", "%s", name);
	}
	elf->data = data;
	elf->size = (size_t)st.st_size;
	elf->mapped = true;
	return finish(elf, name, ret_elf, reterr);
}

int xp_elf_open_bytes(void *bytes, size_t size, const char *name, struct xp_elf **ret_elf, struct xp_err *reterr)
{
	struct xp_elf *elf = calloc(1, sizeof(*elf));

	if (!elf) {
		free(bytes);
		return xp_fail_sys(reterr, ENOMEM, "calloc", "%s", name);
	}
	elf->data = bytes;
	elf->size = size;
	return finish(elf, name, ret_elf, reterr);
}

void xp_elf_let_go(const struct xp_elf *elf, uint64_t index)
{
	enum { LARGE = 64 << 20, EVERY = 1 << 16 };

	if (index % EVERY == 0 && elf->mapped && elf->size >= LARGE)
		madvise((void *)(uintptr_t)elf->data, elf->size, MADV_DONTNEED);
}

void xp_elf_close(struct xp_elf *elf)
{
	if (!elf)
		return;
	xp_elf_close(elf->debug);
	if (elf->mapped)
		munmap((void *)(uintptr_t)elf->data, elf->size);
	else
		free((void *)(uintptr_t)elf->data);
	free(elf->segments);
	free(elf->name);
	free(elf);
}

const char *xp_elf_name(const struct xp_elf *elf)
{
	return elf->name;
}

const struct xp_elf_segment *xp_elf_segments(const struct xp_elf *elf, size_t *ret_n)
{
	*ret_n = elf->n_segments;
	return elf->segments;
}

const struct xp_elf_segment *xp_elf_segment_at(const struct xp_elf *elf, uint64_t vaddr)
{
	for (size_t i = 0; i < elf->n_segments; i++)
		if (vaddr >= elf->segments[i].vaddr && vaddr - elf->segments[i].vaddr < elf->segments[i].file_size)
			return &elf->segments[i];
	return NULL;
}

/* Two segments may share a page of the file; the executable one is meant where both claim an offset. */
const struct xp_elf_segment *xp_elf_segment_of_offset(const struct xp_elf *elf, uint64_t offset)
{
	const struct xp_elf_segment *other = NULL;

	for (size_t i = 0; i < elf->n_segments; i++) {
		const struct xp_elf_segment *segment = &elf->segments[i];

		if (offset < segment->offset || offset - segment->offset >= segment->file_size)
			continue;
		if (segment->exec)
			return segment;
		other = segment;
	}
	return other;
}

const unsigned char *xp_elf_at(const struct xp_elf *elf, uint64_t vaddr, uint64_t size)
{
	const struct xp_elf_segment *segment = xp_elf_segment_at(elf, vaddr);

	if (!segment || size > segment->file_size - (vaddr - segment->vaddr))
		return NULL;
	return xp_elf_bytes(elf, segment->offset + (vaddr - segment->vaddr), size);
}

bool xp_elf_to_offset(const struct xp_elf *elf, uint64_t vaddr, uint64_t *ret_offset)
{
	const struct xp_elf_segment *segment = xp_elf_segment_at(elf, vaddr);

	if (segment)
		*ret_offset = segment->offset + (vaddr - segment->vaddr);
	return segment;
}

bool xp_elf_to_vaddr(const struct xp_elf *elf, uint64_t offset, uint64_t *ret_vaddr)
{
	const struct xp_elf_segment *segment = xp_elf_segment_of_offset(elf, offset);

	if (segment)
		*ret_vaddr = segment->vaddr + (offset - segment->offset);
	return segment;
}

bool xp_elf_is_text(const struct xp_elf *elf, uint64_t vaddr)
{
	const struct xp_elf_segment *segment = xp_elf_segment_at(elf, vaddr);

	return segment && segment->exec;
}
