/* SPDX-License-Identifier: Apache-2.0 */
/* Subscription and callbacks of the fake libcupti. A call that read the subscriber before it went calls it afterwards, as in the real one.
 */
#include "cupti.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CBIDS = 1024, EXTRA = 4 };

struct subscriber {
	uint64_t magic;
	fake_callback *callback;
	void *user;
	uint8_t on[2][CBIDS];
	void *extra[EXTRA];
};
#define MAGIC 0x7375627363726962ull

struct call {
	uint32_t site;
	const char *function;
	const void *params;
	const void *result;
	const char *symbol;
	void *context;
	uint32_t context_uid;
	uint64_t *cell;
	uint32_t correlation;
};
_Static_assert(offsetof(struct call, correlation) == 64 && sizeof(struct call) == 72, "CUpti_CallbackData");

static struct subscriber *current;

int cuptiSubscribe(void **subscriber, fake_callback *callback, void *user)
{
	struct subscriber *made;

	usleep((unsigned)fake_cupti_get("subscribe_ms") * 1000);
	if (fake_cupti_get("busy") || __atomic_load_n(&current, __ATOMIC_SEQ_CST))
		return 39;
	made = calloc(1, sizeof(*made));
	made->magic = MAGIC;
	made->callback = callback;
	made->user = user;
	for (unsigned i = 0; i < EXTRA; i++)
		made->extra[i] = malloc(64);
	__atomic_store_n(&current, made, __ATOMIC_SEQ_CST);
	fake_cupti_set("sessions", fake_cupti_get("sessions") + 1);
	*subscriber = made;
	return 0;
}

#if FAKE_MAJOR == 13
int cuptiSubscribe_v2(void **subscriber, fake_callback *callback, void *user, struct fake_params *params)
{
	if (params->size != sizeof(*params))
		return 1;
	if (params->old_name && params->old_name_size >= 64)
		strcpy(params->old_name, "CUPTI for fake holder");
	return 39;
}
#endif

/* Freed before it leaves the list that other threads walk. A block that malloc gives out again at once was not kept for them. */
static void release(void *block, size_t size)
{
	free(block);
	void *again = malloc(size);

	if (again == block)
		fake_cupti_set("freed_early", fake_cupti_get("freed_early") + 1);
	free(again);
}

int cuptiUnsubscribe(void *subscriber)
{
	struct subscriber *gone = subscriber;

	if (gone != current || gone->magic != MAGIC)
		fake_die("unsubscribed what was never subscribed");
	for (unsigned i = 0; i < EXTRA; i++)
		release(gone->extra[i], 64);
	release(gone, sizeof(*gone));
	__atomic_store_n(&current, NULL, __ATOMIC_SEQ_CST);
	return 0;
}

int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid)
{
	struct subscriber *to = subscriber;
	const char *name;

	if (!enable)
		fake_die("a callback was switched off, which breaks CUPTI 13 for the rest of the process");
	/* Known to the domain, or one of the launch ids that this version lacks a name for. */
	if (cbid >= CBIDS || domain < 1 || domain > 2 || (domain == 2 && cuptiGetCallbackName(domain, cbid, &name)))
		return 1;
	__atomic_store_n(&to->on[domain - 1][cbid], 1, __ATOMIC_SEQ_CST);
	return 0;
}

static void deliver(const struct call *call, uint32_t domain, uint32_t cbid)
{
	struct subscriber *to = __atomic_load_n(&current, __ATOMIC_SEQ_CST);
	uint64_t late_us = fake_cupti_get("late_us");

	if (!to || !__atomic_load_n(&to->on[domain - 1][cbid], __ATOMIC_RELAXED))
		return;
	if (late_us)
		usleep((unsigned)late_us);
	if (to->magic != MAGIC)
		fake_die("a late call read a subscriber that was freed");
	to->callback(to->user, domain, cbid, call);
}

void fake_enter(uint32_t domain, uint32_t cbid, const char *name, const void *params, uint64_t *cell, uint32_t correlation)
{
	static int context;
	const struct call call = {
		.site = 0,
		.function = name,
		.params = params,
		.context = &context,
		.context_uid = 1,
		.cell = cell,
		.correlation = fake_cupti_get("same_id") ? (uint32_t)fake_cupti_get("same_id") : correlation,
	};

	deliver(&call, domain, cbid);
	fake_gate_enter(domain, cbid);
}

void fake_leave(uint32_t domain, uint32_t cbid, const char *name, const void *params, uint64_t *cell, uint32_t correlation, int result)
{
	static int context;
	const struct call call = {
		.site = 1,
		.function = name,
		.params = params,
		.result = &result,
		.context = &context,
		.context_uid = 1,
		.cell = cell,
		.correlation = correlation,
	};

	fake_gate_leave(domain, cbid);
	deliver(&call, domain, cbid);
}
