// SPDX-License-Identifier: Apache-2.0
/* Case C6: NVML gave numbers of another PID namespace, or of two in one list, and a stranger with an equal number was taken for the holder.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>

#include "engine/gpu_holders.h"

/* Which process holds which /dev/nvidia<minor>, as bits. */
struct files {
	uint64_t minors[100];
};

static bool confirm(void *arg, uint32_t pid, struct xp_opt_u32 minor, struct xp_target_id *ret_id)
{
	const struct files *files = arg;

	*ret_id = (struct xp_target_id){ .pid = pid, .process_start_time = 10 * pid };
	return minor.set ? files->minors[pid] >> minor.v & 1 : files->minors[pid] != 0;
}

struct scene {
	struct xp_arena *arena;
	struct xp_nvml_list *list;
	struct files files;
	struct xp_gpu_holders found;
};

static int set_up(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	s->arena = xp_arena_new();
	s->list = xp_arena_new_of(s->arena, struct xp_nvml_list);
	s->list->n_devices = 2;
	for (uint32_t i = 0; i < 2; i++)
		s->list->devices[i] = (struct xp_nvml_device){ .index = i, .minor = XP_SOME(i) };
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	xp_arena_free(s->arena);
	free(s);
	return 0;
}

static void entry(struct scene *s, uint32_t device, uint32_t number, uint64_t bytes)
{
	s->list->processes[s->list->n_processes++] =
		(struct xp_nvml_process){ .device = device, .number = number, .mig = -1, .memory = XP_SOME(bytes) };
}

static void choose(struct scene *s, const struct xp_gpu_claim *claims, size_t n)
{
	xp_gpu_holders_choose(s->list, claims, n, confirm, &s->files, s->arena, &s->found);
}

static void own_numbers(void **state)
{
	struct scene *s = *state;
	const struct xp_gpu_claim claims[] = { { 31, 31, true }, { 17, 17, true } };

	entry(s, 0, 31, 100);
	entry(s, 0, 17, 200);
	entry(s, 1, 31, 300);
	s->files.minors[31] = 3;
	s->files.minors[17] = 1;
	choose(s, claims, 2);
	assert_int_equal(s->found.n, 2);
	assert_int_equal(s->found.at[0].id.pid, 17);
	assert_int_equal(s->found.at[1].id.pid, 31);
	assert_int_equal(s->found.at[1].id.process_start_time, 310);
	assert_int_equal(s->found.at[1].n_parts, 2);
	assert_int_equal(s->found.at[1].parts[1].device, 1);
	assert_int_equal(s->found.at[1].parts[1].memory.v, 300);
	assert_int_equal(s->found.n_unknown, 0);
}

static void equal_numbers_say_nothing(void **state)
{
	struct scene *s = *state;
	const struct xp_gpu_claim claims[] = { { 31, 31, true } };

	entry(s, 0, 31, 100);
	entry(s, 0, 89, 100); /* nobody */
	choose(s, claims, 1);
	assert_int_equal(s->found.n, 0);
	assert_int_equal(s->found.n_unknown, 2);
	assert_int_equal(s->found.unknown[0], 31);
	assert_int_equal(s->found.unknown[1], 89);
	s->files.minors[31] = 2; /* it uses a GPU, but another one */
	choose(s, claims, 1);
	assert_int_equal(s->found.n, 0);
	s->list->devices[0].minor.set = false; /* an old driver does not say which file that is */
	choose(s, claims, 1);
	assert_int_equal(s->found.n, 1);
}

static void numbers_of_a_nested_namespace(void **state)
{
	struct scene *s = *state;
	const struct xp_gpu_claim one[] = { { 7, 43, false } };
	const struct xp_gpu_claim two[] = { { 7, 43, false }, { 7, 47, false } };
	const struct xp_gpu_claim ours[] = { { 7, 43, false }, { 7, 7, true } };

	entry(s, 0, 7, 100);
	s->files.minors[43] = 1;
	choose(s, one, 1);
	assert_int_equal(s->found.at[0].id.pid, 43);
	s->files.minors[47] = 1;
	choose(s, two, 2);
	assert_int_equal(s->found.n, 0); /* which of the two is not known */
	assert_int_equal(s->found.n_unknown, 1);
	s->files.minors[47] = 2;
	choose(s, two, 2);
	assert_int_equal(s->found.at[0].id.pid, 43);
	s->files.minors[7] = 1;
	choose(s, ours, 2);
	assert_int_equal(s->found.at[0].id.pid, 7); /* our own numbering comes first */
	s->files.minors[7] = 0;
	choose(s, ours, 2);
	assert_int_equal(s->found.at[0].id.pid, 43); /* and 7 is a stranger here */
}

static void two_namespaces_in_one_list(void **state)
{
	struct scene *s = *state;
	const struct xp_gpu_claim claims[] = { { 43, 43, true }, { 7, 43, false } };

	entry(s, 0, 43, 100);
	entry(s, 1, 7, 200);
	s->files.minors[43] = 3;
	choose(s, claims, 2);
	assert_int_equal(s->found.n, 1);
	assert_int_equal(s->found.at[0].n_parts, 2);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(own_numbers), TEST(equal_numbers_say_nothing), TEST(numbers_of_a_nested_namespace),
					    TEST(two_namespaces_in_one_list) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
