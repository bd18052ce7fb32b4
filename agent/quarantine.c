/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuptiUnsubscribe frees the subscriber while other threads' calls may still read it. During the call libcupti's import of free leads here:
 * what it frees on the agent's thread is kept, and freed a while later. State: xp_agent.quarantine.
 */
#include "agent/agent.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct object {
	ElfW(Addr) wanted, base, low, high;
	const ElfW(Dyn) * dynamic;
};

static int find_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct object *object = arg;
	const ElfW(Dyn) *dynamic = NULL;
	ElfW(Addr) low = (ElfW(Addr)) - 1, high = 0;

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		ElfW(Addr) start = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type == PT_DYNAMIC)
			dynamic = (const void *)start;
		if (phdr->p_type != PT_LOAD)
			continue;
		low = start < low ? start : low;
		high = start + phdr->p_memsz > high ? start + phdr->p_memsz : high;
	}
	if (object->wanted < low || object->wanted >= high)
		return 0;
	object->base = info->dlpi_addr;
	object->low = low;
	object->high = high;
	object->dynamic = dynamic;
	return 1;
}

struct tables {
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Rela) * rela, *jump;
	size_t n_rela, n_jump;
};

/* glibc has relocated these addresses in place; where it has not (read-only dynamic section), they are still relative. */
static const void *at(const struct object *object, ElfW(Addr) address)
{
	return (const void *)(address < object->low ? object->base + address : address);
}

static struct tables read_tables(const struct object *object)
{
	struct tables tables = { 0 };

	for (const ElfW(Dyn) *dyn = object->dynamic; dyn && dyn->d_tag != DT_NULL; dyn++) {
		if (dyn->d_tag == DT_SYMTAB)
			tables.symbols = at(object, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_STRTAB)
			tables.names = at(object, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_RELA)
			tables.rela = at(object, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_RELASZ)
			tables.n_rela = dyn->d_un.d_val / sizeof(ElfW(Rela));
		else if (dyn->d_tag == DT_JMPREL)
			tables.jump = at(object, dyn->d_un.d_ptr);
		else if (dyn->d_tag == DT_PLTRELSZ)
			tables.n_jump = dyn->d_un.d_val / sizeof(ElfW(Rela));
	}
	return tables;
}

static void **find_import(const struct object *object, const struct tables *tables, const ElfW(Rela) * rela, size_t n)
{
	for (size_t i = 0; rela && i < n; i++) {
		unsigned type = ELF64_R_TYPE(rela[i].r_info);
		const ElfW(Sym) *symbol = &tables->symbols[ELF64_R_SYM(rela[i].r_info)];

		if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) && !strcmp(tables->names + symbol->st_name, "free"))
			return (void **)(object->base + rela[i].r_offset);
	}
	return NULL;
}

/* A slot that was never called still leads into the library's own stub, which would resolve itself over our hook. */
static void *real_free(const struct object *object, void *const *entry)
{
	ElfW(Addr) now = (ElfW(Addr)) * entry;

	return now >= object->low && now < object->high ? (void *)free : *entry;
}

bool xp_agent_quarantine_find(void *symbol_in_library)
{
	struct object object = { .wanted = (ElfW(Addr))symbol_in_library };
	struct tables tables;
	void **entry;

	if (!xp_agent_objects(find_object, &object) || !object.dynamic)
		return false;
	tables = read_tables(&object);
	if (!tables.symbols || !tables.names)
		return false;
	entry = find_import(&object, &tables, tables.jump, tables.n_jump);
	if (!entry)
		entry = find_import(&object, &tables, tables.rela, tables.n_rela);
	if (!entry)
		return false;
	xp_agent.quarantine.entry = entry;
	xp_agent.quarantine.real = (void (*)(void *))real_free(&object, entry);
	return true;
}

/* Other threads' frees pass. When there is no room left, the block is lost rather than freed too early. */
static void keep(void *block)
{
	struct quarantine *quarantine = &xp_agent.quarantine;

	if (!xp_agent_on_own_thread())
		quarantine->real(block);
	else if (block && quarantine->n < AGENT_QUARANTINE)
		quarantine->kept[quarantine->n++] = (struct kept){ block, xp_agent_now() };
}

/* The page may be read-only after relocation (RELRO); its protection comes back as far as it can be known. */
static bool set_entry(void *value, bool lock)
{
	uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE), page = (uintptr_t)xp_agent.quarantine.entry & ~(size - 1);

	if (mprotect((void *)page, size, PROT_READ | PROT_WRITE))
		return false;
	__atomic_store_n(xp_agent.quarantine.entry, value, __ATOMIC_SEQ_CST);
	if (lock)
		mprotect((void *)page, size, PROT_READ);
	return true;
}

struct page_query {
	uintptr_t address;
	bool relro;
};

static int in_relro(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct page_query *query = arg;

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];

		if (phdr->p_type == PT_GNU_RELRO && query->address - info->dlpi_addr - phdr->p_vaddr < phdr->p_memsz)
			query->relro = true;
	}
	return query->relro;
}

void xp_agent_unsubscribe(void)
{
	struct quarantine *quarantine = &xp_agent.quarantine;
	struct page_query query = { .address = (uintptr_t)quarantine->entry };
	void *before = *quarantine->entry;

	xp_agent_objects(in_relro, &query);
	if (!set_entry((void *)keep, false))
		return; /* still subscribed: harmless to the program, and the next arm says so */
	XP_AGENT_CALL(unsubscribe(xp_agent.subscriber));
	set_entry(before, query.relro);
	xp_agent.subscriber = NULL;
}

bool xp_agent_quarantine_release(void)
{
	struct quarantine *quarantine = &xp_agent.quarantine;
	uint64_t now_ns = xp_agent_now();
	unsigned n = 0;

	while (n < quarantine->n && now_ns - quarantine->kept[n].since_ns >= AGENT_QUARANTINE_MS * AGENT_NS_PER_MS)
		quarantine->real(quarantine->kept[n++].block);
	quarantine->n -= n;
	memmove(quarantine->kept, quarantine->kept + n, quarantine->n * sizeof(*quarantine->kept));
	return quarantine->n > 0;
}

void xp_agent_quarantine_make_room(void)
{
	while (xp_agent_quarantine_release() && xp_agent.quarantine.n > AGENT_QUARANTINE - AGENT_QUARANTINE_ROOM)
		xp_agent_sleep_ms(10);
}
