/* SPDX-License-Identifier: Apache-2.0 */
/* How often the functions of functions.c run: primes, so that no wrong count looks right. */
#ifndef XP_TESTS_FUNCTIONS_H
#define XP_TESTS_FUNCTIONS_H

enum {
	MANY_WAYS_CALLS = 1009,
	RARELY_COLD_CALLS = 503,
	TAIL_CALLS = 211,
	TWIN_CALLS = 101,
	JUMP_CALLS = 307, /* 153 of them by longjmp */
	RECURSION_DEPTH = 79,
};

extern volatile int sink;
int other_twin(int value);

#endif
