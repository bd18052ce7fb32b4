/* SPDX-License-Identifier: Apache-2.0 */
/* The version of a libcupti by the names around it: its major, the toolkit's real file name, the wheel's folder. No state. */
#include "engine/cupti_version.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static bool is_there(const struct xp_target *target, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	xp_auto_fd root = xp_target_openat(target, "root");
	xp_auto_fd file = root >= 0 ? (int)syscall(SYS_openat2, root, path, &how, sizeof(how)) : -1;

	return file >= 0;
}

/* Toolkits name the file itself by its version; the path in a process's maps is that of the file. */
static const char *const files[] = { "libcupti.so.2025.2.", "libcupti.so.2025.3.0" };
/* site-packages/nvidia/cu13/lib/libcupti.so.13 has site-packages/nvidia_cuda_cupti-13.0.48.dist-info beside it, and so on. */
static const struct {
	const char *library, *folder;
} wheels[] = {
	{ "/nvidia/cuda_cupti/lib/", "nvidia_cuda_cupti_cu12-12.9.19.dist-info" },
	{ "/nvidia/cuda_cupti/lib/", "nvidia_cuda_cupti_cu12-12.9.79.dist-info" },
	{ "/nvidia/cu13/lib/", "nvidia_cuda_cupti-13.0.48.dist-info" },
};

bool xp_cupti_is_old(const struct xp_cupti_choice *choice)
{
	return choice->major < 13;
}

bool xp_cupti_loses_contexts(const struct xp_target *target, const struct xp_cupti_choice *choice)
{
	char folder[PATH_BYTES];

	for (size_t i = 0; i < XP_LEN(files); i++)
		if (strstr(choice->path, files[i]))
			return true;
	for (size_t i = 0; i < XP_LEN(wheels); i++) {
		const char *at = strstr(choice->path, wheels[i].library);

		if (!at)
			continue;
		snprintf(folder, sizeof(folder), "%.*s/%s", (int)(at - choice->path), choice->path, wheels[i].folder);
		if (is_there(target, folder))
			return true;
	}
	return false;
}
