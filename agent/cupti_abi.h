/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent relies on of CUPTI 12.0 and newer: ids, and the prefix of each record that never moved. Declared here, since the agent is
 * built without the toolkit; tests/contract/cupti_abi.py compares every line with real headers where they are present.
 */
#ifndef XP_AGENT_CUPTI_ABI_H
#define XP_AGENT_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum {
	CUPTI_OK = 0,
	CUPTI_MAX_LIMIT_REACHED = 12,
	CUPTI_NOT_INITIALIZED = 15,
	CUPTI_MULTIPLE_SUBSCRIBERS = 39,
	CUDA_NOT_INITIALIZED = 3,
};

enum cupti_kind {
	CUPTI_KIND_MEMCPY = 1,
	CUPTI_KIND_MEMSET = 2,
	CUPTI_KIND_CONCURRENT_KERNEL = 10,
	CUPTI_KIND_MEMCPY2 = 22,
};

enum { CUPTI_DOMAIN_DRIVER = 1, CUPTI_DOMAIN_RUNTIME = 2 };
enum { CUPTI_SITE_ENTER = 0, CUPTI_SITE_EXIT = 1 };
enum { CUPTI_FLUSH_FORCED = 1 };
enum { CUPTI_VERSION_12_2 = 20, CUPTI_VERSION_12_8 = 26, CUPTI_VERSION_12_9 = 27 };
enum { CUPTI_VERSION_13_0_U1 = 130001, CUPTI_VERSION_13_2 = 130200 };

/* Driver calls that launch; the ids are the same since 12.0. */
enum cupti_launch {
	CUPTI_CB_LAUNCH_KERNEL = 307,
	CUPTI_CB_LAUNCH_KERNEL_PTSZ = 442,
	CUPTI_CB_LAUNCH_COOPERATIVE = 477,
	CUPTI_CB_LAUNCH_COOPERATIVE_PTSZ = 478,
	CUPTI_CB_GRAPH_LAUNCH = 514,
	CUPTI_CB_GRAPH_LAUNCH_PTSZ = 515,
	CUPTI_CB_LAUNCH_KERNEL_EX = 652,
	CUPTI_CB_LAUNCH_KERNEL_EX_PTSZ = 653,
};

/* Prefix of CUpti_ActivityKernel4 and later; graph_node and graph from Kernel5 and Kernel6 on (11.x). */
struct cupti_kernel {
	uint32_t kind;
	uint8_t unused_4[12];
	uint64_t start, end;
	uint8_t unused_32[8];
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	uint8_t unused_76[16];
	uint32_t correlation;
	int64_t grid_id;
	const char *name;
	uint8_t unused_112[32];
	uint64_t graph_node;
	uint8_t unused_152[4];
	uint32_t graph;
};

struct cupti_memcpy {
	uint32_t kind;
	uint8_t copy_kind, src_kind, dst_kind, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation, runtime_correlation;
	uint8_t unused_52[12];
	uint64_t graph_node;
	uint32_t graph;
	uint8_t unused_76[12];
	uint64_t copies; /* from 12.8 on */
};

/* Copies between devices. */
struct cupti_memcpy2 {
	uint32_t kind;
	uint8_t copy_kind, src_kind, dst_kind, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint8_t unused_44[16];
	uint32_t correlation;
	uint8_t unused_64[8];
	uint64_t graph_node;
	uint32_t graph;
};

struct cupti_memset {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint16_t flags, memory_kind;
	uint8_t unused_52[12];
	uint64_t graph_node;
	uint32_t graph;
};

struct cupti_callback_data {
	uint32_t site;
	const char *function_name;
	const void *params;
	const void *result; /* at exit: points to the call's result, an int */
	const char *symbol_name;
	void *context;
	uint32_t context_uid;
	uint64_t *correlation_data; /* the client's cell, from entry to exit of one call */
	uint32_t correlation_id;
};

/* cuptiSubscribe_v2, for the other subscriber's name. */
struct cupti_subscriber_params {
	size_t size;
	const char *name;
	char *old_name;
	size_t old_name_size;
};

#endif
