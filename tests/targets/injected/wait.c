/* SPDX-License-Identifier: Apache-2.0 */
/* Says "ready" and waits for the end of its stdin. */
#include <unistd.h>

int main(void)
{
	char byte;

	if (write(1, "ready\n", 6) != 6)
		return 2;
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
