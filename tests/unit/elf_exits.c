/* SPDX-License-Identifier: Apache-2.0 */
/* Exits of functions whose exits are known: labels in tests/targets/shapes/exits.S, and laws that hold for compiled ones. */
#include "elf_open.h"

#include <unistd.h>

#include "elf/code.h"
#include "elf/language.h"

static struct xp_extent function_of(const struct xp_elf *elf, const char *name)
{
	struct xp_extent extent;

	if (!xp_symbols_extent(elf, address_of(elf, name), &extent))
		fail_msg("%s has no extent", name);
	return extent;
}

/* The exits of `name` are exactly the labels x_NAME_1 to x_NAME_n. */
static void check_exits(const struct xp_elf *elf, const struct xp_elf *labels, const char *name, size_t n)
{
	struct xp_extent function = { 0 };
	struct xp_err err = { 0 };
	uint64_t exits[XP_EXITS_MAX];
	size_t got;
	char label[64];

	if (!xp_symbols_extent(elf, address_of(labels, name), &function))
		fail_msg("%s has no extent", name);
	if (xp_code_exits(elf, &function, exits, &got, &err))
		fail_msg("%s: %s", name, err.message);
	if (got != n)
		fail_msg("%s has %zu exits, not %zu", name, got, n);
	for (size_t i = 1; i <= n; i++) {
		uint64_t wanted;
		bool found = false;

		snprintf(label, sizeof(label), "x_%s_%zu", name, i);
		wanted = address_of(labels, label);
		for (size_t k = 0; k < n; k++)
			found |= exits[k] == wanted;
		if (!found)
			fail_msg("%s at 0x%lx is no exit", label, (unsigned long)wanted);
	}
}

static const struct {
	const char *name;
	size_t exits;
} golden[] = {
	{ "one_ret", 1 },     { "only_ret", 1 },   { "two_rets", 2 },	 { "tail_direct", 2 },	   { "tail_slot", 1 },
	{ "tail_vtable", 1 }, { "switch_pic", 3 }, { "switch_wide", 2 }, { "switch_and_tail", 2 }, { "switch_hoisted", 2 },
	{ "skips_lock", 1 },  { "loops", 1 },	   { "split", 2 },	 { "stack_switch", 1 },
};

static void exits_are_those_of_the_labels(void **state)
{
	xp_auto(xp_elf_close) struct xp_elf *elf = open_target("libexits.so");

	for (size_t i = 0; i < XP_LEN(golden); i++)
		check_exits(elf, elf, golden[i].name, golden[i].exits);
}

/* Without symbols the frame descriptions must tell the same, the cold part included. */
static void exits_are_the_same_when_stripped(void **state)
{
	xp_auto(xp_elf_close) struct xp_elf *labels = open_target("libexits.so");
	xp_auto(xp_elf_close) struct xp_elf *elf = open_target("libexits_stripped.so");

	for (size_t i = 0; i < XP_LEN(golden); i++)
		check_exits(elf, labels, golden[i].name, golden[i].exits);
}

static void what_cannot_be_told_is_refused(void **state)
{
	static const struct {
		const char *name, *why;
	} bad[] = {
		{ "bad_conditional_tail", "conditional jump" },
		{ "bad_hoisted", "may be a switch or a tail call" },
		{ "bad_fall_through", "runs on" },
		{ "never_returns", "never returns" },
		{ "bad_data", "no whole instruction" },
		{ "bad_middle", "middle of an instruction" },
		{ "bad_many", "more than 64" },
		{ "entry_notrack", "" },
	};
	xp_auto(xp_elf_close) struct xp_elf *elf = open_target("libexits.so");

	for (size_t i = 0; i < XP_LEN(bad); i++) {
		struct xp_extent function = function_of(elf, bad[i].name);
		xp_auto_err err = { 0 };
		uint64_t exits[XP_EXITS_MAX];
		size_t n;

		assert_int_equal(xp_code_exits(elf, &function, exits, &n, &err), -XP_E_PROBE_REFUSED);
		if (!strstr(err.message, bad[i].why))
			fail_msg("%s is refused with: %s", bad[i].name, err.message);
		assert_non_null(err.hints);
	}
}

static void entries_sit_where_they_can(void **state)
{
	static const struct {
		const char *name, *refused;
		unsigned behind;
	} entries[] = {
		{ "one_ret", NULL, 0 },		 { "only_ret", NULL, 0 },	   { "entry_endbr", NULL, 4 },
		{ "entry_endbr_lock", NULL, 0 }, { "entry_nop5", NULL, 0 },	   { "entry_trap", "trap", 0 },
		{ "entry_lock", "lock", 0 },	 { "entry_hlt", "privileged", 0 }, { "entry_notrack", "notrack", 0 },
		{ "entry_evex", "EVEX", 0 },	 { "untyped", NULL, 0 },
	};
	xp_auto(xp_elf_close) struct xp_elf *elf = open_target("libexits.so");

	for (size_t i = 0; i < XP_LEN(entries); i++) {
		struct xp_extent function = function_of(elf, entries[i].name);
		xp_auto_err err = { 0 };
		uint64_t vaddr = 0;
		int rc = xp_code_entry(elf, &function, false, &vaddr, &err);

		if (entries[i].refused) {
			assert_int_equal(rc, -XP_E_PROBE_REFUSED);
			assert_non_null(strstr(err.message, entries[i].refused));
		} else {
			assert_int_equal(rc, 0);
			assert_int_equal(vaddr - function.start, entries[i].behind);
		}
	}
}

static void offsets_must_be_boundaries(void **state)
{
	xp_auto(xp_elf_close) struct xp_elf *elf = open_target("libexits.so");
	struct xp_extent function = function_of(elf, "switch_pic");
	struct xp_extent nop = function_of(elf, "inner_nop5");
	unsigned boundaries = 0;

	for (uint64_t at = function.start; at < function.start + function.size; at++) {
		xp_auto_err err = { 0 };

		boundaries += !xp_code_check(elf, &function, at, &err);
	}
	assert_int_equal(boundaries, 13);
	xp_auto_err err = { 0 };
	assert_int_equal(xp_code_check(elf, &nop, address_of(elf, "at_inner_nop5"), &err), -XP_E_PROBE_REFUSED);
	assert_non_null(strstr(err.message, "5-byte nop"));
}

/* Laws of compiled code: every exit is a return or a jump out, and there is one for every `ret` of the function. */
static void compiled_functions_are_decoded_whole(void **state)
{
	static const struct {
		const char *file, *function;
		bool full;
	} compiled[] = {
		{ "functions", "many_ways", false },	   { "functions", "rarely_cold", false },
		{ "functions", "tail_caller", false },	   { "functions_static", "many_ways", false },
		{ "functions_nopie", "many_ways", false }, { "functions_lld", "many_ways", false },
		{ "cxx", "throws_some(int)", true },	   { "cxx", "catches(int)", true },
		{ "cxx", "call_hook(Bar*, int)", true },   { "cxx", "throws_some_c", false },
		{ "rusty", "rust_exported", false },	   { "gopher", "main.work", false },
		{ "gopher", "main.deep", false },	   { "gopher", "main.tiny", false },
	};

	for (size_t i = 0; i < XP_LEN(compiled); i++) {
		xp_auto(xp_elf_close) struct xp_elf *elf = open_target(compiled[i].file);
		xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
		struct xp_symbols_found found = find_all(elf, arena, compiled[i].function, compiled[i].full);
		struct xp_extent function;
		uint64_t exits[XP_EXITS_MAX];
		struct xp_insn insn;
		size_t n = 0, returns = 0, known = 0;
		xp_auto_err err = { 0 };

		assert_int_equal(found.total, 1);
		assert_true(xp_symbols_extent(elf, found.at[0].address, &function));
		if (xp_code_exits(elf, &function, exits, &n, &err))
			fail_msg("%s: %s", compiled[i].function, err.message);
		for (size_t k = 0; k < n; k++) {
			assert_true(xp_code_insn(elf, exits[k], &insn));
			assert_true(insn.flow == XP_FLOW_RETURN || insn.flow == XP_FLOW_JUMP || insn.flow == XP_FLOW_INDIRECT);
			known += insn.flow == XP_FLOW_RETURN && exits[k] - function.start < function.size;
		}
		for (uint64_t at = function.start; at - function.start < function.size && xp_code_insn(elf, at, &insn); at += insn.size)
			returns += insn.flow == XP_FLOW_RETURN;
		assert_int_equal(known, returns);
	}
}

/* Go's check of the stack limit begins the function again: the probe sits behind it, and counts such a call once. */
static void go_entries_sit_behind_the_stack_check(void **state)
{
	xp_auto(xp_elf_close) struct xp_elf *elf = open_target("gopher");
	struct xp_extent deep = function_of(elf, "main.deep"), tiny = function_of(elf, "main.tiny");
	xp_auto_err err = { 0 };
	struct xp_insn insn;
	uint64_t vaddr, at = deep.start;

	assert_int_equal(xp_code_entry(elf, &deep, true, &vaddr, &err), 0);
	assert_true(vaddr > deep.start);
	for (; at < vaddr; at += insn.size)
		assert_true(xp_code_insn(elf, at, &insn));
	assert_int_equal(at, vaddr);
	assert_int_equal(insn.flow, XP_FLOW_BRANCH);
	assert_int_equal(xp_code_entry(elf, &tiny, true, &vaddr, &err), 0);
	assert_int_equal(vaddr, tiny.start);
}

static void languages_are_told(void **state)
{
	static const struct {
		const char *file;
		bool go, cxx, rust;
	} files[] = {
		{ "functions", false, false, false },
		{ "functions_static", false, false, false },
		{ "functions_stripped", false, false, false },
		{ "cxx", false, true, false },
		{ "cxx_static_stripped", false, true, false },
		{ "rusty", false, false, true },
		{ "rusty_v0", false, false, true },
		{ "rusty_stripped", false, false, true },
		{ "gopher", true, false, false },
		{ "gopher_stripped", true, false, false },
		{ "gopher_renamed", true, false, false },
	};

	for (size_t i = 0; i < XP_LEN(files); i++) {
		xp_auto(xp_elf_close) struct xp_elf *elf = open_target(files[i].file);
		struct xp_language language = xp_elf_language(elf);

		if (language.go != files[i].go || language.cxx != files[i].cxx || language.rust != files[i].rust)
			fail_msg("%s: go %d, C++ %d, Rust %d", files[i].file, language.go, language.cxx, language.rust);
		if (language.go)
			assert_true(language.go_major == 1 && language.go_minor >= 17);
	}
}

/* A changed return address below the function that throws ends the program. */
static void the_unwinder_is_as_cxx(void **state)
{
	static const char *const places[] = { "/lib/x86_64-linux-gnu/libgcc_s.so.1", "/lib64/libgcc_s.so.1" };
	const char *path = places[access(places[0], R_OK) != 0];
	xp_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	xp_auto(xp_elf_close) struct xp_elf *elf = NULL;
	struct xp_err err = { 0 };

	if (fd < 0)
		skip();
	assert_int_equal(xp_elf_open(fd, path, &elf, &err), 0);
	xp_elf_load_symbols(elf, -1, path);
	assert_true(xp_elf_language(elf).cxx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exits_are_those_of_the_labels),
		cmocka_unit_test(exits_are_the_same_when_stripped),
		cmocka_unit_test(what_cannot_be_told_is_refused),
		cmocka_unit_test(entries_sit_where_they_can),
		cmocka_unit_test(offsets_must_be_boundaries),
		cmocka_unit_test(compiled_functions_are_decoded_whole),
		cmocka_unit_test(go_entries_sit_behind_the_stack_check),
		cmocka_unit_test(languages_are_told),
		cmocka_unit_test(the_unwinder_is_as_cxx),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
