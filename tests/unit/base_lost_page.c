/* SPDX-License-Identifier: Apache-2.0 */
/* Fault: a library that its owner cuts short while we read it ended us by SIGBUS. (cmocka takes SIGBUS for itself before each test.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lost_page.h"
#include "elf/image.h"

/* A copy of this very program in a file without a name. */
static int own_copy(void)
{
	char name[] = "/tmp/xprobe-test-XXXXXX";
	const int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), out = mkstemp(name);
	char block[65536];
	ssize_t got;

	assert_true(in >= 0 && out >= 0);
	assert_int_equal(unlink(name), 0);
	while ((got = read(in, block, sizeof(block))) > 0)
		assert_int_equal(write(out, block, (size_t)got), got);
	close(in);
	return out;
}

static void pages_that_went_read_as_zeros(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const int fd = own_copy();
	unsigned char *bytes = mmap(NULL, 3 * page, PROT_READ, MAP_PRIVATE, fd, 0);

	assert_true(bytes != MAP_FAILED);
	xp_lost_pages_read_as_zero();
	assert_int_equal(ftruncate(fd, (off_t)page), 0);
	assert_int_equal(bytes[0], 0x7f);
	for (size_t i = page; i < 3 * page; i += 509)
		assert_int_equal(bytes[i], 0);
	assert_int_equal(bytes[1], 'E');
	munmap(bytes, 3 * page);
	close(fd);
}

/* Every way into the image goes on: a note, a section, the symbol tables. */
static void an_elf_file_cut_short(void **state)
{
	struct xp_err err = { 0 };
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_elf *elf = NULL;
	struct xp_elf_section section;
	const int fd = own_copy();

	xp_lost_pages_read_as_zero();
	assert_int_equal(xp_elf_open(fd, "copy", &elf, &err), 0);
	assert_int_equal(ftruncate(fd, 64), 0);
	const size_t n = xp_elf_section_count(elf);

	assert_true(n > 0);
	for (size_t i = 0; i < n; i++)
		if (xp_elf_section_at(elf, i, &section))
			assert_true(section.size == 0 || !section.bytes || section.bytes[section.size - 1] == 0);
	xp_elf_build_id(elf, arena);
	xp_elf_needed(elf, 0);
	xp_elf_close(elf);
	close(fd);
}

/* What is no lost page still ends a process: no other fault is hidden. */
static void another_bus_error_is_not_hidden(void **state)
{
	int status;
	xp_lost_pages_read_as_zero();
	const pid_t child = fork();

	if (child == 0) {
		raise(SIGBUS);
		raise(SIGBUS);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_that_went_read_as_zeros),
		cmocka_unit_test(an_elf_file_cut_short),
		cmocka_unit_test(another_bus_error_is_not_hidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
