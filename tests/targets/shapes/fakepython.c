/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for an interpreter built without markers: Python's public entry to its collector, and the collector itself as a local function. */
#include <stdio.h>

volatile long collected;

static __attribute__((noinline, noclone, noipa, used)) long gc_collect_main(int generation)
{
	collected += generation + 1;
	return collected;
}

__attribute__((visibility("default"), noinline)) long PyGC_Collect(void)
{
	return gc_collect_main(2);
}

int main(void)
{
	char line[16];

	puts("ready");
	fflush(stdout);
	for (int i = 0; i < 101; i++)
		PyGC_Collect();
	return fgets(line, sizeof(line), stdin) ? 0 : 1;
}
