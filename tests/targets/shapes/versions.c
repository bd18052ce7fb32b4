/* SPDX-License-Identifier: Apache-2.0 */
/* Versioned symbols: calc has an old and a default version, gone only an old one, plain none of its own. */
int calc_old(int value);
int calc_new(int value);
int gone_old(int value);
int plain(int value);

__asm__(".symver calc_old, calc@XP_1.0");
__asm__(".symver calc_new, calc@@XP_2.0");
__asm__(".symver gone_old, gone@XP_1.0");

int calc_old(int value)
{
	return value + 1;
}

int calc_new(int value)
{
	return value * 2 + 2;
}

int gone_old(int value)
{
	return value * 3 + 3;
}

int plain(int value)
{
	return value * 5 + 5;
}
