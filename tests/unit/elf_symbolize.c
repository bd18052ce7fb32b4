/* SPDX-License-Identifier: Apache-2.0 */
/* Fault: names of the file that now lies at a path, of the nearest export, of another container's JIT, or of none at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "elf/elf_priv.h"
#include "elf/kallsyms.h"
#include "elf/perf_map.h"
#include "elf/symbolize.h"

enum { PAGE = 4096 };

struct session {
	struct xp_target *target;
	struct xp_symbolizer *symbolizer;
};

static struct session open_session(pid_t pid, uint64_t deadline_ns)
{
	struct session session = { 0 };
	xp_auto_err err = { 0 };

	assert_int_equal(xp_target_open((uint32_t)pid, NULL, &session.target, &err), 0);
	assert_int_equal(xp_symbolizer_new(session.target, deadline_ns, &session.symbolizer, &err), 0);
	return session;
}

static void close_session(struct session *session)
{
	xp_symbolizer_free(session->symbolizer);
	xp_target_close(session->target);
}

static struct xp_symbolized ask(const struct session *session, uint64_t address)
{
	struct xp_symbolized answer;
	xp_auto_err err = { 0 };

	assert_int_equal(xp_symbolize(session->symbolizer, &address, 1, &answer, &err), 0);
	assert_int_equal(answer.address, address);
	return answer;
}

static bool is_missed(const struct session *session, const char *path)
{
	struct xp_symbolize_account account = xp_symbolizer_account(session->symbolizer);

	for (size_t i = 0; i < account.n_missing; i++)
		if (!strcmp(account.missing[i], path))
			return true;
	return false;
}

/* Maps the code of a file as a loader does; returns the run-time address of `vaddr`. */
static uint64_t map_code(const char *path, const char *function, const char *known_by, uint64_t *ret_offset)
{
	xp_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC), names = open(known_by, O_RDONLY | O_CLOEXEC);
	xp_auto(xp_elf_close) struct xp_elf *elf = NULL, *named = NULL;
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_symbols_found found;
	xp_auto_err err = { 0 };

	if (fd < 0 || names < 0)
		return 0;
	assert_int_equal(xp_elf_open(fd, path, &elf, &err), 0);
	assert_int_equal(xp_elf_open(names, known_by, &named, &err), 0);
	xp_elf_load_symbols(named, -1, known_by);
	xp_symbols_find(named, &(struct xp_symbol_query){ .name = function }, arena, &found);
	assert_int_equal(found.total, 1);
	const struct xp_elf_segment *segment = xp_elf_segment_at(elf, found.at[0].address);
	assert_true(segment && segment->exec);
	uint64_t lead = segment->offset % PAGE;
	char *base = mmap(NULL, segment->file_size + lead, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)(segment->offset - lead));
	assert_ptr_not_equal(base, MAP_FAILED);
	assert_true(xp_elf_to_offset(elf, found.at[0].address, ret_offset));
	return (uint64_t)(uintptr_t)base + (*ret_offset - segment->offset) + lead;
}

/* p_vaddr taken for a file offset gives names 0x1000 off; each of these is laid out in another way. */
static void every_layout_gives_the_name(void **state)
{
	static const char *const files[][2] = {
		{ "functions", "many_ways" },	     { "functions_nopie", "many_ways" },     { "functions_lld", "many_ways" },
		{ "functions_static", "many_ways" }, { "functions_shifted", "many_ways" },   { "libshifted.so", "library_outer" },
		{ "libscript.so", "library_outer" }, { "functions_debuglink", "many_ways" }, { "functions_minidebug", "many_ways" },
	};
	uint64_t addresses[XP_LEN(files)], offsets[XP_LEN(files)];
	struct xp_symbolized answers[XP_LEN(files)];
	xp_auto_err err = { 0 };
	char path[512];

	for (size_t i = 0; i < XP_LEN(files); i++) {
		const char *names = i < 7 ? files[i][0] : "functions";
		char named[512];

		snprintf(path, sizeof(path), XP_BUILD_DIR "/targets/%s", files[i][0]);
		snprintf(named, sizeof(named), XP_BUILD_DIR "/targets/%s", i == 7 ? "functions_linked" : names);
		addresses[XP_LEN(files) - 1 - i] = map_code(path, files[i][1], named, &offsets[i]) + 3;
	}
	struct session session = open_session(getpid(), 0);
	assert_int_equal(xp_symbolize(session.symbolizer, addresses, XP_LEN(files), answers, &err), 0);
	for (size_t i = 0; i < XP_LEN(files); i++) {
		const struct xp_symbolized *answer = &answers[XP_LEN(files) - 1 - i];

		if (addresses[XP_LEN(files) - 1 - i] == 3)
			continue; /* not built here; the build said so */
		assert_int_equal(answer->kind, XP_FRAME_NATIVE);
		assert_non_null(answer->symbol);
		assert_string_equal(answer->symbol, files[i][1]);
		assert_int_equal(answer->symbol_offset.v, 3);
		assert_int_equal(answer->file_offset.v, offsets[i] + 3);
		assert_int_equal(answer->function_offset.v, offsets[i]);
	}
	close_session(&session);
}

static void stripped_code_keeps_module_and_function_start(void **state)
{
	uint64_t offset,
		address = map_code(XP_BUILD_DIR "/targets/functions_stripped", "many_ways", XP_BUILD_DIR "/targets/functions", &offset);
	struct session session = open_session(getpid(), 0);
	struct xp_symbolized answer = ask(&session, address + 9);

	assert_null(answer.symbol);
	assert_false(answer.symbol_offset.set);
	assert_non_null(strstr(answer.module_path, "/functions_stripped"));
	assert_int_equal(answer.file_offset.v, offset + 9);
	assert_int_equal(answer.function_offset.v, offset);
	close_session(&session);
}

static void copy_file(const char *from, const char *to)
{
	xp_auto_fd in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0755);
	char bytes[65536];

	assert_true(in >= 0 && out >= 0);
	for (ssize_t n; (n = read(in, bytes, sizeof(bytes))) > 0;)
		assert_int_equal(write(out, bytes, (size_t)n), n);
}

static void replaced_files_give_no_names_deleted_ones_their_own(void **state)
{
	char dir[] = "/tmp/xp-symbolize-XXXXXX", old[80], new[80];
	uint64_t offset;

	assert_non_null(mkdtemp(dir));
	snprintf(old, sizeof(old), "%s/program", dir);
	snprintf(new, sizeof(new), "%s/other", dir);
	copy_file(XP_BUILD_DIR "/targets/functions", old);
	copy_file(XP_BUILD_DIR "/targets/functions_plain", new);
	uint64_t address = map_code(old, "many_ways", old, &offset);
	assert_int_equal(rename(new, old), 0);
	struct session session = open_session(getpid(), 0);
	struct xp_symbolized answer = ask(&session, address + 5);
	assert_null(answer.symbol);
	assert_string_equal(answer.module_path, old);
	assert_int_equal(answer.function_offset.v, offset);
	assert_true(is_missed(&session, old));
	close_session(&session);

	assert_int_equal(unlink(old), 0);
	session = open_session(getpid(), 0);
	answer = ask(&session, address + 5);
	if (!access("/proc/self/map_files", X_OK) && !geteuid()) {
		assert_non_null(answer.symbol);
		assert_string_equal(answer.symbol, "many_ways");
		assert_false(is_missed(&session, old));
	}
	close_session(&session);
	rmdir(dir);
}

static void own_code_libraries_and_vdso(void **state)
{
	struct session session = open_session(getpid(), 0);
	struct xp_symbolized answer = ask(&session, (uint64_t)(uintptr_t)own_code_libraries_and_vdso + 1);
	const struct xp_maps *maps = xp_target_maps(session.target);
	size_t named = 0;

	assert_string_equal(answer.symbol, "own_code_libraries_and_vdso");
	assert_int_equal(answer.symbol_offset.v, 1);
	answer = ask(&session, (uint64_t)(uintptr_t)qsort);
	assert_non_null(answer.symbol);
	assert_non_null(strstr(answer.symbol, "qsort"));
	assert_null(strchr(answer.symbol, '@'));
	for (size_t i = 0; i < maps->n; i++) {
		if (strcmp(maps->at[i].path, "[vdso]"))
			continue;
		for (uint64_t at = maps->at[i].start; at < maps->at[i].end; at += 16) {
			answer = ask(&session, at);
			assert_string_equal(answer.module_path, "[vdso]");
			named += answer.symbol && strstr(answer.symbol, "clock_gettime");
		}
		assert_in_range(named, 1, 1000);
	}
	close_session(&session);
}

static void a_passed_deadline_leaves_module_and_offset(void **state)
{
	struct session session = open_session(getpid(), 1);
	struct xp_symbolized answer = ask(&session, (uint64_t)(uintptr_t)qsort);

	assert_null(answer.symbol);
	assert_non_null(answer.module_path);
	assert_true(answer.file_offset.set);
	assert_true(xp_symbolizer_account(session.symbolizer).deadline_reached);
	close_session(&session);
}

static void perf_map_lines(void **state)
{
	static const char text[] = "1000 100 first\n"
				   "0x1000 0x80 second with blanks\n"
				   "2000 10 gone\n"
				   "no number\n"
				   "3000 FF Upper\n"
				   "10000000000000000 1 too long\n"
				   "ffffffffffffffff 2 wraps\n"
				   "4000 0 empty\n"
				   "5000 10 \n"
				   "2000 10 last\n"
				   "6000 10 being writ";
	static const uint64_t addresses[] = {
		0xfff, 0x1000, 0x107f, 0x1080, 0x10ff, 0x1100, 0x200f, 0x30fe, 0x30ff, 0x4000, 0x5000, 0x6001
	};
	static const char *const expected[] = {
		NULL, "second with blanks", "second with blanks", "first", "first", NULL, "last", "Upper", NULL, NULL, NULL, NULL
	};
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_code_name names[XP_LEN(addresses)];
	struct xp_perf_map_account account = { 0 };

	xp_perf_map_resolve(text, strlen(text), addresses, XP_LEN(addresses), arena, names, &account);
	for (size_t i = 0; i < XP_LEN(addresses); i++) {
		if (!expected[i])
			assert_null(names[i].name);
		else
			assert_string_equal(names[i].name, expected[i]);
	}
	assert_int_equal(names[2].start, 0x1000);
	assert_int_equal(account.lines, 11);
	assert_int_equal(account.broken, 5);
}

static void kallsyms_lines(void **state)
{
	static const char text[] = "ffffffff81000000 t local_alias\n"
				   "ffffffff81000000 T global_name\n"
				   "ffffffff81000000 D data_alias\n"
				   "ffffffffc0000100 t of_module\t[toy]\n"
				   "ffffffff81000100 t second\n"
				   "ffffffff81000200 D data\n"
				   "ffffffff80000000 T far_below\n";
	static const uint64_t addresses[] = { 0xffffffff80ffffff, 0xffffffff81000000, 0xffffffff810000ff, 0xffffffff81000100,
					      0xffffffff81000200, 0xffffffffc0000108, 0xffffffffc0000109, 0xffffffffd0000000 };
	static const char *const expected[] = { NULL, "global_name", "global_name", "second", NULL, "of_module", "of_module", NULL };
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_code_name names[XP_LEN(addresses)];
	xp_auto_fd fd = memfd_create("kallsyms", MFD_CLOEXEC), hidden = memfd_create("hidden", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	lseek(fd, 0, SEEK_SET);
	assert_true(xp_kallsyms_resolve(fd, addresses, XP_LEN(addresses), arena, names));
	for (size_t i = 0; i < XP_LEN(addresses); i++) {
		if (!expected[i])
			assert_null(names[i].name);
		else
			assert_string_equal(names[i].name, expected[i]);
	}
	assert_string_equal(names[6].module, "[toy]");
	assert_null(names[1].module);
	assert_int_equal(write(hidden, "0000000000000000 T schedule\n", 28), 28);
	lseek(hidden, 0, SEEK_SET);
	assert_false(xp_kallsyms_resolve(hidden, addresses, 1, arena, names));
	assert_null(names[0].name);
}

/* The kernel's own list and we agree on every 997th function. */
static void kernel_functions(void **state)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	uint64_t addresses[400];
	char names[400][64];
	struct xp_symbolized answers[400];
	xp_auto_err err = { 0 };
	char line[1024], type;
	size_t n = 0, right = 0;
	unsigned long address, last = 0;

	assert_non_null(file);
	for (size_t i = 0; n < 400 && fgets(line, sizeof(line), file); i++)
		if (i % 997 == 0 && sscanf(line, "%lx %c %63s", &address, &type, names[n]) == 3 && address > last && strchr("tT", type))
			addresses[n++] = last = address;
	fclose(file);
	if (!n) {
		print_message("SKIP kernel functions: /proc/kallsyms shows no addresses\n");
		skip();
	}
	struct session session = open_session(getpid(), 0);
	assert_int_equal(xp_symbolize(session.symbolizer, addresses, n, answers, &err), 0);
	assert_true(xp_symbolizer_account(session.symbolizer).kernel_readable);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(answers[i].kind, XP_FRAME_KERNEL);
		assert_int_equal(answers[i].symbol_offset.v, 0);
		right += !strcmp(answers[i].symbol, names[i]);
	}
	assert_in_range(right, n * 9 / 10, n); /* the rest has several names */
	close_session(&session);
}

/* Inner PID 1, a root of its own, /tmp an absolute link: the map is inside, and one of the same name outside is another process's. */
static pid_t contained_jit(const char *root, uint64_t address)
{
	pid_t outer = fork();

	if (outer)
		return outer;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing outlives a test that failed */
	if (unshare(CLONE_NEWPID))
		_exit(77);
	pid_t inner = fork();
	if (!inner) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		void *code = mmap((void *)(uintptr_t)address, PAGE, PROT_READ | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (code == MAP_FAILED || chroot(root) || chdir("/"))
			_exit(1);
		for (;;)
			pause();
	}
	char name[64];
	snprintf(name, sizeof(name), "%s/inner", root);
	xp_auto_fd fd = open(name, O_WRONLY | O_CREAT, 0600);
	dprintf(fd, "%d\n", inner);
	waitpid(inner, NULL, 0);
	_exit(0);
}

static void write_text(const char *path, const char *text)
{
	xp_auto_fd fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static pid_t wait_for_inner(const char *root)
{
	char name[64], text[32] = "", link[256];
	int pid = 0;

	snprintf(name, sizeof(name), "%s/inner", root);
	for (int i = 0; i < 30000; i++) {
		xp_auto_fd fd = open(name, O_RDONLY);

		if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && sscanf(text, "%d\n", &pid) == 1) {
			snprintf(name, sizeof(name), "/proc/%d/root", pid);
			ssize_t len = readlink(name, link, sizeof(link) - 1);
			if (len > 1)
				return pid;
			snprintf(name, sizeof(name), "%s/inner", root);
		}
		usleep(1000);
	}
	fail_msg("the contained program did not start");
	return 0;
}

static void perf_map_of_a_container(void **state)
{
	const uint64_t address = 0x200000000000; /* where neither programs nor a sanitizer put anything */
	char root[] = "/tmp/xp-jit-XXXXXX", path[128];
	struct xp_symbolized answer;

	if (geteuid()) {
		print_message("SKIP perf map of a container: needs root\n");
		skip();
	}
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/jit", root);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/tmp", root);
	assert_int_equal(symlink("/jit", path), 0);
	pid_t outer = contained_jit(root, address), inner = wait_for_inner(root);
	snprintf(path, sizeof(path), "%s/jit/perf-1.map", root);
	write_text(path, "200000000000 40 inside\nbroken\n");

	struct session session = open_session(inner, 0);
	answer = ask(&session, address + 7);
	assert_int_equal(answer.kind, XP_FRAME_JIT);
	assert_string_equal(answer.symbol, "inside");
	assert_int_equal(answer.symbol_offset.v, 7);
	assert_int_equal(xp_symbolizer_account(session.symbolizer).perf_map_lines, 2);
	assert_int_equal(xp_symbolizer_account(session.symbolizer).perf_map_broken_lines, 1);
	assert_int_equal(ask(&session, address + 0x40).kind, XP_FRAME_UNKNOWN);

	/* Another owner's file is not believed, and neither is what is no file. */
	assert_int_equal(chown(path, 12345, 12345), 0);
	assert_int_equal(ask(&session, address + 7).kind, XP_FRAME_UNKNOWN);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0644), 0);
	assert_int_equal(ask(&session, address + 7).kind, XP_FRAME_UNKNOWN);
	assert_int_equal(unlink(path), 0);
	write_text(path, "200000000000 40 huge\n");
	assert_int_equal(truncate(path, (64 << 20) + 1), 0);
	assert_int_equal(ask(&session, address + 7).kind, XP_FRAME_UNKNOWN);
	close_session(&session);

	kill(inner, SIGKILL);
	waitpid(outer, NULL, 0);
	assert_int_equal(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/jit", root);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/tmp", root);
	unlink(path);
	snprintf(path, sizeof(path), "%s/inner", root);
	unlink(path);
	rmdir(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_layout_gives_the_name),
		cmocka_unit_test(stripped_code_keeps_module_and_function_start),
		cmocka_unit_test(replaced_files_give_no_names_deleted_ones_their_own),
		cmocka_unit_test(own_code_libraries_and_vdso),
		cmocka_unit_test(a_passed_deadline_leaves_module_and_offset),
		cmocka_unit_test(perf_map_lines),
		cmocka_unit_test(kallsyms_lines),
		cmocka_unit_test(kernel_functions),
		cmocka_unit_test(perf_map_of_a_container),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
