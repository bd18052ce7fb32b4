// SPDX-License-Identifier: Apache-2.0
/* Mappings and descriptors of a target -> struct xp_gpu_files. No state. */
#include "target/gpu_files.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/parse.h"

/* Documentation/admin-guide/devices.txt: 195 NVIDIA, 255 the control file, 254 mode setting; the rest are GPUs. */
enum { NVIDIA_MAJOR = 195, LAST_GPU_MINOR = 253, MAX_DESCRIPTORS = 65536 };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void add_minor(struct xp_gpu_files *files, uint64_t minor)
{
	if (minor < 64)
		files->minors |= 1ull << minor;
}

/* One descriptor: by name in the view of its process, or by device number when the node lies elsewhere. */
static void look_at(int directory, const char *entry, struct xp_gpu_files *files)
{
	char path[PATH_MAX];
	struct stat st;
	ssize_t len = readlinkat(directory, entry, path, sizeof(path) - 1);
	uint64_t minor;

	if (len <= 0)
		return;
	path[len] = '\0';
	if (strncmp(base_name(path), "nvidia", 6) != 0 || fstatat(directory, entry, &st, 0))
		return;
	bool node = S_ISCHR(st.st_mode) && major(st.st_rdev) == NVIDIA_MAJOR;
	if (!node && strncmp(path, "/dev/nvidia", 11) != 0)
		return;
	files->device = true;
	if (node && minor(st.st_rdev) <= LAST_GPU_MINOR)
		add_minor(files, minor(st.st_rdev));
	else if (!node && xp_parse_u64(path + 11, &minor))
		add_minor(files, minor);
}

static void look_at_descriptors(const struct xp_target *target, struct xp_gpu_files *files)
{
	int fd = xp_target_openat(target, "fd");
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	unsigned n = 0;

	if (!directory) {
		xp_close_p(&fd);
		return;
	}
	files->readable = true;
	for (struct dirent *entry = readdir(directory); entry && n < MAX_DESCRIPTORS; entry = readdir(directory), n++)
		if (entry->d_name[0] != '.')
			look_at(dirfd(directory), entry->d_name, files);
	closedir(directory);
}

void xp_gpu_files_read(const struct xp_target *target, struct xp_gpu_files *ret_files)
{
	struct xp_gpu_files files = { 0 };
	const struct xp_maps *maps = xp_target_maps(target);

	for (size_t i = 0; i < maps->n; i++) {
		const char *name = base_name(maps->at[i].path);

		files.libcuda |= !strncmp(name, "libcuda.so", 10);
		files.agent |= !strncmp(name, "libxprobe-agent.so", 18) || !strncmp(maps->at[i].path, "/memfd:xprobe-agent", 19);
	}
	look_at_descriptors(target, &files);
	*ret_files = files;
}

bool xp_gpu_files_fit(const struct xp_gpu_files *files, struct xp_opt_u32 minor)
{
	if (!files->libcuda || (files->readable && !files->device))
		return false;
	return !files->minors || !minor.set || minor.v >= 64 || (files->minors >> minor.v & 1);
}
