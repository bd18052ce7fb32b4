/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profiler inside the program, as torch.profiler behaves (cuda-h200 table): it subscribes at its first profile and never again, keeps the
 * subscription for ever, and takes records between start and stop. In: `start` and `stop`. Out: CUPTI's status, then its GPU records.
 */
#include "client.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

enum { BYTES = 1 << 16 };

static int tried, refused;
static uint64_t records;
static int (*next_record)(uint8_t *buffer, size_t valid, uint8_t **record);

static void callback(void *user, uint32_t domain, uint32_t cbid, const void *call)
{
}

static void request(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = malloc(BYTES);
	*size = BYTES;
	*most = 0;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	uint8_t *record = NULL;

	while (!next_record(buffer, valid, &record))
		records++;
}

unsigned long long fake_profile_start(void *cupti)
{
	int (*subscribe)(void **, void *, void *) = (int (*)(void **, void *, void *))dlsym(cupti, "cuptiSubscribe");
	int (*take)(void *, void *) = (int (*)(void *, void *))dlsym(cupti, "cuptiActivityRegisterCallbacks");
	int (*enable)(uint32_t) = (int (*)(uint32_t))dlsym(cupti, "cuptiActivityEnable");
	static void *subscriber;

	next_record = (int (*)(uint8_t *, size_t, uint8_t **))dlsym(cupti, "cuptiActivityGetNextRecord");
	records = 0;
	if (!tried)
		refused = subscribe(&subscriber, (void *)callback, NULL);
	tried = 1;
	if (refused)
		return (unsigned long long)refused;
	take((void *)request, (void *)complete);
	enable(10);
	return 0;
}

unsigned long long fake_profile_stop(void *cupti)
{
	int (*disable)(uint32_t) = (int (*)(uint32_t))dlsym(cupti, "cuptiActivityDisable");
	int (*flush)(uint32_t) = (int (*)(uint32_t))dlsym(cupti, "cuptiActivityFlushAll");

	if (refused)
		return 0;
	disable(10);
	flush(1);
	return records;
}
