/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of the fake libcupti, and its exported calls. */
#ifndef XP_FAKE_CUPTI_H
#define XP_FAKE_CUPTI_H

#include "fake.h"

uint64_t *fake_setting(const char *name);
void fake_die(const char *why) __attribute__((noreturn));
void fake_enter(uint32_t domain, uint32_t cbid, const char *name, const void *params, uint64_t *cell, uint32_t correlation);
void fake_leave(uint32_t domain, uint32_t cbid, const char *name, const void *params, uint64_t *cell, uint32_t correlation, int result);
void fake_record(const struct fake_work *work);
/* gate.c: what endangers programs before 13.0 U1. */
void fake_gate_enter(uint32_t domain, uint32_t cbid);
void fake_gate_leave(uint32_t domain, uint32_t cbid);
void fake_gate_switched_on(void);
void fake_gate_switch_off(void);
void fake_gate_no_buffer(void);

typedef void fake_callback(void *user, uint32_t domain, uint32_t cbid, const void *data);
typedef void fake_request(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void fake_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

int cuptiGetVersion(uint32_t *version);
int cuptiGetTimestamp(uint64_t *timestamp);
int cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name);
int cuptiFinalize(void);
int cuptiSubscribe(void **subscriber, fake_callback *callback, void *user);
int cuptiUnsubscribe(void *subscriber);
int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid);
int cuptiActivityEnable(uint32_t kind);
int cuptiActivityDisable(uint32_t kind);
int cuptiActivityRegisterCallbacks(fake_request *request, fake_complete *complete);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record);
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped);
#if FAKE_MAJOR == 13
struct fake_params {
	size_t size;
	const char *name;
	char *old_name;
	size_t old_name_size;
};
int cuptiSubscribe_v2(void **subscriber, fake_callback *callback, void *user, struct fake_params *params);
#endif

#endif
