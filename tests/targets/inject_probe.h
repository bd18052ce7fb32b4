/* SPDX-License-Identifier: Apache-2.0 */
/* What the injected library of the tests writes into its control memory. */
#ifndef INJECT_PROBE_H
#define INJECT_PROBE_H

#include <stdint.h>

enum { PROBE_SIZE = 4096, PROBE_ANSWER = 7919, PROBE_ARGUMENT = 104729, PROBE_MAGIC = 0x58505242 };

struct probe {
	uint32_t magic, constructed; /* how often the constructor ran in this copy of the library */
	uint64_t argument, signal_mask;
	uint32_t tid, pid, thread_ran, pad;
};

#endif
