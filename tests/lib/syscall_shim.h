/* SPDX-License-Identifier: Apache-2.0 */
/* For libraries that are preloaded to play another machine: every syscall() goes by `answer`, which may refuse it, and then to the kernel.
 */
#ifndef XP_TESTS_SYSCALL_SHIM_H
#define XP_TESTS_SYSCALL_SHIM_H

#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

/* errno of the answer, 0: the kernel answers. Written by the including file. */
static int answer(long number, const long a[6]);

static long ask_kernel(long number, const long a[6])
{
	register long r10 __asm__("r10") = a[3];
	register long r8 __asm__("r8") = a[4];
	register long r9 __asm__("r9") = a[5];
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

long syscall(long number, ...)
{
	va_list list;
	long a[6], result;

	va_start(list, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	int refused = answer(number, a);
	result = refused ? -refused : ask_kernel(number, a);
	if (result < 0 && result > -4096) {
		errno = (int)-result;
		return -1;
	}
	return result;
}

#endif
