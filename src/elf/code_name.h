/* SPDX-License-Identifier: Apache-2.0 */
/* What the lists of code outside ELF files (perf maps, kallsyms) say of an address, and what their readers share. */
#ifndef XP_ELF_CODE_NAME_H
#define XP_ELF_CODE_NAME_H

#include <stddef.h>
#include <stdint.h>

/* What covers one address; name NULL: nothing does. */
struct xp_code_name {
	uint64_t start;
	const char *name;
	const char *module; /* kernel module; NULL otherwise */
};

/* Value of a hexadecimal digit, -1 for any other character. */
static inline int xp_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Index of the first of `n` ascending addresses that is not below `value`; n when there is none. */
static inline size_t xp_first_from(const uint64_t *addresses, size_t n, uint64_t value)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (addresses[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif
