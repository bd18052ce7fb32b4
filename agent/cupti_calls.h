/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of libcupti that the agent calls, found by name at run time. */
#ifndef XP_AGENT_CUPTI_CALLS_H
#define XP_AGENT_CUPTI_CALLS_H

#include "agent/cupti_abi.h"

typedef void cupti_callback_fn(void *user, uint32_t domain, uint32_t cbid, const void *data);
typedef void cupti_request_fn(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void cupti_complete_fn(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

/* Every function that the agent calls: X(member, exported name, needed?, arguments). */
#define CUPTI_FUNCTIONS(X)                                                                                                   \
	X(get_version, cuptiGetVersion, 1, (uint32_t * version))                                                             \
	X(get_timestamp, cuptiGetTimestamp, 1, (uint64_t * timestamp))                                                       \
	X(subscribe, cuptiSubscribe, 1, (void **subscriber, cupti_callback_fn *callback, void *user))                        \
	X(subscribe_v2, cuptiSubscribe_v2, 0,                                                                                \
	  (void **subscriber, cupti_callback_fn *callback, void *user, struct cupti_subscriber_params *params))              \
	X(unsubscribe, cuptiUnsubscribe, 1, (void *subscriber))                                                              \
	X(enable_callback, cuptiEnableCallback, 1, (uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid))      \
	X(callback_name, cuptiGetCallbackName, 1, (uint32_t domain, uint32_t cbid, const char **name))                       \
	X(enable, cuptiActivityEnable, 1, (uint32_t kind))                                                                   \
	X(disable, cuptiActivityDisable, 1, (uint32_t kind))                                                                 \
	X(register_callbacks, cuptiActivityRegisterCallbacks, 1, (cupti_request_fn * request, cupti_complete_fn * complete)) \
	X(next_record, cuptiActivityGetNextRecord, 1, (uint8_t * buffer, size_t valid, uint8_t * *record))                   \
	X(flush_all, cuptiActivityFlushAll, 1, (uint32_t flag))                                                              \
	X(dropped, cuptiActivityGetNumDroppedRecords, 1, (void *context, uint32_t stream, size_t *dropped))

struct cupti {
#define CUPTI_MEMBER(member, name, needed, arguments) int(*member) arguments;
	CUPTI_FUNCTIONS(CUPTI_MEMBER)
#undef CUPTI_MEMBER
};

#endif
