/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of a batch to names. In: addresses. Out: struct xp_symbolized, by file, most addresses first. Owns the files it opens. */
#include "elf/symbolize.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "elf/kallsyms.h"
#include "elf/modules.h"
#include "elf/perf_map.h"
#include "elf/symbols.h"

const char *const xp_frame_kind_names[XP_FRAME_KIND_COUNT] = {
	[XP_FRAME_NATIVE] = "native", [XP_FRAME_PYTHON] = "python",   [XP_FRAME_KERNEL] = "kernel",
	[XP_FRAME_JIT] = "jit",	      [XP_FRAME_UNKNOWN] = "unknown",
};

struct xp_symbolizer {
	struct xp_target *target;
	struct xp_modules *modules;
	struct xp_arena *arena; /* of the modules */
	uint64_t deadline_ns;
	struct xp_symbolize_account account;
};

/* One address of the batch. */
struct job {
	uint64_t address, vaddr;
	const struct xp_mapping *mapping; /* NULL: none of a file */
	struct xp_symbolized *out;
};

/* Jobs of one file, beside each other. */
struct group {
	struct job *jobs;
	size_t n;
};

int xp_symbolizer_new(struct xp_target *target, uint64_t deadline_ns, struct xp_symbolizer **ret_symbolizer, struct xp_err *reterr)
{
	struct xp_symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));

	if (!symbolizer)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "symbolizer");
	symbolizer->target = target;
	symbolizer->deadline_ns = deadline_ns;
	symbolizer->modules = xp_modules_new(target);
	symbolizer->arena = xp_modules_arena(symbolizer->modules);
	*ret_symbolizer = symbolizer;
	return 0;
}

void xp_symbolizer_free(struct xp_symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	xp_modules_free(symbolizer->modules);
	free(symbolizer);
}

struct xp_symbolize_account xp_symbolizer_account(const struct xp_symbolizer *symbolizer)
{
	struct xp_symbolize_account account = symbolizer->account;

	account.missing = xp_modules_missing(symbolizer->modules, &account.n_missing);
	return account;
}

static bool late(struct xp_symbolizer *symbolizer)
{
	struct timespec now;

	if (!symbolizer->deadline_ns)
		return false;
	clock_gettime(CLOCK_MONOTONIC, &now);
	symbolizer->account.deadline_reached |= (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec > symbolizer->deadline_ns;
	return symbolizer->account.deadline_reached;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_file(const void *a, const void *b)
{
	const struct job *x = a, *y = b;
	static const struct xp_mapping none;
	const struct xp_mapping *m = x->mapping ? x->mapping : &none, *n = y->mapping ? y->mapping : &none;
	int order = compare(m->inode, n->inode);

	order = order ? order : compare(m->dev_major, n->dev_major);
	order = order ? order : compare(m->dev_minor, n->dev_minor);
	return order ? order : compare(x->address, y->address);
}

static int by_address(const void *a, const void *b)
{
	return compare(((const struct job *)a)->address, ((const struct job *)b)->address);
}

static int by_vaddr(const void *a, const void *b)
{
	return compare(((const struct job *)a)->vaddr, ((const struct job *)b)->vaddr);
}

static int by_size(const void *a, const void *b)
{
	return compare(((const struct group *)b)->n, ((const struct group *)a)->n);
}

static bool is_kernel(uint64_t address)
{
	return address >> 63;
}

static struct xp_opt_u64 some(uint64_t value)
{
	return (struct xp_opt_u64){ .set = true, .v = value };
}

static bool has_file(const struct xp_mapping *mapping)
{
	return mapping && (mapping->inode || !strcmp(mapping->path, "[vdso]"));
}

/* What the mapping alone tells. */
static void place(struct job *job, const struct xp_mapping *mapping)
{
	job->mapping = has_file(mapping) ? mapping : NULL;
	if (!job->mapping)
		return;
	job->out->kind = XP_FRAME_NATIVE;
	job->out->module_path = mapping->path;
	job->out->file_offset = some(job->address - mapping->start + mapping->offset);
}

/* Addresses in no mapping get a second chance on new maps; what the old ones knew stays known. */
static void place_all(struct xp_symbolizer *symbolizer, struct job *jobs, size_t n)
{
	xp_auto_err ignored = { 0 }; /* a target that is gone keeps its last maps */
	bool fresh = false;

	for (size_t i = 0; i < n; i++) {
		uint64_t address = jobs[i].address;
		const struct xp_mapping *mapping = xp_maps_find(xp_target_maps(symbolizer->target), address);

		if (!mapping && !fresh && !is_kernel(address)) {
			fresh = true;
			xp_target_maps_refresh(symbolizer->target, &ignored);
			mapping = xp_maps_find(xp_target_maps(symbolizer->target), address);
		}
		place(&jobs[i], mapping);
	}
}

/* Another file lies at the path now. */
static bool replaced(const struct xp_symbolizer *symbolizer, const struct xp_mapping *mapping)
{
	xp_auto_fd fd = mapping->path[0] == '/' ? xp_target_path_open(symbolizer->target, mapping->path) : -ENOENT;
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && !xp_target_same_file(symbolizer->target, mapping, &st);
}

/* A replaced file gives no names: its debug file may be replaced as well. Its own bounds of functions still hold. */
static void load_names(struct xp_symbolizer *symbolizer, struct xp_module *module, const struct xp_mapping *mapping)
{
	if (module->loaded)
		return;
	module->loaded = true;
	if (replaced(symbolizer, mapping)) {
		xp_modules_miss(symbolizer->modules, module->path);
		return;
	}
	xp_auto_fd root = xp_target_openat(symbolizer->target, "root");
	xp_elf_load_symbols(module->elf, root >= 0 ? root : -1, module->path);
}

/* The table's text ends at the version, if there is one. */
static const char *plain_name(struct xp_arena *arena, const struct xp_symbol *symbol)
{
	return symbol->name[symbol->name_len] ? xp_arena_dup(arena, symbol->name, symbol->name_len) : symbol->name;
}

static void name_one(struct xp_symbolizer *symbolizer, const struct xp_module *module, const struct job *job,
		     const struct xp_symbol *symbol)
{
	uint64_t start = symbol->address, offset;
	struct xp_cfi cfi;

	if (symbol->name) {
		job->out->symbol = plain_name(symbolizer->arena, symbol);
		job->out->symbol_offset = some(job->vaddr - symbol->address);
	} else if (module->framed && xp_cfi_find(&module->frames, module->elf, job->vaddr, &cfi)) {
		start = cfi.fde.start;
	} else {
		return;
	}
	if (xp_elf_to_offset(module->elf, start, &offset))
		job->out->function_offset = some(offset);
}

/* Addresses that lie in no segment of the file move behind the others; returns how many are left. */
static size_t keep_known(const struct xp_module *module, const struct group *group)
{
	size_t kept = 0;

	for (size_t i = 0; i < group->n; i++) {
		struct job job = group->jobs[i];

		if (!xp_module_vaddr(module, job.mapping, job.address, &job.vaddr))
			continue;
		group->jobs[i] = group->jobs[kept];
		group->jobs[kept++] = job;
	}
	return kept;
}

static void name_file(struct xp_symbolizer *symbolizer, const struct group *group)
{
	struct xp_module *module = xp_modules_at(symbolizer->modules, group->jobs[0].mapping);
	xp_auto(xp_arena_free) struct xp_arena *scratch = xp_arena_new();

	if (!module->elf)
		return;
	load_names(symbolizer, module, group->jobs[0].mapping);
	for (size_t i = 0; i < group->n; i++)
		group->jobs[i].out->build_id = module->build_id;
	size_t n = keep_known(module, group);
	uint64_t *vaddrs = xp_arena_array(scratch, uint64_t, n);
	struct xp_symbol *symbols = xp_arena_array(scratch, struct xp_symbol, n);
	qsort(group->jobs, n, sizeof(*group->jobs), by_vaddr);
	for (size_t i = 0; i < n; i++)
		vaddrs[i] = group->jobs[i].vaddr;
	xp_symbols_resolve(module->elf, vaddrs, n, symbols);
	for (size_t i = 0; i < n; i++)
		name_one(symbolizer, module, &group->jobs[i], &symbols[i]);
}

static bool same_file(const struct job *a, const struct job *b)
{
	const struct xp_mapping *m = a->mapping, *n = b->mapping;

	return m->inode == n->inode && m->dev_major == n->dev_major && m->dev_minor == n->dev_minor;
}

/* Jobs are sorted by file. */
static void name_files(struct xp_symbolizer *symbolizer, struct job *jobs, size_t n)
{
	xp_auto(xp_arena_free) struct xp_arena *scratch = xp_arena_new();
	struct group *groups = xp_arena_array(scratch, struct group, n);
	size_t n_groups = 0;

	for (size_t i = 0; i < n; i++) {
		if (!jobs[i].mapping)
			continue;
		if (!n_groups || !same_file(&jobs[i], groups[n_groups - 1].jobs))
			groups[n_groups++] = (struct group){ .jobs = &jobs[i] };
		groups[n_groups - 1].n++;
	}
	qsort(groups, n_groups, sizeof(*groups), by_size);
	for (size_t i = 0; i < n_groups && !late(symbolizer); i++)
		name_file(symbolizer, &groups[i]);
}

static void take_name(const struct job *job, const struct xp_code_name *name, enum xp_frame_kind kind)
{
	job->out->kind = kind;
	job->out->symbol = name->name;
	if (name->name)
		job->out->symbol_offset = some(job->address - name->start);
	if (name->module)
		job->out->module_path = name->module;
}

/* Code in no ELF file: only the JIT itself can tell. */
static bool wants_perf_map(const struct xp_symbolizer *symbolizer, const struct job *job)
{
	if (!job->mapping)
		return !is_kernel(job->address);
	/* Behind the deadline no further file is opened. */
	return !symbolizer->account.deadline_reached && !xp_modules_at(symbolizer->modules, job->mapping)->elf;
}

/* Moves the chosen jobs to the front, by address, and lists their addresses. */
static size_t choose(const struct xp_symbolizer *symbolizer, struct job *jobs, size_t n, uint64_t *addresses,
		     bool (*wanted)(const struct xp_symbolizer *, const struct job *))
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct job job = jobs[i];

		if (!wanted(symbolizer, &job))
			continue;
		jobs[i] = jobs[kept];
		jobs[kept++] = job;
	}
	qsort(jobs, kept, sizeof(*jobs), by_address);
	for (size_t i = 0; i < kept; i++)
		addresses[i] = jobs[i].address;
	return kept;
}

static void name_jit(struct xp_symbolizer *symbolizer, struct job *jobs, size_t n, uint64_t *addresses, struct xp_code_name *names)
{
	struct xp_perf_map_account account = { 0 };
	size_t chosen = choose(symbolizer, jobs, n, addresses, wants_perf_map), size;
	xp_auto_text text = chosen ? xp_perf_map_read(symbolizer->target, &size) : NULL;

	if (!text)
		return;
	xp_perf_map_resolve(text, size, addresses, chosen, symbolizer->arena, names, &account);
	symbolizer->account.perf_map_lines = account.lines;
	symbolizer->account.perf_map_broken_lines = account.broken;
	for (size_t i = 0; i < chosen; i++)
		if (names[i].name)
			take_name(&jobs[i], &names[i], XP_FRAME_JIT);
}

static bool wants_kernel(const struct xp_symbolizer *symbolizer, const struct job *job)
{
	return is_kernel(job->address) && !job->mapping && job->out->kind == XP_FRAME_UNKNOWN;
}

static void name_kernel(struct xp_symbolizer *symbolizer, struct job *jobs, size_t n, uint64_t *addresses, struct xp_code_name *names)
{
	size_t chosen = choose(symbolizer, jobs, n, addresses, wants_kernel);

	if (!chosen)
		return;
	xp_auto_fd fd = late(symbolizer) ? -1 : open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	symbolizer->account.kernel_readable |= xp_kallsyms_resolve(fd, addresses, chosen, symbolizer->arena, names);
	for (size_t i = 0; i < chosen; i++)
		take_name(&jobs[i], &names[i], XP_FRAME_KERNEL);
}

int xp_symbolize(struct xp_symbolizer *symbolizer, const uint64_t *addresses, size_t n, struct xp_symbolized *ret, struct xp_err *reterr)
{
	xp_auto(xp_arena_free) struct xp_arena *scratch = xp_arena_new();
	struct job *jobs = xp_arena_array(scratch, struct job, n);
	uint64_t *chosen = xp_arena_array(scratch, uint64_t, n);
	struct xp_code_name *names = xp_arena_array(scratch, struct xp_code_name, n);

	for (size_t i = 0; i < n; i++) {
		ret[i] = (struct xp_symbolized){ .address = addresses[i], .kind = XP_FRAME_UNKNOWN };
		jobs[i] = (struct job){ .address = addresses[i], .out = &ret[i] };
	}
	place_all(symbolizer, jobs, n);
	qsort(jobs, n, sizeof(*jobs), by_file);
	name_files(symbolizer, jobs, n);
	name_jit(symbolizer, jobs, n, chosen, names);
	name_kernel(symbolizer, jobs, n, chosen, names);
	return 0;
}
