/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A C program whose calls are counted: after one line on stdin each function below runs a prime number of times (functions.h), and the
 * program says "done". Built in many shapes (CMakeLists.txt), all of which must resolve to the same functions.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "functions.h"

#define PLAIN __attribute__((noinline, noclone, noipa, used))

volatile int sink;

PLAIN int leaf_add(int a, int b)
{
	return a + b + sink;
}

PLAIN int many_ways(int way)
{
	switch (way % 7) {
	case 0:
		return leaf_add(way, 1) * 3;
	case 1:
		sink = way;
		return 5;
	case 2:
		return leaf_add(sink, way) + 7;
	case 3:
		sink += 2;
		return way * 11;
	case 4:
		return leaf_add(13, way) / 3;
	case 5:
		sink -= way;
		return leaf_add(way, way);
	default:
		return 17;
	}
}

PLAIN __attribute__((cold)) void complain(const char *what)
{
	fprintf(stderr, "%s\n", what);
	sink++;
}

/* The rare branch goes to a part of its own (NAME.cold) and comes back. */
PLAIN int rarely_cold(int value)
{
	if (__builtin_expect(value == 1000003, 0)) {
		complain("rare");
		complain("rarer");
		sink += leaf_add(value, 3);
	}
	return leaf_add(value, 5) * 2;
}

PLAIN int tail_target(int value)
{
	sink = value;
	return value * 3;
}

PLAIN int tail_caller(int value)
{
	sink += value;
	return tail_target(value + 1);
}

PLAIN int recursive(int depth)
{
	return depth ? recursive(depth - 1) + sink : sink;
}

static jmp_buf back;
PLAIN int jumps_out(int value)
{
	if (value % 2)
		longjmp(back, 1);
	return leaf_add(value, 2);
}

/* functions_twin.c has a function of the same name. */
static PLAIN int twin(int value)
{
	return value ^ sink;
}

static void repeat(int times, int (*call)(int))
{
	for (int i = 0; i < times; i++)
		sink += call(i);
}

static void jump_often(int times)
{
	for (volatile int i = 0; i < times; i++)
		if (!setjmp(back))
			sink += jumps_out(i);
}

int main(void)
{
	char line[16];

	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	repeat(MANY_WAYS_CALLS, many_ways);
	repeat(RARELY_COLD_CALLS, rarely_cold);
	repeat(TAIL_CALLS, tail_caller);
	repeat(TWIN_CALLS, twin);
	repeat(TWIN_CALLS, other_twin);
	jump_often(JUMP_CALLS);
	sink += recursive(RECURSION_DEPTH);
	puts("done");
	fflush(stdout);
	return fgets(line, sizeof(line), stdin) ? 0 : 1;
}
