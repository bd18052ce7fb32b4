/* SPDX-License-Identifier: Apache-2.0 */
/* Mapped files by device and inode. In: mappings. Out: open images with their frame tables. Owns the images; none is ever reopened. */
#include "elf/modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/hash.h"

enum { VDSO_MAX = 1 << 20, MISSING_MAX = 1000 };

struct xp_modules {
	struct xp_target *target;
	struct xp_arena *arena;
	struct xp_map by_file; /* hash of device and inode -> struct xp_module * */
	const char **missing;
	size_t n_missing;
};

static void close_module(void *object)
{
	struct xp_module *module = object;

	xp_cfi_index_done(&module->frames);
	xp_elf_close(module->elf);
}

struct xp_modules *xp_modules_new(struct xp_target *target)
{
	struct xp_arena *arena = xp_arena_new();
	struct xp_modules *modules = xp_arena_new_of(arena, struct xp_modules);

	modules->arena = arena;
	modules->target = target;
	modules->missing = xp_arena_array(arena, const char *, MISSING_MAX);
	return modules;
}

void xp_modules_free(struct xp_modules *modules)
{
	if (!modules)
		return;
	xp_map_done(&modules->by_file);
	xp_arena_free(modules->arena);
}

void xp_modules_miss(struct xp_modules *modules, const char *path)
{
	for (size_t i = 0; i < modules->n_missing; i++)
		if (!strcmp(modules->missing[i], path))
			return;
	if (modules->n_missing < MISSING_MAX)
		modules->missing[modules->n_missing++] = xp_arena_str(modules->arena, path);
}

const char *const *xp_modules_missing(const struct xp_modules *modules, size_t *ret_n)
{
	*ret_n = modules->n_missing;
	return modules->missing;
}

struct xp_arena *xp_modules_arena(const struct xp_modules *modules)
{
	return modules->arena;
}

static bool is_vdso(const struct xp_mapping *mapping)
{
	return !mapping->inode && !strcmp(mapping->path, "[vdso]");
}

static int open_vdso(const struct xp_modules *modules, const struct xp_mapping *mapping, struct xp_elf **ret_elf, struct xp_err *reterr)
{
	size_t size = mapping->end - mapping->start;
	struct iovec remote = { (void *)(uintptr_t)mapping->start, size };
	struct iovec local = { size > VDSO_MAX ? NULL : malloc(size), size };

	if (!local.iov_base)
		return xp_fail_sys(reterr, ENOMEM, "malloc", "%zu bytes of vDSO", size);
	if (process_vm_readv((pid_t)xp_target_pid(modules->target), &local, 1, &remote, 1, 0) != (ssize_t)size) {
		int errnum = errno;

		free(local.iov_base);
		return xp_fail_sys(reterr, errnum, "process_vm_readv", "vDSO of process %u", xp_target_pid(modules->target));
	}
	return xp_elf_open_bytes(local.iov_base, size, "[vdso]", ret_elf, reterr);
}

static int open_file(const struct xp_modules *modules, const struct xp_mapping *mapping, struct xp_elf **ret_elf, struct xp_err *reterr)
{
	xp_auto_fd fd = -1;
	int rc = xp_target_open_mapping(modules->target, mapping, &fd, reterr);

	return rc ? rc : xp_elf_open(fd, mapping->path, ret_elf, reterr);
}

/* A file that is no ELF file (a JIT's code buffer, say) is not missed; one that cannot be read is. */
static struct xp_module *open_module(struct xp_modules *modules, const struct xp_mapping *mapping)
{
	struct xp_module *module = xp_arena_new_of(modules->arena, struct xp_module);
	xp_auto_err err = { 0 };

	module->path = xp_arena_str(modules->arena, mapping->path);
	module->device = (uint64_t)mapping->dev_major << 32 | mapping->dev_minor;
	module->inode = mapping->inode;
	int rc = is_vdso(mapping) ? open_vdso(modules, mapping, &module->elf, &err) : open_file(modules, mapping, &module->elf, &err);
	if (rc && rc != -XP_E_SYMBOL_NOT_FOUND)
		xp_modules_miss(modules, mapping->path);
	xp_arena_defer(modules->arena, close_module, module);
	if (rc)
		return module;
	module->framed = xp_cfi_index_init(&module->frames, module->elf);
	module->build_id = xp_elf_build_id(module->elf, modules->arena);
	return module;
}

static bool same_file(uint64_t value, const void *arg)
{
	const struct xp_module *module = (const void *)(uintptr_t)value;
	const struct xp_mapping *mapping = arg;

	return module->inode == mapping->inode && module->device == ((uint64_t)mapping->dev_major << 32 | mapping->dev_minor);
}

struct xp_module *xp_modules_at(struct xp_modules *modules, const struct xp_mapping *mapping)
{
	uint64_t device = (uint64_t)mapping->dev_major << 32 | mapping->dev_minor;
	bool new;

	if (!mapping->inode && !is_vdso(mapping))
		return NULL;
	uint64_t *value = xp_map_at(&modules->by_file, xp_hash_mix(device) ^ mapping->inode, same_file, mapping, &new);
	if (new)
		*value = (uintptr_t)open_module(modules, mapping);
	return (struct xp_module *)(uintptr_t)*value;
}

bool xp_module_vaddr(const struct xp_module *module, const struct xp_mapping *mapping, uint64_t address, uint64_t *ret_vaddr)
{
	return module->elf && xp_elf_to_vaddr(module->elf, address - mapping->start + mapping->offset, ret_vaddr);
}
