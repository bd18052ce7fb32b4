/* SPDX-License-Identifier: Apache-2.0 */
/* Resolution of CUDA endpoints on a target. In: its mappings. No state. */
#include "family/cuda_resolve.h"

#include <string.h>

/* libcuda.so, libcuda.so.1, libcuda.so.580.65.06; not libcudart or libcudadebugger. */
static bool is_driver(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	return !strncmp(name, "libcuda.so", strlen("libcuda.so")) && (name[10] == '\0' || name[10] == '.');
}

static bool maps_driver(const struct xp_maps *maps)
{
	for (size_t i = 0; i < maps->n; i++)
		if (is_driver(maps->at[i].path))
			return true;
	return false;
}

int xp_cuda_resolve(struct xp_endpoint *ep, struct xp_target *target, const struct xp_resolve_options *options, struct xp_arena *arena,
		    struct xp_err *reterr)
{
	int rc;

	if (!maps_driver(xp_target_maps(target))) {
		rc = xp_fail(reterr, XP_E_CUDA_CONTEXT_NOT_FOUND, "process %u does not map libcuda, so it has no CUDA context",
			     xp_target_pid(target));
		xp_err_object(reterr, "%s", ep->selector);
		xp_err_hint(reterr, "`xprobe discover` lists the processes that use a GPU; workers are often children of the launcher");
		return rc;
	}
	return 0;
}
