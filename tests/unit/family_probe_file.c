/* SPDX-License-Identifier: Apache-2.0 */
/* Selectors on libraries of this very process: IFUNCs, versions, odd segments, text that was moved. */
#include "resolve.h"

#include <dlfcn.h>
#include <sys/mman.h>

static void *load(const char *name)
{
	void *library = dlopen(target_path(name), RTLD_NOW | RTLD_LOCAL);

	if (!library)
		fail_msg("%s", dlerror());
	return library;
}

/* An IFUNC has the resolver's address: probing it gave no events. The hint is the implementation that the loader chose. */
static void ifunc_names_its_implementation(void **state)
{
	void *library = load("libifunc.so");
	const char *path = target_path("libifunc.so");
	struct fixture f = { 0 };
	Dl_info info;

	int (*call)(int) = (int (*)(int))dlsym(library, "call_choice");
	int (*implementation)(int) = (int (*)(int))dlsym(library, "choice");
	assert_int_equal(call(5), implementation(5));
	open_fixture(&f, getpid());
	refused(&f, path, "choice:entry", XP_E_PROBE_REFUSED);
	assert_non_null(strstr(f.err.message, "IFUNC"));
	assert_int_equal(resolve_with(&f, false, xp_arena_str(f.arena, candidate(&f, 0))), 0);
	assert_int_equal(f.ep.resolved->runtime_address, (uintptr_t)implementation);
	assert_true(dladdr((void *)(uintptr_t)implementation, &info));
	assert_string_equal(f.ep.resolved->symbol, "chosen_two");
	stop(&f);
	dlclose(library);
}

static void versions_in_a_process(void **state)
{
	void *library = load("libversions.so");
	const char *path = target_path("libversions.so");
	struct fixture f = { 0 };

	open_fixture(&f, getpid());
	assert_string_equal(resolve(&f, path, "calc:entry")->symbol_version, "XP_2.0");
	uint64_t current = f.ep.resolved->file_offset;
	assert_string_equal(resolve(&f, path, "calc@XP_1.0:entry")->symbol_version, "XP_1.0");
	assert_int_not_equal(f.ep.resolved->file_offset, current);
	assert_int_equal(resolve(&f, path, "calc@@XP_2.0:entry")->file_offset, current);
	refused(&f, path, "calc@XP_3.0:entry", XP_E_SYMBOL_NOT_FOUND);
	assert_non_null(candidate(&f, 1));
	assert_int_equal(resolve_with(&f, false, xp_arena_str(f.arena, candidate(&f, 0))), 0);
	refused(&f, path, "gone:entry", XP_E_SYMBOL_NOT_FOUND);
	assert_int_equal(resolve_with(&f, false, xp_arena_str(f.arena, candidate(&f, 0))), 0);
	stop(&f);
	dlclose(library);
}

static void odd_segments_in_a_process(void **state)
{
	static const char *const names[] = { "libplain.so", "libshifted.so", "libscript.so" };

	for (size_t i = 0; i < XP_LEN(names); i++) {
		void *library = load(names[i]);
		struct fixture f = { 0 };

		open_fixture(&f, getpid());
		resolve(&f, target_path(names[i]), "library_outer:entry");
		assert_int_equal(f.ep.resolved->runtime_address, (uintptr_t)dlsym(library, "library_outer"));
		assert_int_equal(f.ep.resolved->object_kind, XP_OBJECT_SHARED);
		check_memory(&f);
		stop(&f);
		dlclose(library);
	}
}

/* Programs that move their text to huge pages leave the file's mapping behind; a probe there never fires. */
static void text_copied_to_anonymous_memory(void **state)
{
	void *library = load("libplain.so");
	uintptr_t page = (uintptr_t)dlsym(library, "library_outer") & ~(uintptr_t)4095;
	const char *path = target_path("libplain.so");
	struct fixture f = { 0 };
	char text[4096];

	memcpy(text, (void *)page, sizeof(text));
	assert_ptr_equal(mmap((void *)page, sizeof(text), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 (void *)page);
	memcpy((void *)page, text, sizeof(text));
	assert_int_equal(mprotect((void *)page, sizeof(text), PROT_READ | PROT_EXEC), 0);
	open_fixture(&f, getpid());
	refused(&f, path, "library_outer:entry", XP_E_BINARY_NOT_MAPPED);
	assert_non_null(strstr(f.err.message, "anonymous memory"));
	stop(&f);
	dlclose(library);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ifunc_names_its_implementation),
		cmocka_unit_test(versions_in_a_process),
		cmocka_unit_test(odd_segments_in_a_process),
		cmocka_unit_test(text_copied_to_anonymous_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
