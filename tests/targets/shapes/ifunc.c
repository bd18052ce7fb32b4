/* SPDX-License-Identifier: Apache-2.0 */
/* An IFUNC in a library, and a caller inside it that makes the loader fill a slot. */
static __attribute__((noinline, used)) int chosen_one(int value)
{
	return value + 1;
}

static __attribute__((noinline, used)) int chosen_two(int value)
{
	return value + 2;
}

typedef int implementation(int value);
extern volatile int prefer_one;
volatile int prefer_one = 0;

static __attribute__((used)) implementation *resolve_choice(void)
{
	__builtin_cpu_init(); /* the loader calls this before any constructor */
	return __builtin_cpu_supports("sse2") ? chosen_two : chosen_one;
}

int choice(int value) __attribute__((ifunc("resolve_choice")));

int call_choice(int value)
{
	return choice(value) + prefer_one;
}
