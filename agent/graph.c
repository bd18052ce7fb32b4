/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs as the program makes them: which were instantiated in this capture, and whether a stream is being captured, when launches make
 * nodes and no kernels. In: exits of those calls, on application threads. State: xp_agent.execs, xp_agent.stream_captures.
 */
#include "agent/work.h"

static void **exec_slot(void *exec)
{
	uint64_t h = (uintptr_t)exec * 0x9e3779b97f4a7c15ull >> 40;

	for (unsigned i = 0; i < AGENT_EXECS; i++) {
		void **slot = &xp_agent.execs[(h + i) % AGENT_EXECS];
		void *held = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

		if (!held || held == exec)
			return slot;
	}
	return NULL;
}

/* The first parameter of every graph instantiation points to the handle that it makes. */
static void note_exec(const struct cupti_callback_data *data)
{
	void *const *const *params = data->params;
	void *exec = params && *params ? (void *)**params : NULL, *none = NULL, **slot = exec ? exec_slot(exec) : NULL;

	while (slot && !__atomic_compare_exchange_n(slot, &none, exec, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED) && none != exec) {
		none = NULL;
		slot = exec_slot(exec);
	}
}

/* The first parameter of a graph launch is the handle. */
bool xp_agent_known_exec(const struct cupti_callback_data *data)
{
	void *const *params = data->params;
	void **slot = params && *params ? exec_slot(*params) : NULL;

	return slot && __atomic_load_n(slot, __ATOMIC_ACQUIRE) == *params;
}

void xp_agent_note_graph(uint16_t want, const struct cupti_callback_data *data)
{
	bool good = data->result && !*(const int *)data->result;
	int32_t open;

	if (want & WANT_INSTANTIATE && good)
		note_exec(data);
	if (want & WANT_CAPTURE_BEGIN && good)
		__atomic_fetch_add(&xp_agent.stream_captures, 1, __ATOMIC_RELAXED);
	/* An end whose beginning was before the arm ends nothing that we know of; a failed one ends the capture too. */
	if (!(want & WANT_CAPTURE_END))
		return;
	open = __atomic_load_n(&xp_agent.stream_captures, __ATOMIC_RELAXED);
	while (open > 0 &&
	       !__atomic_compare_exchange_n(&xp_agent.stream_captures, &open, open - 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}
