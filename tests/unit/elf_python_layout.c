// SPDX-License-Identifier: Apache-2.0
/* Fault: offsets of one build used on another. Tables of offsets as 3.13.0 and 3.14.10 publish them, and broken ones, in our own memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "elf/python_priv.h"

enum { WORDS = 81, FREE_THREADED = 2, HEX = 1, FRAME_SIZE_313 = 28, FRAME_OWNER_313 = 33 };

static const uint64_t published_313[WORDS] = { 0x7970677562656478,
					       0x30d00f0,
					       0,
					       283320,
					       608,
					       632,
					       194968,
					       7272,
					       7264,
					       7344,
					       7400,
					       7656,
					       7640,
					       7648,
					       16,
					       7752,
					       0,
					       7768,
					       7760,
					       304,
					       0,
					       8,
					       16,
					       72,
					       152,
					       160,
					       232,
					       32,
					       80,
					       8,
					       0,
					       56,
					       72,
					       70,
					       208,
					       112,
					       120,
					       128,
					       136,
					       68,
					       52,
					       96,
					       104,
					       200,
					       16,
					       8,
					       416,
					       24,
					       88,
					       168,
					       32,
					       24,
					       16,
					       40,
					       24,
					       16,
					       48,
					       32,
					       40,
					       24,
					       16,
					       32,
					       16,
					       24,
					       40,
					       16,
					       32,
					       64,
					       32,
					       16,
					       40,
					       240,
					       200 };
static const uint64_t published_314[WORDS] = { 0x7970677562656478,
					       0x30e0af0,
					       0,
					       316616,
					       784,
					       808,
					       225864,
					       7280,
					       7272,
					       7344,
					       7360,
					       7408,
					       7688,
					       7672,
					       7680,
					       16,
					       7784,
					       0,
					       7800,
					       7792,
					       7992,
					       0,
					       832,
					       0,
					       8,
					       16,
					       72,
					       152,
					       160,
					       232,
					       32,
					       88,
					       8,
					       0,
					       56,
					       80,
					       74,
					       64,
					       0,
					       216,
					       112,
					       120,
					       128,
					       136,
					       68,
					       52,
					       96,
					       104,
					       208,
					       0,
					       16,
					       8,
					       416,
					       24,
					       88,
					       168,
					       40,
					       32,
					       16,
					       40,
					       24,
					       16,
					       200,
					       24,
					       40,
					       32,
					       48,
					       32,
					       40,
					       24,
					       16,
					       32,
					       16,
					       24,
					       40,
					       16,
					       32,
					       64,
					       32,
					       16,
					       40 };

static const struct xp_python_release v313 = { .major = 3, .minor = 13, .level = 0xf, .micro_known = true };
static const struct xp_python_release v314 = { .major = 3, .minor = 14, .micro = 10, .level = 0xf, .micro_known = true };

/* A runtime that begins with this table, in our own memory. */
struct place {
	uint64_t words[WORDS];
	struct xp_target *target;
	struct xp_python python;
};

static void open_place(struct place *place, const uint64_t *words)
{
	xp_auto_err err = { 0 };

	memset(place, 0, sizeof(*place));
	memcpy(place->words, words, sizeof(place->words));
	assert_int_equal(xp_target_open((uint32_t)getpid(), NULL, &place->target, &err), 0);
	place->python = (struct xp_python){ .target = place->target, .arena = xp_arena_new() };
	place->python.place.runtime = (uintptr_t)place->words;
}

static void close_place(struct place *place)
{
	xp_map_done(&place->python.texts);
	xp_arena_free(place->python.arena);
	xp_target_close(place->target);
}

static void of_3_13(void **state)
{
	struct place place;
	const struct xp_python_layout *walk = &place.python.layout;
	const struct xp_python_objects *objects = &place.python.objects;

	open_place(&place, published_313);
	assert_true(xp_python_lay_out(&place.python, &v313));
	assert_int_equal(walk->version, 0x030d);
	assert_int_equal(walk->runtime, (uintptr_t)place.words);
	assert_int_equal(walk->interpreters_head, 632);
	assert_int_equal(walk->interp_next, 7264);
	assert_int_equal(walk->interp_threads_head, 7344);
	assert_int_equal(walk->tstate_frame, 72);
	assert_int_equal(walk->tstate_thread_id, 152);
	assert_int_equal(walk->tstate_native_id, 160);
	assert_int_equal(walk->frame_back, 8);
	assert_int_equal(walk->frame_code, 0);
	assert_int_equal(walk->frame_instr, 56);
	assert_int_equal(walk->frame_owner, 70);
	assert_int_equal(walk->code_tag_mask, 0);
	assert_int_equal(objects->bytecode, 200);
	assert_int_equal(objects->first_line, 68);
	assert_int_equal(objects->text_ascii, 40);
	assert_int_equal(objects->text_compact, 56);
	close_place(&place);
}

static void of_3_14(void **state)
{
	struct place place;
	const struct xp_python_layout *walk = &place.python.layout;

	open_place(&place, published_314);
	assert_true(xp_python_lay_out(&place.python, &v314));
	assert_int_equal(walk->interpreters_head, 808);
	assert_int_equal(walk->interp_next, 7272);
	assert_int_equal(walk->interp_threads_head, 7344);
	assert_int_equal(walk->frame_owner, 74);
	assert_int_equal(walk->code_tag_mask, 3);
	assert_int_equal(place.python.objects.bytecode, 208);
	close_place(&place);
}

static void expect_refused(const uint64_t *words, size_t at, uint64_t value, const struct xp_python_release *release, const char *why)
{
	struct place place;

	open_place(&place, words);
	place.words[at] = value;
	assert_false(xp_python_lay_out(&place.python, release));
	assert_non_null(strstr(place.python.why, why));
	assert_int_equal(place.python.layout.version, 0);
	close_place(&place);
}

static void refused(void **state)
{
	struct xp_python_release alpha = v314;

	alpha.level = 0xa;
	expect_refused(published_313, 0, 0, &v313, "table of offsets");
	expect_refused(published_313, HEX, 0x030e00f0, &v313, "another release");
	expect_refused(published_313, HEX, 0x030d00a1, &v313, "another release");
	expect_refused(published_313, FREE_THREADED, 1, &v313, "3.13.0 is a free-threaded build");
	expect_refused(published_314, FREE_THREADED, 1, &v314, "3.14.10 is a free-threaded build");
	expect_refused(published_313, FRAME_OWNER_313, 80, &v313, "damaged"); /* the size of the frame itself */
	expect_refused(published_313, FRAME_SIZE_313, UINT64_MAX, &v313, "damaged");
	expect_refused(published_313, FRAME_OWNER_313, UINT64_MAX, &v313, "damaged");
	expect_refused(published_314, 0, published_314[0], &alpha, "3.14.10a0 is a pre-release");
	assert_int_equal(published_313[FRAME_SIZE_313], 80);
	assert_int_equal(published_313[FRAME_OWNER_313], 70);
}

/* PyUnicodeObject as far as 3.13 lays it out. */
struct text {
	uint64_t references, type, length, hash;
	uint32_t state, pad;
	union {
		char ascii[1200];
		struct {
			uint64_t utf8_length, utf8;
			union {
				uint8_t one[8];
				uint16_t two[8];
				uint32_t four[8];
			};
		};
	};
};
enum { KIND_1 = 1 << 2, KIND_2 = 2 << 2, KIND_4 = 4 << 2, COMPACT = 1 << 5, ASCII = 1 << 6 };

static void texts(void **state)
{
	struct text ascii = { .length = 5, .state = KIND_1 | COMPACT | ASCII, .ascii = "hello" };
	struct text latin = { .length = 2, .state = KIND_1 | COMPACT, .one = { 'a', 0xe4 } };
	struct text wide = { .length = 3, .state = KIND_2 | COMPACT, .two = { 0x8a08, 0xd800, 'z' } };
	struct text wider = { .length = 3, .state = KIND_4 | COMPACT, .four = { 0x1f600, 0x110000, 0xe4 } };
	struct text empty = { .state = KIND_1 | COMPACT | ASCII };
	struct text loose = { .length = 1, .state = KIND_1 };
	struct text odd = { .length = 1, .state = 3 << 2 | COMPACT };
	struct text endless = { .length = UINT64_MAX, .state = KIND_1 | COMPACT | ASCII };
	struct place place;

	open_place(&place, published_313);
	assert_true(xp_python_lay_out(&place.python, &v313));
	const char *hello = xp_python_text(&place.python, (uintptr_t)&ascii, 256);
	assert_string_equal(hello, "hello");
	assert_ptr_equal(xp_python_text(&place.python, (uintptr_t)&ascii, 256), hello);
	assert_string_equal(xp_python_text(&place.python, (uintptr_t)&ascii, 3), "hel\u2026");
	assert_string_equal(xp_python_text(&place.python, (uintptr_t)&latin, 256), "a\u00e4");
	assert_string_equal(xp_python_text(&place.python, (uintptr_t)&wide, 256), "\u8a08\ufffdz");
	assert_string_equal(xp_python_text(&place.python, (uintptr_t)&wider, 256), "\U0001f600\ufffd\u00e4");
	assert_string_equal(xp_python_text(&place.python, (uintptr_t)&empty, 256), "");
	assert_null(xp_python_text(&place.python, (uintptr_t)&loose, 256));
	assert_null(xp_python_text(&place.python, (uintptr_t)&odd, 256));
	assert_null(xp_python_text(&place.python, (uintptr_t)&endless, 256));
	assert_null(xp_python_text(&place.python, 16, 256));
	close_place(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(of_3_13), cmocka_unit_test(of_3_14), cmocka_unit_test(refused),
					    cmocka_unit_test(texts) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
