/* SPDX-License-Identifier: Apache-2.0 */
/* For programs without the tool's signal handler (tests): nothing interrupts. main.c defines the real one, which the linker prefers. */
#include "collect/collector.h"

__attribute__((weak)) int xp_interrupts(void)
{
	return 0;
}
