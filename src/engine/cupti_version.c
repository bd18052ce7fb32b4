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

/* site-packages/nvidia/cu13/lib/libcupti.so.13 has site-packages/nvidia_cuda_cupti-13.0.48.dist-info beside it. */
static bool is_wheel_of_13_0(const struct xp_target *target, const char *path)
{
	const char *nvidia = strstr(path, "/nvidia/cu13/");
	char folder[PATH_BYTES];

	if (!nvidia)
		return false;
	snprintf(folder, sizeof(folder), "%.*s/nvidia_cuda_cupti-13.0.48.dist-info", (int)(nvidia - path), path);
	return is_there(target, folder);
}

bool xp_cupti_is_old(const struct xp_cupti_choice *choice)
{
	return choice->major < 13;
}

bool xp_cupti_is_13_0(const struct xp_target *target, const struct xp_cupti_choice *choice)
{
	return choice->major == 13 && (strstr(choice->path, "libcupti.so.2025.3.0") || is_wheel_of_13_0(target, choice->path));
}
