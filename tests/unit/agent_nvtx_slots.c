/* SPDX-License-Identifier: Apache-2.0 */
/* Fault: the slots of a library that had been unloaded were exchanged where another library's read-only pages lay: the program ended. */
#include "agent/nvtx_slots.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { PAGE = 4096 };

struct agent xp_agent;
static struct nvtx_copy copies[XP_AGENT_SITES];

static void hook_a(void)
{
}

uint64_t xp_agent_nvtx_nothing(void)
{
	return 0;
}
void *const xp_agent_nvtx_hooks[NVTX_SLOTS] = { [PUSH_A] = (void *)hook_a };

static struct nvtx_globals *map_page(void *at, int protection)
{
	void *page = mmap(at, PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	assert_ptr_not_equal(page, MAP_FAILED);
	return page;
}

static void another_library_at_the_same_place(void **state)
{
	struct nvtx_globals *globals = map_page(NULL, PROT_READ | PROT_WRITE);

	xp_agent.nvtx.copies = copies;
	globals->state = NVTX_COMPLETE;
	assert_true(xp_agent_nvtx_hook(globals));
	assert_true(xp_agent_nvtx_is_hooked(globals));
	map_page(globals, PROT_READ);
	xp_agent_nvtx_unhook(&copies[0]);
	assert_null(globals->slots[PUSH_A]);
	munmap(globals, PAGE);
}

static void hooks_go_where_they_were_put(void **state)
{
	struct nvtx_globals *globals = map_page(NULL, PROT_READ | PROT_WRITE);
	void *other = &copies;

	xp_agent.nvtx = (struct nvtx){ .copies = copies };
	globals->state = NVTX_COMPLETE;
	assert_true(xp_agent_nvtx_hook(globals));
	xp_agent_nvtx_unhook(&copies[0]);
	assert_null(globals->slots[PUSH_A]);
	assert_true(xp_agent_nvtx_hook(globals));
	globals->slots[PUSH_A] = other;
	xp_agent_nvtx_unhook(&copies[0]);
	assert_ptr_equal(globals->slots[PUSH_A], other);
	munmap(globals, PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_library_at_the_same_place),
		cmocka_unit_test(hooks_go_where_they_were_put),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
