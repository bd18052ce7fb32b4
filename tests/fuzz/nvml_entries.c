/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a driver's process list: bytes 0-1 how many entries it tells of, 2 its status, the rest what it writes, as far as there is
 * room. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#include "engine/nvml_priv.h"

enum { MOST = 300 };

struct answer {
	const uint8_t *data;
	size_t size;
};

/* Room for NV_PROCESS_LONG bytes an entry: a driver of today's largest shape never writes more. */
static int list(void *device, unsigned *n, void *entries)
{
	const struct answer *answer = device;
	size_t room = (size_t)*n * NV_PROCESS_LONG, len = answer->size - 3 < room ? answer->size - 3 : room;

	memcpy(entries, answer->data + 3, len);
	*n = answer->data[0] | (unsigned)answer->data[1] << 8;
	return answer->data[2] % 16;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct answer answer = { data, size };
	struct xp_nvml_entry *entries = NULL;
	unsigned n = 0, lost = 0;

	if (size < 3)
		return 0;
	struct xp_nvml_fault fault = xp_nvml_entries(list, "list", &answer, MOST, &entries, &n, &lost);
	if (fault.kind == XP_NVML_OK && (n > MOST || (lost && n < MOST)))
		abort();
	for (unsigned i = 0; i < n; i++)
		if (entries[i].pid > NV_MAX_PID)
			abort();
	free(entries);
	return 0;
}
