/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and sets of the window that `cuda_kernels` captured. In: its struct xp_cuda_window. Out: a value. It arms nothing of its own. */
#include "inventory/cuda_window.h"
#include "inventory/gpu_activity.h"
#include "inventory/inventory.h"

static int nothing(void *state, struct xp_err *reterr)
{
	(void)state;
	(void)reterr;
	return 0;
}

static int nothing_to_open(void *state, uint64_t start_ns, struct xp_err *reterr)
{
	(void)start_ns;
	return nothing(state, reterr);
}

static void nothing_to_close(void *state, uint64_t end_ns)
{
	(void)state;
	(void)end_ns;
}

static const struct xp_collector_ops ops = {
	.name = "cuda_copies",
	.prepare = nothing,
	.arm = nothing,
	.open = nothing_to_open,
	.drain = nothing,
	.close_window = nothing_to_close,
	.disarm = nothing,
};

static int open_inventory(const struct xp_inventory_request *request, struct xp_target *target, struct xp_arena *arena, void **ret_state,
			  struct xp_err *reterr)
{
	(void)target;
	(void)arena;
	if (!request->cuda)
		return xp_fail(reterr, XP_E_CUPTI_NOT_AVAILABLE, "nothing is known of the agent");
	*ret_state = request->cuda;
	return 0;
}

static int finish(void *state, const struct xp_window *window, struct xp_arena *arena, void **ret_value, struct xp_err *reterr)
{
	const struct xp_cuda_window *cuda = state;

	(void)window;
	if (!cuda->all)
		return xp_fail(reterr, XP_E_CUPTI_NOT_AVAILABLE, "the capture of kernels and copies did not come to its end");
	*ret_value = xp_gpu_activity_part(cuda->all, 1u << XP_GPU_MEMCPY | 1u << XP_GPU_MEMSET, arena);
	return 0;
}

static void nothing_to_free(void *state)
{
	(void)state;
}

static bool is_empty(const void *value)
{
	return !((const struct xp_gpu_activity *)value)->inventory.n_groups;
}

const struct xp_inventory_kind xp_inventory_cuda_copies = {
	.name = "cuda_copies",
	.summary = "copies by direction and memory kinds, and sets, grouped inside the target",
	.ops = &ops,
	.record = &xp_gpu_activity_record,
	.open = open_inventory,
	.finish = finish,
	.free = nothing_to_free,
	.shrink = xp_gpu_activity_shrink,
	.empty = is_empty,
};
