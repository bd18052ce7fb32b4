// SPDX-License-Identifier: Apache-2.0
/*
 * A server that handles a known number of requests. Arguments: HANDLE PARSE CALL STORE. Prints "ready", at the first byte on stdin calls
 * handle() HANDLE times, of which the first PARSE go through parse(), then getppid CALL times and store() STORE times; prints "done" and
 * lives on until stdin ends. never() is there, but is not called.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((noinline)) long parse(long x)
{
	for (volatile int i = 0; i < 200; i++)
		;
	return x + 1;
}

__attribute__((noinline)) long handle(long x, long with_parse)
{
	long y = with_parse ? parse(x) : x;

	for (volatile int i = 0; i < 400; i++)
		;
	__asm__ volatile("" : "+r"(y));
	return y;
}

__attribute__((noinline)) long store(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x;
}

__attribute__((noinline, used)) long never(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x;
}

int main(int argc, char **argv)
{
	volatile long sum = 0;
	char go;

	if (argc != 5)
		return 2;
	printf("ready\n");
	fflush(stdout);
	while (read(0, &go, 1) == 1 && go != '\n')
		;
	for (long i = 0; i < atol(argv[1]); i++)
		sum += handle(i, i < atol(argv[2]));
	for (long i = 0; i < atol(argv[3]); i++)
		sum += syscall(SYS_getppid);
	for (long i = 0; i < atol(argv[4]); i++)
		sum += store(i);
	printf("done\n");
	fflush(stdout);
	while (read(0, &go, 1) == 1)
		;
	return 0;
}
