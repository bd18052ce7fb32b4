/* SPDX-License-Identifier: Apache-2.0 */
/* A second static function called twin, so that the bare name is ambiguous. */
#include "functions.h"

static __attribute__((noinline, noclone, noipa, used)) int twin(int value)
{
	return value + 2 * sink;
}

int other_twin(int value)
{
	return twin(value) + 1;
}
