/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA endpoints on targets with and without the driver mapped; the mappings are made up here. */
#include "family/cuda_resolve.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct xp_mapping mapping;
static const struct xp_maps maps = { .n = 1, .at = &mapping };

const struct xp_maps *xp_target_maps(const struct xp_target *target)
{
	return &maps;
}

uint32_t xp_target_pid(const struct xp_target *target)
{
	return 4242;
}

static void test_resolve(void **state)
{
	static const char *const without[] = { "", "/usr/lib/libcudart.so.13", "/usr/lib/libcudadebugger.so.1", "/a/libcuda.so.1/x",
					       "/x/libcuda.sox" };
	static const char *const with[] = { "/usr/lib/libcuda.so", "/usr/lib/libcuda.so.1", "/usr/lib/libcuda.so.580.65.06" };
	static const struct xp_family kernels = { .needs = XP_NEED_ACTIVITY };
	struct xp_endpoint ep = { .selector = "cuda:kernel_start", .family = &kernels };

	for (size_t i = 0; i < XP_LEN(without); i++) {
		xp_auto_err err = { 0 };

		mapping.path = without[i];
		assert_int_equal(xp_cuda_resolve(&ep, NULL, NULL, NULL, &err), -XP_E_CUDA_CONTEXT_NOT_FOUND);
	}
	for (size_t i = 0; i < XP_LEN(with); i++) {
		xp_auto_err err = { 0 };

		mapping.path = with[i];
		assert_int_equal(xp_cuda_resolve(&ep, NULL, NULL, NULL, &err), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_resolve) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
