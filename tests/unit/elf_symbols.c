/* SPDX-License-Identifier: Apache-2.0 */
/* Names to functions: the same answers from every shape of one program; versions; mini debug data; debug links; signatures. */
#include "elf_open.h"

#include "elf/demangle.h"
#include "elf/elf_priv.h"

static void same_functions_in_every_shape(void **state)
{
	static const struct {
		const char *name;
		enum xp_symbol_source source;
		enum xp_elf_kind kind;
	} shapes[] = {
		{ "functions", XP_SYMBOLS_SYMTAB, XP_ELF_PIE },
		{ "functions_plain", XP_SYMBOLS_SYMTAB, XP_ELF_PIE },
		{ "functions_nopie", XP_SYMBOLS_SYMTAB, XP_ELF_EXECUTABLE },
		{ "functions_shifted", XP_SYMBOLS_SYMTAB, XP_ELF_EXECUTABLE },
		{ "functions_static", XP_SYMBOLS_SYMTAB, XP_ELF_EXECUTABLE },
		{ "functions_lld", XP_SYMBOLS_SYMTAB, XP_ELF_PIE },
		{ "functions_debuglink", XP_SYMBOLS_DEBUG_FILE, XP_ELF_PIE },
		{ "functions_minidebug", XP_SYMBOLS_DEBUGDATA, XP_ELF_PIE },
	};

	for (size_t i = 0; i < XP_LEN(shapes); i++) {
		xp_auto(xp_elf_close) struct xp_elf *elf = open_target(shapes[i].name);
		xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
		struct xp_symbols_found found = find_all(elf, arena, "twin", false);
		uint64_t offset, back = 0, vaddr = address_of(elf, "many_ways");
		struct xp_extent extent;

		assert_int_equal(xp_elf_symbol_source(elf), shapes[i].source);
		assert_int_equal(xp_elf_kind(elf), shapes[i].kind);
		assert_int_equal(found.total, 2);
		assert_true(xp_elf_is_text(elf, vaddr));
		assert_true(xp_elf_to_offset(elf, vaddr, &offset));
		assert_true(xp_elf_to_vaddr(elf, offset, &back));
		assert_int_equal(back, vaddr);
		assert_true(xp_symbols_extent(elf, vaddr + 3, &extent));
		assert_int_equal(extent.start, vaddr);
		assert_memory_equal(extent.symbol.name, "many_ways", 9);
	}
}

/* p_vaddr taken for a file offset: in these libraries the two differ by another amount in each. */
static void offsets_follow_the_segment(void **state)
{
	static const char *const names[] = { "libplain.so", "libshifted.so", "libscript.so", "functions_lld", "functions_nopie" };
	static const char *const functions[] = { "library_outer", "library_outer", "library_outer", "many_ways", "many_ways" };
	uint64_t distances[XP_LEN(names)];

	for (size_t i = 0; i < XP_LEN(names); i++) {
		xp_auto(xp_elf_close) struct xp_elf *elf = open_target(names[i]);
		uint64_t vaddr = address_of(elf, functions[i]), offset;
		const unsigned char *by_offset, *by_address;

		assert_true(xp_elf_to_offset(elf, vaddr, &offset));
		by_offset = xp_elf_bytes(elf, offset, 8);
		by_address = xp_elf_at(elf, vaddr, 8);
		assert_non_null(by_offset);
		assert_ptr_equal(by_offset, by_address);
		distances[i] = vaddr - offset;
	}
	assert_int_equal(distances[0], 0);
	assert_int_equal(distances[1], 0x200000);
	assert_int_not_equal(distances[2], 0);
	assert_int_not_equal(distances[3], 0);
	assert_int_equal(distances[4], 0x400000);
}

static void stripped_files_give_no_wrong_name(void **state)
{
	xp_auto(xp_elf_close) struct xp_elf *whole = open_target("functions");
	xp_auto(xp_elf_close) struct xp_elf *stripped = open_target("functions_stripped");
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	uint64_t vaddr = address_of(whole, "many_ways"), inside = vaddr + 9;
	struct xp_symbol symbol;
	struct xp_extent extent, known;

	assert_int_equal(xp_elf_symbol_source(stripped), XP_SYMBOLS_DYNSYM);
	assert_int_equal(find_all(stripped, arena, "many_ways", false).total, 0);
	xp_symbols_resolve(stripped, &inside, 1, &symbol);
	assert_null(symbol.name);
	/* The frame description still knows where the function begins and ends. */
	assert_true(xp_symbols_extent(stripped, inside, &extent));
	assert_true(xp_symbols_extent(whole, inside, &known));
	assert_null(extent.symbol.name);
	assert_int_equal(extent.start, vaddr);
	assert_int_equal(extent.size, known.size);
}

static void batches_of_addresses_are_named(void **state)
{
	static const char *const names[] = { "one_ret", "two_rets", "switch_pic", "split", "never_returns", "same_global", "untyped" };
	xp_auto(xp_elf_close) struct xp_elf *elf = open_target("libexits.so");
	uint64_t vaddrs[XP_LEN(names) + 1];
	struct xp_symbol symbols[XP_LEN(vaddrs)];

	for (size_t i = 0; i < XP_LEN(names); i++)
		vaddrs[i] = address_of(elf, names[i]) + (i % 2);
	vaddrs[XP_LEN(names)] = vaddrs[XP_LEN(names) - 1] + 0x100000;
	xp_symbols_resolve(elf, vaddrs, XP_LEN(vaddrs), symbols);
	for (size_t i = 0; i < XP_LEN(names); i++) {
		assert_true(!i || vaddrs[i] > vaddrs[i - 1]);
		if (!symbols[i].name || strcmp(symbols[i].name, names[i]) != 0)
			fail_msg("%s is called %s", names[i], symbols[i].name ? symbols[i].name : "nothing");
	}
	assert_null(symbols[XP_LEN(names)].name);
	/* All three names of one address are one function. */
	assert_int_equal(address_of(elf, "same_weak"), address_of(elf, "same_global"));
}

static void imports_are_no_functions(void **state)
{
	xp_auto(xp_elf_close) struct xp_elf *elf = open_target("functions");
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_symbols_found found = find_all(elf, arena, "puts", false);

	assert_int_equal(found.total, 0);
	assert_true(found.imported);
	found = find_all(elf, arena, "sink", false);
	assert_int_equal(found.total, 0);
	assert_true(found.data);
	found = find_all(elf, arena, "nowhere", false);
	assert_false(found.imported || found.data);
}

static struct xp_symbols_found find_version(const struct xp_elf *elf, struct xp_arena *arena, const char *name, const char *version,
					    bool def)
{
	struct xp_symbol_query query = { .name = name, .version = version, .default_version = def };
	struct xp_symbols_found found;

	xp_symbols_find(elf, &query, arena, &found);
	return found;
}

static void versions_are_told_apart(void **state)
{
	xp_auto(xp_elf_close) struct xp_elf *elf = open_target("libversions.so");
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	uint64_t old = address_of(elf, "calc_old"), new = address_of(elf, "calc_new");
	struct xp_symbols_found found = find_all(elf, arena, "calc", false);

	assert_int_equal(found.total, 1);
	assert_int_equal(found.at[0].address, new);
	assert_memory_equal(found.at[0].version, "XP_2.0", found.at[0].version_len);
	assert_true(found.at[0].default_version);

	found = find_version(elf, arena, "calc", "XP_1.0", false);
	assert_int_equal(found.total, 1);
	assert_int_equal(found.at[0].address, old);
	found = find_version(elf, arena, "calc", "XP_2.0", true);
	assert_int_equal(found.total, 1);
	assert_int_equal(found.at[0].address, new);

	found = find_version(elf, arena, "calc", "XP_1.0", true);
	assert_int_equal(found.total, 0);
	assert_int_equal(found.n_versions, 2);
	found = find_version(elf, arena, "calc", "XP_9.9", false);
	assert_int_equal(found.total, 0);
	assert_int_equal(found.n_versions, 2);

	found = find_all(elf, arena, "gone", false);
	assert_int_equal(found.total, 0);
	assert_int_equal(found.n_versions, 1);
	assert_string_equal(found.versions[0], "@XP_1.0");
}

static void ifuncs_are_marked(void **state)
{
	xp_auto(xp_elf_close) struct xp_elf *elf = open_target("libifunc.so");
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_symbols_found found = find_all(elf, arena, "choice", false);

	assert_int_equal(found.total, 1);
	assert_true(found.at[0].ifunc);
	assert_false(find_all(elf, arena, "call_choice", false).at[0].ifunc);
}

static void signatures_name_one_function_each(void **state)
{
	static const char *const full[] = {
		"fun(int)", "Foo::fun()", "Bar::fun()", "Foo::operator()(int) const", "int twice<int>(int)", "long twice<long>(long)",
		"c_fun",    "_Z3funi"
	};
	xp_auto(xp_elf_close) struct xp_elf *elf = open_target("cxx");
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	uint64_t seen[XP_LEN(full)];
	struct xp_symbol near[20];

	for (size_t i = 0; i < XP_LEN(full); i++) {
		struct xp_symbols_found found = find_all(elf, arena, full[i], true);

		if (found.total != 1)
			fail_msg("%s names %lu functions", full[i], (unsigned long)found.total);
		seen[i] = found.at[0].address;
		for (size_t k = 0; k < i; k++)
			assert_int_equal(seen[i] == seen[k], i == 7 && k == 0);
	}
	/* The bare word is no ELF name here; what is called so comes first among the near ones. */
	assert_int_equal(find_all(elf, arena, "fun", false).total, 0);
	size_t n = xp_symbols_near(elf, "fun", arena, near, XP_LEN(near));
	assert_in_range(n, 4, XP_LEN(near));
	for (size_t i = 0; i < 3; i++)
		assert_non_null(strstr(xp_demangle(arena, near[i].name, near[i].name_len, false), "fun("));
}

static void rust_names_go_with_and_without_hash(void **state)
{
	static const char *const files[] = { "rusty", "rusty_v0" };
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();

	for (size_t i = 0; i < XP_LEN(files); i++) {
		xp_auto(xp_elf_close) struct xp_elf *elf = open_target(files[i]);
		struct xp_symbols_found found = find_all(elf, arena, "rusty::mangled", true);

		assert_int_equal(found.total, 1);
		const char *hashed = xp_demangle(arena, found.at[0].name, found.at[0].name_len, true);
		assert_int_equal(find_all(elf, arena, hashed, true).total, 1);
		assert_int_not_equal(strlen(hashed), strlen("rusty::mangled"));
	}
}

static void demangling_keeps_its_limits(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	static char huge[6000];
	size_t len;

	memset(huge, 'P', sizeof(huge) - 1);
	memcpy(huge, "_Z3fun", 6);
	assert_null(xp_demangle(arena, huge, sizeof(huge) - 1, false));
	assert_null(xp_demangle(arena, "plain", 5, false));
	assert_string_equal(xp_demangle(arena, "_ZN3Foo3barEi@@V1", 13, false), "Foo::bar(int)");
	const char *base = xp_signature_base("ns::Foo<int (*)(char)>::bar<long>(int) const", &len);
	assert_int_equal(len, 3);
	assert_memory_equal(base, "bar", 3);
}

/* A debug file whose bytes do not fit the debug link's checksum is not believed. */
static void debug_link_is_checked(void **state)
{
	xp_auto(xp_elf_close) struct xp_elf *elf = open_target("functions_debuglink");
	xp_auto(xp_elf_close) struct xp_elf *wrong = NULL;
	struct xp_err err = { 0 };
	char folder[] = "/tmp/xprobe-test-XXXXXX", command[2048], path[600];

	assert_int_equal(xp_elf_symbol_source(elf), XP_SYMBOLS_DEBUG_FILE);
	assert_non_null(mkdtemp(folder));
	snprintf(command, sizeof(command),
		 "cd %s && cp %s . && mkdir .debug && cp %s/targets/functions_debuglink.debug .debug/ && "
		 "printf x >> .debug/functions_debuglink.debug",
		 folder, target_path("functions_debuglink"), XP_BUILD_DIR);
	assert_int_equal(system(command), 0);
	snprintf(path, sizeof(path), "%s/functions_debuglink", folder);
	xp_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(xp_elf_open(fd, path, &wrong, &err), 0);
	xp_elf_load_symbols(wrong, -1, path);
	assert_int_equal(xp_elf_symbol_source(wrong), XP_SYMBOLS_DYNSYM);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_functions_in_every_shape),
		cmocka_unit_test(offsets_follow_the_segment),
		cmocka_unit_test(stripped_files_give_no_wrong_name),
		cmocka_unit_test(batches_of_addresses_are_named),
		cmocka_unit_test(imports_are_no_functions),
		cmocka_unit_test(versions_are_told_apart),
		cmocka_unit_test(ifuncs_are_marked),
		cmocka_unit_test(signatures_name_one_function_each),
		cmocka_unit_test(rust_names_go_with_and_without_hash),
		cmocka_unit_test(demangling_keeps_its_limits),
		cmocka_unit_test(debug_link_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
