/* SPDX-License-Identifier: Apache-2.0 */
/* Selectors on live processes: right file, right offset, right method, and refusals that name the way out. Nothing is attached here. */
#include "resolve.h"

static void every_shape_of_a_program(void **state)
{
	static const struct {
		const char *name;
		int kind;
		unsigned behind;
	} shapes[] = {
		{ "functions", XP_OBJECT_PIE, 4 },
		{ "functions_plain", XP_OBJECT_PIE, 0 },
		{ "functions_nopie", XP_OBJECT_EXECUTABLE, 0 },
		{ "functions_lld", XP_OBJECT_PIE, 0 },
		{ "functions_minidebug", XP_OBJECT_PIE, 4 },
		{ "functions_debuglink", XP_OBJECT_PIE, 0 },
	};

	for (size_t i = 0; i < XP_LEN(shapes); i++) {
		const char *path = target_path(shapes[i].name);
		struct fixture f;

		start(&f, path);
		const struct xp_resolved *entry = resolve(&f, path, "many_ways:entry");
		assert_int_equal(entry->object_kind, shapes[i].kind);
		assert_string_equal(entry->symbol, "many_ways");
		assert_int_equal(entry->n_sites, 1);
		assert_int_equal(entry->return_method, XP_RETURN_NONE);
		if (i != 5 && i != 3) /* the distribution's compiler chooses there */
			assert_int_equal(entry->sites[0].offset - entry->file_offset, shapes[i].behind);
		check_memory(&f);
		const struct xp_resolved *exit = resolve(&f, path, "many_ways:return");
		assert_int_equal(exit->return_method, XP_RETURN_URETPROBE);
		assert_true(exit->n_sites == 1 && exit->sites[0].uretprobe && !exit->sites[0].exit_site);
		assert_int_equal(exit->sites[0].offset, entry->sites[0].offset);
		assert_non_null(xp_resolved_doc_make(&f.ep, xp_target_identity(f.target), f.arena));
		stop(&f);
	}
}

static void offsets_of_a_stripped_program(void **state)
{
	struct fixture f;
	const char *path = xp_arena_str((f.arena = xp_arena_new()), target_path("functions_stripped"));
	struct xp_arena *keep = f.arena;

	start(&f, path);
	xp_auto(xp_elf_close) struct xp_elf *whole = open_target("functions");
	uint64_t offset = address_of(whole, "many_ways"); /* text lies at its own offset in this file */
	const struct xp_resolved *entry = resolve(&f, path, xp_arena_fmt(keep, "+0x%lx:entry", (unsigned long)offset));

	assert_null(entry->symbol);
	assert_int_equal(entry->file_offset, offset);
	assert_int_equal(entry->sites[0].offset, offset + 4);
	refused(&f, path, "many_ways:entry", XP_E_SYMBOL_NOT_FOUND);
	assert_non_null(strstr(json_string_value(json_array_get(f.err.hints, 0)), "stripped"));
	refused(&f, path, xp_arena_fmt(keep, "+0x%lx:entry", (unsigned long)offset + 2), XP_E_PROBE_REFUSED);
	refused(&f, path, "+0x10:entry", XP_E_SYMBOL_NOT_FOUND);
	refused(&f, path, "+0xffffffffffff:entry", XP_E_SYMBOL_NOT_FOUND);
	stop(&f);
	xp_arena_free(keep);
}

static void ambiguous_and_absent_names(void **state)
{
	const char *path = target_path("functions");
	struct fixture f;

	start(&f, path);
	refused(&f, path, "twin:return", XP_E_AMBIGUOUS_TARGET);
	const char *first = xp_arena_str(f.arena, candidate(&f, 0)), *second = xp_arena_str(f.arena, candidate(&f, 1));
	assert_null(candidate(&f, 2));
	assert_int_equal(resolve_with(&f, false, first), 0);
	uint64_t offset = f.ep.resolved->file_offset;
	assert_string_equal(f.ep.resolved->symbol, "twin");
	assert_int_equal(resolve_with(&f, false, second), 0);
	assert_int_not_equal(f.ep.resolved->file_offset, offset);

	/* A function that the program only imports was probed at offset 0. */
	refused(&f, path, "puts:entry", XP_E_SYMBOL_NOT_FOUND);
	assert_non_null(strstr(json_string_value(json_array_get(f.err.hints, 0)), "libc"));
	assert_int_equal(resolve_with(&f, false, xp_arena_str(f.arena, candidate(&f, 0))), 0);
	refused(&f, path, "many_way:entry", XP_E_SYMBOL_NOT_FOUND);
	assert_non_null(strstr(candidate(&f, 0), ":many_ways"));
	refused(&f, path, "sink:entry", XP_E_SYMBOL_NOT_FOUND);
	refused(&f, "/nowhere/functions", "main:entry", XP_E_BINARY_NOT_MAPPED);
	assert_non_null(strstr(json_string_value(json_array_get(f.err.hints, 0)), path));
	stop(&f);
}

static void languages_choose_the_return_method(void **state)
{
	static const struct {
		const char *file, *rest;
		size_t exits;
		bool go;
	} methods[] = {
		{ "cxx", "symbol=throws_some(int):return", 0, false },
		{ "cxx", "throws_some_c:return", 0, false },
		{ "cxx", "symbol=call_hook(Bar*, int):return", 0, false },
		{ "rusty", "rust_exported:return", 0, false },
		{ "gopher", "main.work:return", 0, true },
		{ "gopher", "main.tiny:return", 1, true },
	};

	for (size_t i = 0; i < XP_LEN(methods); i++) {
		const char *path = target_path(methods[i].file);
		struct fixture f;

		start(&f, path);
		const struct xp_resolved *resolved = resolve(&f, path, methods[i].rest);
		assert_int_equal(resolved->return_method, XP_RETURN_EXIT_SITES);
		assert_int_equal(resolved->goroutine_key, methods[i].go);
		assert_true(resolved->n_sites && (!methods[i].exits || resolved->n_sites == methods[i].exits));
		for (size_t k = 0; k < resolved->n_sites; k++)
			assert_true(resolved->sites[k].exit_site && !resolved->sites[k].uretprobe);
		assert_int_equal(resolve_with(&f, true, f.ep.selector), 0);
		assert_int_equal(f.ep.resolved->return_method, methods[i].go ? XP_RETURN_EXIT_SITES : XP_RETURN_URETPROBE);
		assert_int_equal(f.ep.resolved->cxx_return, !methods[i].go);
		stop(&f);
	}
}

static void cxx_names(void **state)
{
	const char *path = target_path("cxx");
	struct fixture f;
	bool listed[3] = { false };

	start(&f, path);
	resolve(&f, path, "symbol=Foo::fun():entry");
	assert_string_equal(f.ep.resolved->symbol_demangled, "Foo::fun()");
	resolve(&f, path, "c_fun:entry");
	refused(&f, path, "fun:entry", XP_E_SYMBOL_NOT_FOUND);
	for (size_t i = 0; candidate(&f, i); i++) {
		listed[0] |= strstr(candidate(&f, i), ":symbol=fun(int):entry") != NULL;
		listed[1] |= strstr(candidate(&f, i), ":symbol=Foo::fun():entry") != NULL;
		listed[2] |= strstr(candidate(&f, i), ":symbol=Bar::fun():entry") != NULL;
	}
	assert_true(listed[0] && listed[1] && listed[2]);
	stop(&f);
}

/* A file replaced on disk: the mapped one is used, and is told to be another. */
static void replaced_file(void **state)
{
	char folder[] = "/tmp/xprobe-test-XXXXXX", path[64], command[1024];
	struct fixture f;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/prog", folder);
	snprintf(command, sizeof(command), "cp %s %s", target_path("functions_nopie"), path);
	assert_int_equal(system(command), 0);
	start(&f, path);
	const struct xp_resolved *before = resolve(&f, path, "many_ways:entry");
	assert_false(before->replaced_on_disk);
	/* Another name of the same file is found by device and inode. */
	snprintf(command, sizeof(command), "ln -s %s %s/link", path, folder);
	assert_int_equal(system(command), 0);
	snprintf(command, sizeof(command), "%s/link", folder);
	assert_int_equal(resolve(&f, command, "many_ways:entry")->file_offset, before->file_offset);

	snprintf(command, sizeof(command), "cp %s %s.new && mv %s.new %s", target_path("functions_lld"), path, path, path);
	assert_int_equal(system(command), 0);
	struct fixture after = { .child = 0 };
	open_fixture(&after, f.child);
	const struct xp_resolved *replaced = resolve(&after, path, "many_ways:entry");
	assert_true(replaced->replaced_on_disk);
	assert_int_equal(replaced->file_offset, before->file_offset);
	check_memory(&after);
	stop(&after);
	stop(&f);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_shape_of_a_program),
		cmocka_unit_test(offsets_of_a_stripped_program),
		cmocka_unit_test(ambiguous_and_absent_names),
		cmocka_unit_test(languages_choose_the_return_method),
		cmocka_unit_test(cxx_names),
		cmocka_unit_test(replaced_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
