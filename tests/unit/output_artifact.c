/* SPDX-License-Identifier: Apache-2.0 */
/* Case H3: whatever is planted where a file goes, the victim stays as it was; a file appears whole, private, or not at all. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "output/artifact.h"

/* The tests run inside a fresh folder, so relative paths are enough. */
static int enter(void **state)
{
	char *folder = strdup("/tmp/artifact-test-XXXXXX");

	if (!mkdtemp(folder) || chdir(folder))
		return -1;
	*state = folder;
	return 0;
}

static void remove_all(int dirfd)
{
	DIR *dir = fdopendir(dirfd);

	for (struct dirent *entry; (entry = readdir(dir));) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (unlinkat(dirfd, entry->d_name, 0) && errno == EISDIR) {
			remove_all(openat(dirfd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
			unlinkat(dirfd, entry->d_name, AT_REMOVEDIR);
		}
	}
	closedir(dir);
}

static int leave(void **state)
{
	remove_all(open(".", O_RDONLY | O_DIRECTORY));
	int rc = chdir("/");
	rmdir(*state);
	free(*state);
	return rc;
}

static void put_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void assert_text(const char *path, const char *expected)
{
	char text[128] = "";
	int fd = open(path, O_RDONLY | O_NOFOLLOW);

	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	close(fd);
	assert_string_equal(text, expected);
}

static unsigned entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

static int write_text(const char *path, const char *text, struct xp_artifact *ret_artifact, struct xp_err *err)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto(xp_artifact_close) struct xp_artifact_file *file = NULL;
	struct xp_artifact artifact = { 0 };
	int rc = xp_artifact_open(path, &file, err);

	if (rc)
		return rc;
	struct xp_sink sink = xp_artifact_sink(file);
	rc = sink.write(sink.arg, text, strlen(text), err);
	if (!rc)
		rc = xp_artifact_commit(file, arena, &artifact, err);
	if (!rc && ret_artifact) {
		*ret_artifact = artifact;
		ret_artifact->path = strdup(artifact.path);
	}
	return rc;
}

static void a_file_is_whole_private_and_absolute(void **state)
{
	xp_auto_err err = { 0 };
	struct xp_artifact artifact;
	struct stat st;
	char expected[64];

	put_file("events.jsonl", "the older and longer content\n");
	assert_int_equal(write_text("events.jsonl", "new\n", &artifact, &err), 0);
	assert_text("events.jsonl", "new\n");
	assert_int_equal(stat("events.jsonl", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(artifact.bytes, 4);
	snprintf(expected, sizeof(expected), "%s/events.jsonl", (const char *)*state);
	assert_string_equal(artifact.path, expected);
	free((char *)artifact.path);
	assert_int_equal(entries("."), 1);
}

static void a_planted_link_is_replaced_not_followed(void **state)
{
	xp_auto_err err = { 0 };
	struct stat st;

	put_file("victim", "precious\n");
	assert_int_equal(symlink("victim", "out"), 0);
	assert_int_equal(symlink("nowhere", "dangling"), 0);
	assert_int_equal(xp_artifact_check_destination("out", &err), 0);
	assert_int_equal(write_text("out", "new\n", NULL, &err), 0);
	assert_int_equal(write_text("dangling", "new\n", NULL, &err), 0);
	assert_text("victim", "precious\n");
	assert_text("out", "new\n");
	assert_int_equal(lstat("dangling", &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(access("nowhere", F_OK), -1);
}

/* The temporary's name can be guessed: whatever waits there is neither opened nor removed. */
static void planted_temporaries_are_stepped_over(void **state)
{
	xp_auto_err err = { 0 };
	char name[64];

	put_file("victim", "precious\n");
	snprintf(name, sizeof(name), ".out.xprobe-%d-0.tmp", (int)getpid());
	assert_int_equal(symlink("victim", name), 0);
	snprintf(name, sizeof(name), ".out.xprobe-%d-1.tmp", (int)getpid());
	assert_int_equal(mkfifo(name, 0600), 0);
	snprintf(name, sizeof(name), ".out.xprobe-%d-2.tmp", (int)getpid());
	assert_int_equal(mkdir(name, 0700), 0);
	assert_int_equal(write_text("out", "new\n", NULL, &err), 0);
	assert_text("victim", "precious\n");
	assert_text("out", "new\n");
	assert_int_equal(entries("."), 5);
}

static void odd_destinations_are_refused(void **state)
{
	static const char *const odd[] = {
		"fifo", "folder", "folder/", "socket", ".", "..", "", "missing/out", "file/out", "/dev/null", "/"
	};
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat st;

	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(mkdir("folder", 0700), 0);
	put_file("file", "precious\n");
	for (size_t i = 0; i < XP_LEN(odd); i++) {
		xp_auto_err err = { 0 };
		xp_auto_err again = { 0 };

		if (xp_artifact_check_destination(odd[i], &err) != -XP_E_TRACE_EXPORT_FAILED)
			fail_msg("\"%s\" passed the check", odd[i]);
		assert_int_equal(write_text(odd[i], "new\n", NULL, &again), -XP_E_TRACE_EXPORT_FAILED);
	}
	close(fd);
	assert_text("file", "precious\n");
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(entries("."), 4);
}

/* The name is looked at again at the end: something may have been planted while the capture ran. */
static void a_late_directory_is_refused(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_artifact_file *file;
	struct xp_artifact artifact;
	xp_auto_err err = { 0 };

	assert_int_equal(xp_artifact_open("out", &file, &err), 0);
	assert_int_equal(mkdir("out", 0700), 0);
	assert_int_equal(xp_artifact_commit(file, arena, &artifact, &err), -XP_E_TRACE_EXPORT_FAILED);
	xp_artifact_close(file);
	assert_int_equal(entries("."), 1);
	assert_int_equal(entries("out"), 0);
}

static void an_abandoned_file_leaves_nothing(void **state)
{
	struct xp_artifact_file *file;
	xp_auto_err err = { 0 };

	put_file("out", "older\n");
	assert_int_equal(xp_artifact_open("out", &file, &err), 0);
	struct xp_sink sink = xp_artifact_sink(file);
	assert_int_equal(sink.write(sink.arg, "half", 4, &err), 0);
	assert_int_equal(entries("."), 2);
	xp_artifact_close(file);
	assert_text("out", "older\n");
	assert_int_equal(entries("."), 1);
}

static void of_two_writers_one_wins_whole(void **state)
{
	enum { LINES = 99991 };
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_artifact_file *files[2];
	struct xp_artifact artifact;
	xp_auto_err err = { 0 };
	char line[64];
	unsigned lines = 0;

	for (int i = 0; i < 2; i++)
		assert_int_equal(xp_artifact_open("out", &files[i], &err), 0);
	for (int n = 0; n < LINES; n++)
		for (int i = 0; i < 2; i++) {
			struct xp_sink sink = xp_artifact_sink(files[i]);

			assert_int_equal(sink.write(sink.arg, i ? "bbb\n" : "aaa\n", 4, &err), 0);
		}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(xp_artifact_commit(files[i], arena, &artifact, &err), 0);
		assert_int_equal(artifact.bytes, 4 * LINES);
		xp_artifact_close(files[i]);
	}
	FILE *file = fopen("out", "r");
	while (fgets(line, sizeof(line), file)) {
		assert_string_equal(line, "bbb\n");
		lines++;
	}
	fclose(file);
	assert_int_equal(lines, LINES);
	assert_int_equal(entries("."), 1);
}

static int fill(const char *path, size_t bytes, struct xp_err *err)
{
	xp_auto_text block = calloc(1, bytes + 1);

	memset(block, 'x', bytes);
	return write_text(path, block, NULL, err);
}

static void a_file_size_limit_leaves_nothing(void **state)
{
	struct rlimit before, small = { .rlim_cur = 65536, .rlim_max = RLIM_INFINITY };
	xp_auto_err err = { 0 };

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	put_file("out", "older\n");
	int rc = fill("out", 1 << 20, &err);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(rc, -XP_E_TRACE_EXPORT_FAILED);
	assert_string_equal(err.errno_text, "EFBIG");
	assert_text("out", "older\n");
	assert_int_equal(entries("."), 1);
}

static void a_full_disk_leaves_nothing(void **state)
{
	xp_auto_err err = { 0 };

	assert_int_equal(mkdir("small", 0700), 0);
	if (geteuid() || unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", "small", "tmpfs", 0, "size=64k")) {
		print_message("SKIP a_full_disk_leaves_nothing: no private mount namespace with a small tmpfs here\n");
		skip();
	}
	int rc = fill("small/out", 1 << 20, &err);
	unsigned left = entries("small");
	umount2("small", MNT_DETACH);
	assert_int_equal(rc, -XP_E_TRACE_EXPORT_FAILED);
	assert_string_equal(err.errno_text, "ENOSPC");
	assert_string_equal(err.call, "write");
	assert_int_equal(left, 0);
}

static void names_of_full_length_work(void **state)
{
	char name[NAME_MAX + 1];
	xp_auto_err err = { 0 };

	memset(name, 'n', NAME_MAX);
	name[NAME_MAX] = '\0';
	assert_int_equal(write_text(name, "new\n", NULL, &err), 0);
	assert_text(name, "new\n");
	assert_int_equal(entries("."), 1);
}

static void the_private_folder_is_lazy_and_private(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_artifact_file *file;
	struct xp_artifact artifact;
	xp_auto_err err = { 0 };
	struct stat st;

	setenv("TMPDIR", *state, 1);
	assert_int_equal(xp_artifact_folder_check(&err), 0);
	struct xp_artifact_folder *folder = xp_artifact_folder_new();
	assert_null(xp_artifact_folder_path(folder));
	assert_int_equal(entries("."), 0);
	assert_int_equal(xp_artifact_open_in(folder, NULL, "abandoned.json", &file, &err), 0);
	assert_int_equal(entries("."), 1);
	xp_artifact_close(file);
	assert_int_equal(xp_artifact_open_in(folder, "pid-41", "abandoned.json", &file, &err), 0);
	xp_artifact_close(file);
	xp_artifact_folder_free(folder);
	assert_int_equal(entries("."), 0);

	folder = xp_artifact_folder_new();
	assert_int_equal(xp_artifact_open_in(folder, NULL, "events.jsonl", &file, &err), 0);
	assert_int_equal(xp_artifact_commit(file, arena, &artifact, &err), 0);
	xp_artifact_close(file);
	assert_int_equal(xp_artifact_open_in(folder, "pid-41", "threads.json", &file, &err), 0);
	assert_int_equal(xp_artifact_commit(file, arena, &artifact, &err), 0);
	xp_artifact_close(file);
	const char *path = xp_artifact_folder_path(folder);
	assert_int_equal(strncmp(path, *state, strlen(*state)), 0);
	assert_int_equal(strncmp(path + strlen(*state), "/xprobe-", 8), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(artifact.path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(entries(path), 2);
	xp_artifact_folder_free(folder);
	assert_int_equal(entries("."), 1);
	unsetenv("TMPDIR");
}

static void a_missing_tmpdir_is_told(void **state)
{
	xp_auto_err err = { 0 };
	struct xp_artifact_file *file;
	struct xp_artifact_folder *folder = xp_artifact_folder_new();

	setenv("TMPDIR", "/nonexistent/tmp", 1);
	assert_int_equal(xp_artifact_folder_check(&err), -XP_E_TRACE_EXPORT_FAILED);
	assert_int_equal(xp_artifact_open_in(folder, NULL, "events.jsonl", &file, &err), -XP_E_TRACE_EXPORT_FAILED);
	assert_string_equal(err.errno_text, "ENOENT");
	unsetenv("TMPDIR");
	xp_artifact_folder_free(folder);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_file_is_whole_private_and_absolute),
		CASE(a_planted_link_is_replaced_not_followed),
		CASE(planted_temporaries_are_stepped_over),
		CASE(odd_destinations_are_refused),
		CASE(a_late_directory_is_refused),
		CASE(an_abandoned_file_leaves_nothing),
		CASE(of_two_writers_one_wins_whole),
		CASE(a_file_size_limit_leaves_nothing),
		CASE(names_of_full_length_work),
		CASE(the_private_folder_is_lazy_and_private),
		CASE(a_missing_tmpdir_is_told),
		CASE(a_full_disk_leaves_nothing), /* last: it may leave the process in a mount namespace of its own */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
