/* SPDX-License-Identifier: Apache-2.0 */
/* An extension between two Python functions: calls back, keeps a large frame, has no frame pointer. */
int xp_through(int (*callback)(int), int n);
int xp_through_deep(int (*callback)(int), int n);

__attribute__((noinline)) int xp_through_deep(int (*callback)(int), int n)
{
	volatile char room[700];

	for (int i = 0; i < (int)sizeof(room); i += 64)
		room[i] = (char)n;
	return callback(n + room[64]) + room[128];
}

int xp_through(int (*callback)(int), int n)
{
	return xp_through_deep(callback, n) + n;
}
