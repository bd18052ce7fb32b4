/* SPDX-License-Identifier: Apache-2.0 */
/* A library with its own copy of the NVTX header. */
#include <nvtx3/nvToolsExt.h>

#include <stdint.h>
#include <string.h>

#include "plugin.h"

static uint64_t hash(void)
{
	const unsigned char *at = (const void *)&nvtxGlobals_v3;
	uint64_t h = 0xcbf29ce484222325;

	for (unsigned i = 0; i < sizeof(nvtxGlobals_v3); i++)
		h = (h ^ at[i]) * 0x100000001b3;
	return h >> 1;
}

static uint64_t state(void)
{
	return nvtxGlobals_v3.initState;
}

static int push(const char *text)
{
	return nvtxRangePushA(text);
}

static int pop(void)
{
	return nvtxRangePop();
}

static void mark(const char *text)
{
	nvtxMarkA(text);
}

static unsigned foreign_calls;

static int foreign_push(const char *text)
{
	foreign_calls++;
	return 7;
}

/* What a tool does that owns this copy. */
static void take(void)
{
	nvtxMarkA("first");
	nvtxGlobals_v3.nvtxRangePushA_impl_fnptr = foreign_push;
}

static unsigned taken(void)
{
	return foreign_calls;
}

const struct plugin plugin = { .hash = hash, .state = state, .push = push, .pop = pop, .mark = mark, .take = take, .taken = taken };
