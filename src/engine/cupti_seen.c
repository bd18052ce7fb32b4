/* SPDX-License-Identifier: Apache-2.0 */
/* Which copies of libcuda, libcudart and libcupti a target maps. In: its mappings, and the library name in a file. No state. */
#include "engine/cupti_find_priv.h"

#include <stdlib.h>
#include <string.h>

#include "elf/image.h"

enum { FIRST_YEAR = 2022, DRIVER_OF_12 = 525, DRIVER_OF_13 = 580 };

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The number behind ".so." in a file name such as libcudart.so.13.0.96 or libcudart-0f1a2b.so.12.4 (renamed in wheels); 0: another file. */
static unsigned number_of(const char *name, const char *stem)
{
	const char *so;
	unsigned number = 0;

	if (strncmp(name, stem, strlen(stem)) != 0)
		return 0;
	name += strlen(stem);
	so = *name == '.' || *name == '-' ? strstr(name, ".so.") : NULL;
	for (so = so ? so + 4 : ""; *so >= '0' && *so <= '9' && number < 10000; so++)
		number = number * 10 + (unsigned)(*so - '0');
	return number;
}

/* A toolkit's libcupti is named by its year (libcupti.so.2025.3.1), which two majors may share: its library name tells. */
static unsigned major_in_file(const struct xp_target *target, const struct xp_mapping *mapping)
{
	xp_auto(xp_elf_close) struct xp_elf *elf = NULL;
	xp_auto_err ignored = { 0 };
	xp_auto_fd fd = -1;
	const char *soname = NULL;

	if (!xp_target_open_mapping(target, mapping, &fd, &ignored) && !xp_elf_open(fd, mapping->path, &elf, &ignored))
		soname = xp_elf_soname(elf);
	return soname ? number_of(soname, "libcupti") : 0;
}

static unsigned cupti_major(const struct xp_target *target, const struct xp_mapping *mapping)
{
	unsigned number = number_of(file_name(mapping->path), "libcupti");

	return number >= FIRST_YEAR ? major_in_file(target, mapping) : number;
}

static void note_driver(struct xp_cuda_seen *seen, const char *name)
{
	unsigned version;

	if (strncmp(name, "libcuda.so", 10) != 0 || (name[10] && name[10] != '.'))
		return;
	seen->driver = true;
	version = number_of(name, "libcuda");
	if (version >= DRIVER_OF_12)
		seen->driver_major = version >= DRIVER_OF_13 ? 13 : 12;
}

/* Folders that two paths have in common. */
static unsigned shared_folders(const char *a, const char *b)
{
	unsigned n = 0;

	for (; b && *a && *a == *b; a++, b++)
		n += *a == '/';
	return n;
}

static bool supported(unsigned major)
{
	return major >= XP_CUDA_OLDEST && major <= XP_CUDA_NEWEST;
}

static void note_cupti(struct xp_cuda_seen *seen, const char *path, unsigned major)
{
	const char *cudart = seen->cudart[major], *before = seen->cupti[major];

	if (!before || shared_folders(path, cudart) > shared_folders(before, cudart))
		seen->cupti[major] = path;
}

struct xp_cuda_seen xp_cuda_look(const struct xp_target *target)
{
	const struct xp_maps *maps = xp_target_maps(target);
	struct xp_cuda_seen seen = { 0 };

	for (size_t i = 0; i < maps->n; i++) {
		unsigned cudart = number_of(file_name(maps->at[i].path), "libcudart");

		note_driver(&seen, file_name(maps->at[i].path));
		if (supported(cudart))
			seen.cudart[cudart] = maps->at[i].path;
		else if (cudart)
			seen.other_major = cudart;
	}
	/* One mapping of each file is looked at: the first has offset 0. */
	for (size_t i = 0; i < maps->n; i++) {
		unsigned cupti = maps->at[i].offset ? 0 : cupti_major(target, &maps->at[i]);

		if (supported(cupti))
			note_cupti(&seen, maps->at[i].path, cupti);
	}
	return seen;
}
