/* SPDX-License-Identifier: Apache-2.0 */
/* Fault: a file really named "... (deleted)" was taken for a deleted one, a replaced file for the one that is mapped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/target_priv.h"

static void fixture(void **state)
{
	static const char fixture_text[] = "00400000-00452000 r-xp 00000000 08:02 173521                             /usr/bin/a b\n"
					   "00e03000-00e24000 rw-p 00000000 00:00 0                                  [heap]\n"
					   "7f0000000000-7f0000001000 rw-s 0000f000 103:1f 18446744073709551615      /x\\012y\n"
					   "7fff00000000-7fff00001000 ---p 00000000 00:00 0 \n"
					   "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";
	struct xp_arena *arena = xp_arena_new();
	char *text = xp_arena_str(arena, fixture_text);
	struct xp_maps maps;

	assert_true(xp_maps_parse(text, arena, &maps));
	assert_int_equal(maps.n, 5);
	assert_true(maps.at[0].read && !maps.at[0].write && maps.at[0].exec && !maps.at[0].shared);
	assert_true(maps.at[0].start == 0x400000 && maps.at[0].end == 0x452000 && maps.at[0].inode == 173521);
	assert_int_equal(maps.at[0].dev_major, 8);
	assert_int_equal(maps.at[0].dev_minor, 2);
	assert_string_equal(maps.at[0].path, "/usr/bin/a b");
	assert_string_equal(maps.at[2].path, "/x\ny");
	assert_true(maps.at[2].offset == 0xf000 && maps.at[2].shared && maps.at[2].inode == UINT64_MAX);
	assert_int_equal(maps.at[2].dev_minor, 0x1f);
	assert_string_equal(maps.at[3].path, "");
	assert_true(maps.at[4].start == 0xffffffffff600000);

	assert_ptr_equal(xp_maps_find(&maps, 0x400000), &maps.at[0]);
	assert_ptr_equal(xp_maps_find(&maps, 0x451fff), &maps.at[0]);
	assert_null(xp_maps_find(&maps, 0x452000));
	assert_null(xp_maps_find(&maps, 0));
	assert_ptr_equal(xp_maps_find(&maps, 0xffffffffff600fff), &maps.at[4]);
	assert_null(xp_maps_find(&maps, UINT64_MAX));
	xp_arena_free(arena);
}

static void broken_lines(void **state)
{
	static const char *const lines[] = {
		"x\n", "1-2\n", "2-1 r-xp 0 0:0 0\n", "1-2 r-xp 0 00:00 x\n", "1-2 r-x 0 00:00 0\n", "1-2 r-xp 0 00:00 0"
	};
	struct xp_arena *arena = xp_arena_new();
	struct xp_maps maps;

	for (size_t i = 0; i < XP_LEN(lines); i++)
		assert_false(xp_maps_parse(xp_arena_str(arena, lines[i]), arena, &maps));
	xp_arena_free(arena);
}

/* One private page of a file with `content`, mapped here; returns its address. */
static uint64_t map_file(const char *path, const char *content)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(at != MAP_FAILED);
	close(fd);
	return (uint64_t)(uintptr_t)at;
}

static void expect(uint64_t address, const char *path, bool deleted, bool replaced, const char *content)
{
	struct xp_target *target;
	xp_auto_err err = { 0 };
	char got[64] = "", way[4200];
	int fd;

	assert_int_equal(xp_target_open((uint32_t)getpid(), NULL, &target, &err), 0);
	const struct xp_mapping *m = xp_maps_find(xp_target_maps(target), address);
	assert_non_null(m);
	assert_string_equal(m->path, path);
	assert_int_equal(m->deleted, deleted);
	assert_int_equal(xp_target_mapping_replaced(target, m), replaced);

	assert_int_equal(xp_target_open_mapping(target, m, &fd, &err), 0);
	assert_int_equal(read(fd, got, sizeof(got) - 1), (ssize_t)strlen(content));
	assert_string_equal(got, content);
	close(fd);
	assert_int_equal(xp_target_mapping_path(target, m, way, sizeof(way), &err), 0);
	fd = open(way, O_RDONLY | O_CLOEXEC);
	memset(got, 0, sizeof(got));
	assert_int_equal(read(fd, got, sizeof(got) - 1), (ssize_t)strlen(content));
	assert_string_equal(got, content);
	close(fd);
	xp_target_close(target);
}

static void names_and_files(void **state)
{
	char folder[] = "/tmp/xprobe-maps-XXXXXX", path[128], other[128], link[128];

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/x (deleted)", folder);
	uint64_t at = map_file(path, "named so");
	expect(at, path, false, false, "named so");
	unlink(path);
	expect(at, path, true, true, "named so");

	snprintf(path, sizeof(path), "%s/plain", folder);
	snprintf(other, sizeof(other), "%s/new", folder);
	at = map_file(path, "old");
	expect(at, path, false, false, "old");
	map_file(other, "newer");
	assert_int_equal(rename(other, path), 0);
	expect(at, path, true, true, "old");

	/* Deleted under this name, alive under another. */
	snprintf(other, sizeof(other), "%s/hard", folder);
	snprintf(link, sizeof(link), "%s/link", folder);
	at = map_file(other, "linked");
	assert_int_equal(!!symlink(other, link) + !!unlink(path) + rename(other, path), 0);
	expect(at, path, false, false, "linked");
	unlink(path);
	unlink(link);

	/* The kernel prints both names alike. */
	if (!geteuid()) {
		snprintf(path, sizeof(path), "%s/a\nb", folder);
		snprintf(other, sizeof(other), "%s/a\\012b", folder);
		expect(map_file(path, "line end"), path, false, false, "line end");
		expect(map_file(other, "four characters"), other, false, false, "four characters");
		unlink(path);
		unlink(other);
	}
	rmdir(folder);
}

/* A range that was split after the snapshot still leads to its file. */
static void split_range(void **state)
{
	char path[] = "/tmp/xprobe-split-XXXXXX", got[8] = "";
	int fd = mkstemp(path);
	struct xp_target *target;
	xp_auto_err err = { 0 };

	assert_int_equal(ftruncate(fd, 3 * 4096) + (int)pwrite(fd, "split", 5, 0), 5);
	char *at = mmap(NULL, 3 * 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	assert_int_equal(xp_target_open((uint32_t)getpid(), NULL, &target, &err), 0);
	const struct xp_mapping *m = xp_maps_find(xp_target_maps(target), (uint64_t)(uintptr_t)at);
	assert_int_equal(munmap(at + 4096, 4096) + unlink(path), 0);
	assert_int_equal(xp_target_open_mapping(target, m, &fd, &err), geteuid() ? -XP_E_BINARY_NOT_MAPPED : 0);
	if (!geteuid()) {
		assert_int_equal(read(fd, got, 5), 5);
		assert_string_equal(got, "split");
		close(fd);
	}
	assert_int_equal(munmap(at, 4096) + munmap(at + 8192, 4096), 0);
	assert_int_equal(xp_target_open_mapping(target, m, &fd, &err), -XP_E_BINARY_NOT_MAPPED);
	xp_target_close(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixture),
		cmocka_unit_test(broken_lines),
		cmocka_unit_test(names_and_files),
		cmocka_unit_test(split_range),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
