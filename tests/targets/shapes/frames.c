/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of every kind between two breakpoints, so that a debugger can step through all of it. The first and the last run in main(). */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define KEEP __attribute__((noinline))

void frames_assembly(void (*call)(void));

static volatile long sink;
static jmp_buf back;
static char other_stack[64 * 1024] __attribute__((aligned(64)));

KEEP static void leaf(void)
{
	sink++;
}

KEEP static long deep(int n)
{
	volatile char local[24];

	local[n % 24] = (char)n;
	if (!n) {
		leaf();
		return local[0];
	}
	return deep(n - 1) + local[n % 24];
}

KEEP static void aligned_frame(int n)
{
	volatile char wide[128] __attribute__((aligned(64)));
	char *bytes = alloca((size_t)n * 16 + 1);

	memset(bytes, n, (size_t)n * 16);
	wide[n] = bytes[0];
	leaf();
	sink += wide[n];
}

KEEP static void many_arguments(int a, int b, int c, int d, int e, int f, int g, int h, double i)
{
	sink += a + b + c + d + e + f + g + h + (long)i;
	leaf();
}

KEEP static long sum(int n, ...)
{
	va_list ap;
	long total = 0;

	va_start(ap, n);
	while (n--)
		total += va_arg(ap, int);
	va_end(ap);
	leaf();
	return total;
}

KEEP static int compare(const void *a, const void *b)
{
	leaf();
	return *(const int *)a - *(const int *)b;
}

KEEP static void handler(int sig)
{
	sink += sig;
	leaf();
}

KEEP static void jump(int n)
{
	if (!n)
		longjmp(back, 1);
	jump(n - 1);
	sink++;
}

KEEP static void early_return(int n)
{
	if (n & 1)
		return;
	leaf();
	if (n & 2) {
		leaf();
		return;
	}
	sink += n;
	leaf();
}

KEEP static void signals(int flags, int sig)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	sigaction(sig, &action, NULL);
	raise(sig);
	leaf();
}

KEEP static void run(void)
{
	int numbers[] = { 5, 3, 8, 1, 9, 2 };
	stack_t stack = { .ss_sp = other_stack, .ss_size = sizeof(other_stack) };

	deep(41);
	for (int i = 0; i < 4; i++) {
		aligned_frame(i + 1);
		early_return(i);
	}
	many_arguments(1, 2, 3, 4, 5, 6, 7, 8, 9.0);
	sink += sum(3, 1, 2, 3);
	qsort(numbers, sizeof(numbers) / sizeof(numbers[0]), sizeof(numbers[0]), compare);
	if (!setjmp(back))
		jump(3);
	signals(0, SIGUSR1);
	sigaltstack(&stack, NULL);
	signals(SA_ONSTACK, SIGUSR2);
	frames_assembly(leaf);
}

int main(void)
{
	__asm__ volatile("int3");
	run();
	__asm__ volatile("int3");
	return 0;
}
