/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is linked at odd addresses: the same function must be found by segment, whatever the offsets. */
int library_value = 41;

__attribute__((visibility("default"))) int library_call(int value)
{
	return value * library_value + 1;
}

static __attribute__((noinline, used)) int library_inner(int value)
{
	return value + library_value;
}

__attribute__((visibility("default"))) int library_outer(int value)
{
	return library_inner(value) * 2;
}
