// SPDX-License-Identifier: Apache-2.0
/* Fault: new or patched CPythons gave garbage or no frames. Every Python of the machine: frames of blocked threads are what it says itself.
 */
#include "pythons.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "elf/elf_priv.h"
#include "elf/python.h"
#include "target/status.h"

enum { FRAMES_MAX = 512, THREADS_SAID = 10, SUBS_SAID = 2, LINE_BYTES = 4096 };

struct read_frames {
	struct xp_python_frame at[FRAMES_MAX];
	size_t n;
};

/* Of a thread that is blocked. */
static uint64_t stack_pointer(struct xp_target *target, uint32_t tid)
{
	char path[64], text[256];
	uint64_t sp;

	snprintf(path, sizeof(path), "task/%u/syscall", tid);
	assert_true(xp_target_read(target, path, text, sizeof(text)) > 0);
	char *pc = strrchr(text, ' ');
	assert_non_null(pc);
	*pc = '\0';
	assert_non_null(strrchr(text, ' '));
	sp = strtoull(strrchr(text, ' '), NULL, 16);
	assert_true(sp != 0);
	return sp;
}

/* The frames that are shown. */
static void read_thread(struct xp_target *target, struct xp_python *python, uint32_t tid, struct read_frames *ret_frames)
{
	static struct xp_rec_python_frame records[FRAMES_MAX];
	static struct xp_python_frame frames[FRAMES_MAX];
	size_t n = xp_python_walk_blocked(python, tid, stack_pointer(target, tid), records, FRAMES_MAX);

	ret_frames->n = 0;
	if (!xp_python_frames_read(python, records, n, frames))
		fail_msg("CPython %s: a frame of thread %u has no code object", xp_python_version(python), tid);
	for (size_t i = 0; i < n; i++)
		if (!frames[i].shim && !frames[i].hidden)
			ret_frames->at[ret_frames->n++] = frames[i];
}

static void expect_frame(const struct xp_python *python, const struct read_frames *frames, size_t i, char *said)
{
	char *rest = said;
	const char *name = strsep(&rest, "\t"), *path = strsep(&rest, "\t");
	uint32_t line = (uint32_t)strtoul(rest, NULL, 10);

	if (i >= frames->n)
		fail_msg("CPython %s: frame %zu, %s line %u, is missing", xp_python_version(python), i, name, line);
	const struct xp_python_frame *frame = &frames->at[i];
	if (strcmp(frame->qualname, name) || strcmp(frame->source_path, path) || !frame->line.set || frame->line.v != line)
		fail_msg("CPython %s: frame %zu is %s (%s:%u), the interpreter says %s (%s:%u)", xp_python_version(python), i,
			 frame->qualname, frame->source_path, frame->line.set ? frame->line.v : 0, name, path, line);
}

/* The script tells ids of its own namespace. */
static uint32_t outer_tid(struct xp_target *target, uint32_t inner)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_process_status status;
	xp_auto_err err = { 0 };
	uint32_t *tids;
	size_t n;
	char path[64], text[8192];

	assert_int_equal(xp_target_threads(target, arena, &tids, &n, &err), 0);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "task/%u/status", tids[i]);
		if (xp_target_read(target, path, text, sizeof(text)) > 0 && xp_status_parse(text, &status) &&
		    status.ns_pid[status.n_ns_pid - 1] == inner)
			return tids[i];
	}
	fail_msg("no thread has the id %u", inner);
	return 0;
}

/* Returns how many frames agreed; threads are counted in *ret_threads. */
static size_t compare(struct xp_target *target, struct xp_python *python, FILE *said, size_t *ret_threads)
{
	static struct read_frames frames;
	char text[LINE_BYTES];
	size_t at = 0, total = 0;

	frames.n = 0;
	*ret_threads = 0;
	while (fgets(text, sizeof(text), said)) {
		text[strcspn(text, "\n")] = '\0';
		if (text[0] == 'F') {
			expect_frame(python, &frames, at++, text + 2);
			total++;
			continue;
		}
		assert_int_equal(at, frames.n); /* the thread before: no frame more than it said */
		if (text[0] != 'T')
			break;
		read_thread(target, python, outer_tid(target, (uint32_t)strtoul(text + 2, NULL, 10)), &frames);
		at = 0;
		(*ret_threads)++;
	}
	return total;
}

/* All that the script says, read before anything is looked at: then its threads sleep. */
static FILE *hear(struct script *script)
{
	char text[LINE_BYTES];
	FILE *said = tmpfile();

	do {
		if (!fgets(text, sizeof(text), script->out))
			fail_msg("the script ended early");
		fputs(text, said);
	} while (strcmp(text, "READY\n") != 0);
	usleep(50000); /* READY is written before the main thread sleeps */
	rewind(said);
	return said;
}

/* Names of releases as in "3.11.7"; the ones seen are marked. */
static void check_one(const char *path, bool inside, bool *seen)
{
	static const char file[] = XP_SOURCE_DIR "/tests/targets/python_frames.py";
	struct script script = inside ? start_script_inside(path, file, "--sub") : start_script(path, file, "--sub");
	FILE *said = hear(&script);
	struct xp_target *target;
	struct xp_python *python;
	xp_auto_err err = { 0 };
	size_t threads;
	unsigned minor;

	assert_int_equal(xp_target_open((uint32_t)script.pid, NULL, &target, &err), 0);
	assert_int_equal(xp_python_open(target, &python, &err), 0);
	if (xp_python_status(python) != XP_PYTHON_ACTIVE)
		fail_msg("%s: %s, %s", path, xp_python_status_names[xp_python_status(python)], xp_python_why(python));
	assert_int_equal(sscanf(xp_python_version(python), "3.%u.", &minor), 1);
	seen[minor - 8] = true;
	size_t total = compare(target, python, said, &threads);
	assert_int_equal(threads, THREADS_SAID + (minor < 11 ? 0 : SUBS_SAID));		  /* before, nothing tells whose frames those are */
	assert_int_equal(compare(target, (rewind(said), python), said, &threads), total); /* out of the caches */
	printf("%s: CPython %s, %zu threads, %zu frames\n", path, xp_python_version(python), threads, total);
	xp_python_free(python);
	xp_target_close(target);
	fclose(said);
	stop_script(&script);
}

static bool is_known_release(const char *path)
{
	unsigned major = 0, minor = 0;

	return sscanf(strrchr(path, '/') + 1, "python%u.%u", &major, &minor) == 2 && major == 3 && minor >= 8 && minor <= 14;
}

static void every_python(void **state)
{
	struct pythons pythons;
	bool seen[RELEASES] = { false };

	find_pythons(&pythons);
	for (size_t i = 0; i < pythons.n; i++)
		if (is_known_release(pythons.path[i]))
			check_one(pythons.path[i], false, seen);
	for (unsigned i = 0; i < RELEASES; i++)
		if (!seen[i])
			printf("SKIP: no Python 3.%u on this machine (XP_PYTHONS names others)\n", i + 8);
}

/* Ids of threads are small numbers there, which stand in many places of a thread's memory. One Python of each way to find them. */
static void in_pid_namespace(void **state)
{
	struct pythons pythons;
	bool seen[RELEASES] = { false }, done[2] = { false };

	find_pythons(&pythons);
	for (size_t i = 0; i < pythons.n; i++) {
		unsigned minor = 0;

		sscanf(strrchr(pythons.path[i], '/'), "/python3.%u", &minor);
		if (!is_known_release(pythons.path[i]) || done[minor >= 11])
			continue;
		done[minor >= 11] = true;
		check_one(pythons.path[i], true, seen);
	}
	if (!done[0] && !done[1])
		skip();
}

static void expect_refused(uint32_t pid, const char *version, const char *why)
{
	struct xp_rec_python_frame frame;
	struct xp_target *target;
	struct xp_python *python;
	xp_auto_err err = { 0 };

	assert_int_equal(xp_target_open(pid, NULL, &target, &err), 0);
	assert_int_equal(xp_python_open(target, &python, &err), 0);
	if (xp_python_status(python) != XP_PYTHON_UNSUPPORTED)
		fail_msg("%s is %s", version, xp_python_status_names[xp_python_status(python)]);
	printf("%s\n", xp_python_why(python));
	assert_int_equal(strncmp(xp_python_version(python), version, strlen(version)), 0);
	assert_non_null(strstr(xp_python_why(python), version));
	assert_non_null(strstr(xp_python_why(python), why));
	assert_int_equal(xp_python_layout(python)->version, 0);
	assert_int_equal(xp_python_walk_blocked(python, pid, 0, &frame, 1), 0);
	xp_python_free(python);
	xp_target_close(target);
}

/* Where Py_Version lies in the file. */
static bool find_version(const struct xp_elf *elf, uint64_t *ret_offset)
{
	struct xp_symtab table;
	Elf64_Sym symbol;
	const char *name;

	if (!xp_elf_dynsym(elf, &table))
		return false;
	for (uint64_t i = 0; i < table.n; i++)
		if (xp_symtab_read(&table, i, &symbol, &name) && !strcmp(name, "Py_Version") && symbol.st_value)
			return xp_elf_to_offset(elf, symbol.st_value, ret_offset);
	return false;
}

/* Older ones are refused by their number, and nothing is read of them. */
static void too_old(void **state)
{
	struct pythons pythons;
	size_t n = 0;

	find_pythons(&pythons);
	for (size_t i = 0; i < pythons.n; i++) {
		const char *number = strrchr(pythons.path[i], '/') + strlen("/python");
		char text[8];

		if (is_known_release(pythons.path[i]))
			continue;
		struct script script = start_script(pythons.path[i], XP_SOURCE_DIR "/tests/targets/python_ready.py", "");
		assert_non_null(fgets(text, sizeof(text), script.out));
		expect_refused((uint32_t)script.pid, number, "not among the known releases");
		stop_script(&script);
		n++;
	}
	if (!n) {
		printf("SKIP: no Python older than 3.8 on this machine\n");
		skip();
	}
}

/* Copies the program with another Py_Version in it (0: the same); false when it has none. */
static bool copy_with_version(const char *from, const char *to, uint64_t hex)
{
	xp_auto(xp_elf_close) struct xp_elf *elf = NULL;
	xp_auto_fd in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	xp_auto_err err = { 0 };
	struct stat st;
	uint64_t offset;

	if (in < 0 || out < 0 || fstat(in, &st) || xp_elf_open(in, from, &elf, &err) || !find_version(elf, &offset))
		return false;
	assert_int_equal(sendfile(out, in, NULL, (size_t)st.st_size), st.st_size);
	if (hex)
		assert_int_equal(pwrite(out, &hex, sizeof(hex), (off_t)offset), sizeof(hex));
	return true;
}

/* Builds that say they are what they are not: refused by the number they give, and nothing is read by that number's layout. */
static void strange_builds(void **state)
{
	static const struct {
		uint64_t hex;
		const char *version, *why;
	} claims[] = {
		{ 0x030b02a1, "3.11.2a1", "pre-release" }, { 0x030f00f0, "3.15.0", "not among the known releases" },
		{ 0x030c00f0, "3.12.0", "not known" },	   { 0x030d00f0, "3.13.0", "table of offsets" },
		{ 0x030a00f0, "3.10.0", "not known" },	   { 0x030800f0, "3.8.0", "not known" },
	};
	char path[] = "/tmp/xprobe-XXXXXX", copy[64];

	assert_non_null(mkdtemp(path));
	snprintf(copy, sizeof(copy), "%s/python3.11", path);
	for (size_t i = 0; i < XP_LEN(claims); i++) {
		if (!copy_with_version("/usr/bin/python3.11", copy, claims[i].hex)) {
			rmdir(path);
			printf("SKIP: no /usr/bin/python3.11 with its own runtime\n");
			skip();
		}
		struct script script = start_script(copy, XP_SOURCE_DIR "/tests/targets/python_ready.py", "");
		char text[8];
		assert_non_null(fgets(text, sizeof(text), script.out));
		expect_refused((uint32_t)script.pid, claims[i].version, claims[i].why);
		stop_script(&script);
		unlink(copy);
	}
	rmdir(path);
}

/* An interpreter built into a program of any name, whose file is gone meanwhile. */
static void embedded_and_deleted(void **state)
{
	char path[] = "/tmp/xprobe-XXXXXX", copy[64], text[8];
	struct xp_rec_python_frame frame;
	struct xp_target *target;
	struct xp_python *python;
	xp_auto_err err = { 0 };

	assert_non_null(mkdtemp(path));
	snprintf(copy, sizeof(copy), "%s/trainer", path);
	if (!copy_with_version("/usr/bin/python3.11", copy, 0)) {
		rmdir(path);
		printf("SKIP: no /usr/bin/python3.11 with its own runtime\n");
		skip();
	}
	struct script script = start_script(copy, XP_SOURCE_DIR "/tests/targets/python_ready.py", "");
	assert_non_null(fgets(text, sizeof(text), script.out));
	unlink(copy);
	rmdir(path);
	assert_int_equal(xp_target_open((uint32_t)script.pid, NULL, &target, &err), 0);
	assert_int_equal(xp_python_open(target, &python, &err), 0);
	assert_int_equal(xp_python_status(python), XP_PYTHON_ACTIVE);
	assert_int_equal(xp_python_walk_blocked(python, (uint32_t)script.pid, 0, &frame, 1), 1);
	xp_python_free(python);
	xp_target_close(target);
	stop_script(&script);
}

static void not_python(void **state)
{
	struct xp_target *target;
	struct xp_python *python;
	xp_auto_err err = { 0 };

	assert_int_equal(xp_target_open((uint32_t)getpid(), NULL, &target, &err), 0);
	assert_int_equal(xp_python_open(target, &python, &err), 0);
	assert_int_equal(xp_python_status(python), XP_PYTHON_NOT_DETECTED);
	assert_null(xp_python_version(python));
	assert_null(xp_python_why(python));
	xp_python_free(python);
	xp_target_close(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_python),	  cmocka_unit_test(in_pid_namespace),	  cmocka_unit_test(too_old),
		cmocka_unit_test(strange_builds), cmocka_unit_test(embedded_and_deleted), cmocka_unit_test(not_python),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
