/* SPDX-License-Identifier: Apache-2.0 */
/* What the policies ask of GPU event types and endpoints. */
#ifndef XP_CORRELATE_ACTIVITY_H
#define XP_CORRELATE_ACTIVITY_H

#include "family/endpoint.h"

#define XP_ID_UNKNOWN UINT32_MAX /* correlation and stream ids: CUPTI's "not known" (contract 9.1 rule 7) */

static inline bool xp_is_activity(enum xp_event_type type)
{
	return type >= XP_EV_GPU_KERNEL_START && type <= XP_EV_GPU_MEMSET_END;
}

static inline bool xp_is_api(enum xp_event_type type)
{
	return type == XP_EV_CUDA_API_ENTRY || type == XP_EV_CUDA_API_EXIT;
}

/* kernel_start -> kernel_end and the like: the end type follows its start type. */
static inline bool xp_is_activity_span(enum xp_event_type start, enum xp_event_type end)
{
	return xp_is_activity(start) && (start - XP_EV_GPU_KERNEL_START) % 2 == 0 && end == start + 1;
}

#endif
