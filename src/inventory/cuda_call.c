// SPDX-License-Identifier: Apache-2.0
/* Recognises CUDA calls by their exported names. In: names. Out: table entries. No state. */
#include "inventory/cuda_call.h"

#include <string.h>

#include "base/field.h"
#include "event/api_name.h"

static const struct xp_cuda_call calls[] = {
	{ "cuCtxSynchronize", XP_CUDA_WAIT },
	{ "cuEventSynchronize", XP_CUDA_WAIT },
	{ "cuGraphLaunch", XP_CUDA_LAUNCH },
	{ "cuLaunchCooperativeKernel", XP_CUDA_LAUNCH },
	{ "cuLaunchKernel", XP_CUDA_LAUNCH },
	{ "cuLaunchKernelEx", XP_CUDA_LAUNCH },
	{ "cuMemcpy", XP_CUDA_WAIT },
	{ "cuMemcpy2D", XP_CUDA_WAIT },
	{ "cuMemcpy2DAsync", XP_CUDA_COPY },
	{ "cuMemcpy2DUnaligned", XP_CUDA_WAIT },
	{ "cuMemcpy3D", XP_CUDA_WAIT },
	{ "cuMemcpy3DAsync", XP_CUDA_COPY },
	{ "cuMemcpyAsync", XP_CUDA_COPY },
	{ "cuMemcpyAtoH", XP_CUDA_WAIT },
	{ "cuMemcpyDtoD", XP_CUDA_WAIT },
	{ "cuMemcpyDtoH", XP_CUDA_WAIT },
	{ "cuMemcpyDtoHAsync", XP_CUDA_COPY },
	{ "cuMemcpyHtoA", XP_CUDA_WAIT },
	{ "cuMemcpyHtoD", XP_CUDA_WAIT },
	{ "cuMemcpyHtoDAsync", XP_CUDA_COPY },
	{ "cuMemcpyPeer", XP_CUDA_WAIT },
	{ "cuStreamSynchronize", XP_CUDA_WAIT },
	{ "cudaDeviceSynchronize", XP_CUDA_WAIT },
	{ "cudaEventSynchronize", XP_CUDA_WAIT },
	{ "cudaGraphLaunch", XP_CUDA_LAUNCH },
	{ "cudaLaunchCooperativeKernel", XP_CUDA_LAUNCH },
	{ "cudaLaunchKernel", XP_CUDA_LAUNCH },
	{ "cudaLaunchKernelExC", XP_CUDA_LAUNCH },
	{ "cudaMemcpy", XP_CUDA_WAIT },
	{ "cudaMemcpy2D", XP_CUDA_WAIT },
	{ "cudaMemcpy2DAsync", XP_CUDA_COPY },
	{ "cudaMemcpy3D", XP_CUDA_WAIT },
	{ "cudaMemcpy3DAsync", XP_CUDA_COPY },
	{ "cudaMemcpyAsync", XP_CUDA_COPY },
	{ "cudaMemcpyFromSymbol", XP_CUDA_WAIT },
	{ "cudaMemcpyPeer", XP_CUDA_WAIT },
	{ "cudaMemcpyToSymbol", XP_CUDA_WAIT },
	{ "cudaStreamSynchronize", XP_CUDA_WAIT },
	{ "cudaThreadSynchronize", XP_CUDA_WAIT },
};

const struct xp_cuda_call *xp_cuda_call_of(const char *symbol)
{
	size_t len;

	while (symbol && *symbol == '_')
		symbol++;
	if (!symbol || symbol[0] != 'c' || symbol[1] != 'u')
		return NULL;
	symbol = xp_api_fold(symbol, &len);
	for (size_t i = 0; i < XP_LEN(calls); i++)
		if (strlen(calls[i].name) == len && !memcmp(calls[i].name, symbol, len))
			return &calls[i];
	return NULL;
}

struct xp_cuda_use *xp_cuda_use_at(struct xp_cuda_use *uses, size_t *n, uint32_t tid, const struct xp_cuda_call *call)
{
	for (size_t i = 0; i < *n; i++)
		if (uses[i].tid == tid && uses[i].call == call)
			return &uses[i];
	uses[*n] = (struct xp_cuda_use){ .tid = tid, .call = call };
	return &uses[(*n)++];
}
