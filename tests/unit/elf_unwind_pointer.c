/* SPDX-License-Identifier: Apache-2.0 */
/* Fault: code without frame rules (a JIT's, mapped after the first look) lost its callers; a chain that leads astray was followed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/unwind.h"

enum { PAGE = 4096, WORDS = 64, FRAMES = 16 };

struct scene {
	struct xp_target *target;
	struct xp_unwinder *unwinder;
	uint64_t code;	       /* an executable page that no file tells about */
	uint64_t words[WORDS]; /* the copy */
	uint64_t stack;	       /* where it came from: a mapping of two pages */
	struct xp_unwind_regs regs;
	uint64_t pcs[FRAMES], sps[FRAMES];
	struct xp_unwound out;
};

static void set_up(struct scene *scene)
{
	xp_auto_err err = { 0 };

	memset(scene, 0, sizeof(*scene));
	assert_int_equal(xp_target_open((uint32_t)getpid(), NULL, &scene->target, &err), 0);
	assert_int_equal(xp_unwinder_new(scene->target, &scene->unwinder, &err), 0);
	/* Mapped now, behind the target's back; guards keep neighbours apart. */
	char *memory = mmap(NULL, 8 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(mprotect(memory + PAGE, PAGE, PROT_READ | PROT_EXEC), 0);
	assert_int_equal(mprotect(memory + 4 * PAGE, 2 * PAGE, PROT_READ | PROT_WRITE), 0);
	scene->code = (uint64_t)(uintptr_t)memory + PAGE;
	scene->stack = (uint64_t)(uintptr_t)memory + 4 * PAGE;
	scene->regs = (struct xp_unwind_regs){ scene->code + 8, scene->stack, scene->stack + 32 };
	/* Two callers, then the end: frames at words 4 and 10. */
	scene->words[4] = scene->stack + 80;
	scene->words[5] = scene->code + 101;
	scene->words[10] = 0;
	scene->words[11] = scene->code + 201;
}

static void tear_down(struct scene *scene)
{
	xp_unwinder_free(scene->unwinder);
	xp_target_close(scene->target);
	munmap((void *)(uintptr_t)(scene->code - PAGE), 8 * PAGE);
}

static void expect(struct scene *scene, size_t words, size_t max, size_t frames, enum xp_unwind_end end)
{
	struct xp_stack_bytes stack = { scene->stack, scene->words, words * 8 };

	scene->out = (struct xp_unwound){ .pcs = scene->pcs, .sps = scene->sps };
	xp_unwind(scene->unwinder, &scene->regs, &stack, max, &scene->out);
	assert_int_equal(scene->out.n, frames);
	assert_int_equal(scene->out.end, end);
}

static void a_chain_of_frame_pointers(void **state)
{
	struct scene scene;

	set_up(&scene);
	expect(&scene, WORDS, FRAMES, 3, XP_UNWIND_WHOLE);
	assert_int_equal(scene.pcs[0], scene.code + 8);
	assert_int_equal(scene.pcs[1], scene.code + 100);
	assert_int_equal(scene.pcs[2], scene.code + 200);
	assert_int_equal(scene.sps[1], scene.stack + 48);
	assert_int_equal(scene.sps[2], scene.stack + 96);
	expect(&scene, WORDS, 3, 3, XP_UNWIND_WHOLE);
	expect(&scene, WORDS, 2, 2, XP_UNWIND_DEPTH);
	expect(&scene, 11, FRAMES, 2, XP_UNWIND_COPY);
	expect(&scene, 5, FRAMES, 1, XP_UNWIND_COPY);
	expect(&scene, 0, FRAMES, 1, XP_UNWIND_COPY);
	expect(&scene, WORDS, 0, 0, XP_UNWIND_DEPTH);
	scene.words[11] = 0;
	expect(&scene, WORDS, FRAMES, 2, XP_UNWIND_WHOLE);
	tear_down(&scene);
}

static void a_chain_that_leads_astray(void **state)
{
	struct scene scene;

	set_up(&scene);
	scene.words[5] = scene.stack; /* a return into data */
	expect(&scene, WORDS, FRAMES, 1, XP_UNWIND_FAILED);
	scene.words[5] = scene.code + 101;
	scene.words[4] = scene.stack + 32; /* a caller at its callee's place, for ever */
	expect(&scene, WORDS, FRAMES, 2, XP_UNWIND_FAILED);
	scene.words[4] = scene.stack + 81; /* between two words */
	expect(&scene, WORDS, FRAMES, 2, XP_UNWIND_FAILED);
	scene.words[4] = scene.stack + 2 * PAGE; /* behind the stack: not a short copy */
	expect(&scene, WORDS, FRAMES, 2, XP_UNWIND_FAILED);
	scene.words[4] = scene.stack + 2 * PAGE - 16; /* still on it */
	expect(&scene, WORDS, FRAMES, 2, XP_UNWIND_COPY);
	scene.regs.bp = UINT64_MAX - 7;
	expect(&scene, WORDS, FRAMES, 1, XP_UNWIND_FAILED);
	tear_down(&scene);
}

/* Ten thousand addresses that are nowhere must not make ten thousand looks at the maps: their snapshots are kept. */
static void stray_addresses_cost_few_looks(void **state)
{
	struct scene scene;
	size_t looks = 0;

	set_up(&scene);
	const struct xp_mapping *at = xp_target_maps(scene.target)->at;
	for (uint64_t i = 0; i < 10007; i++) {
		scene.regs.ip = 64 + i * 8;
		expect(&scene, WORDS, 1, 1, XP_UNWIND_DEPTH);
		looks += xp_target_maps(scene.target)->at != at;
		at = xp_target_maps(scene.target)->at;
	}
	assert_in_range(looks, 1, 32);
	tear_down(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_of_frame_pointers),
		cmocka_unit_test(a_chain_that_leads_astray),
		cmocka_unit_test(stray_addresses_cost_few_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
