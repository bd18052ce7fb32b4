/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA that needs no GPU, in three libraries as a program finds them: libcuda and libcudart whose "kernels" are entries in a time table,
 * and a libcupti that reports them in the record layouts of its major. What it does by command is set here; misuse ends the program.
 */
#ifndef XP_FAKE_H
#define XP_FAKE_H

#include <stddef.h>
#include <stdint.h>

enum fake_work_kind { FAKE_KERNEL, FAKE_MEMCPY, FAKE_MEMSET };

/* One piece of work as libcuda schedules it; times on CLOCK_REALTIME. */
struct fake_work {
	enum fake_work_kind kind;
	const char *name;
	uint64_t start_ns, end_ns, bytes, node;
	uint32_t device, context, stream, correlation, graph;
	uint8_t copy_kind, src_memory, dst_memory;
	uint32_t value;
};

/* What libcupti gives to libcuda: one call's entry and exit, and work. */
struct fake_hooks {
	void (*enter)(uint32_t domain, uint32_t cbid, const char *name, const void *params, uint64_t *cell, uint32_t correlation);
	void (*leave)(uint32_t domain, uint32_t cbid, const char *name, const void *params, uint64_t *cell, uint32_t correlation,
		      int result);
	void (*work)(const struct fake_work *work);
	int needs_ids;
};

/* libcuda */
void fake_hook(const struct fake_hooks *hooks);
uint32_t fake_next_correlation(void);
void fake_call_enter(uint32_t domain, uint32_t cbid, const char *name, const void *params, uint64_t *cell, uint32_t correlation);
void fake_call_leave(uint32_t domain, uint32_t cbid, const char *name, const void *params, uint64_t *cell, uint32_t correlation,
		     int result);
int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *count);
/* correlation 0: a call of its own; else the runtime call around it. result: what the driver answers. */
int fake_cu_launch(const char *name, uint32_t stream, uint64_t duration_ns, uint32_t correlation, int result);
int fake_cu_memcpy(uint8_t kind, uint8_t src, uint8_t dst, uint64_t bytes, uint32_t stream, uint32_t correlation);
int fake_cu_memset(uint32_t value, uint64_t bytes, uint32_t stream, uint32_t correlation);
/* Launches into a stream that is being captured: calls without work. */
void fake_cu_capture(unsigned launches);
void *fake_cu_graph(unsigned kernels, const char *name);
int fake_cu_graph_launch(void *exec, uint32_t stream, uint32_t correlation);
/* Calls that take so long: loading a module, creating a context, a launch that waits for a full queue. */
int fake_cu_load(unsigned ms);
int fake_cu_context(unsigned ms);
int fake_cu_full_queue(unsigned ms);

/* libcudart: runtime calls around driver calls. */
int fake_launch(const char *name, uint32_t stream, uint64_t duration_ns, int result);
int fake_memcpy(uint8_t kind, uint8_t src, uint8_t dst, uint64_t bytes, uint32_t stream);
int fake_memset(uint32_t value, uint64_t bytes, uint32_t stream);
void *fake_graph(unsigned kernels, const char *name);
int fake_graph_launch(void *exec, uint32_t stream);
/* A call that blocks for a while, as a synchronize does. */
int fake_synchronize(unsigned ms);

/*
 * libcupti, by dlsym: "dead", "zero_every", "negative_every", "drop_every", "subscribe_ms", "busy", "late_us", "same_id", "disable_ms",
 * "flush_ms", "owned".
 */
void fake_cupti_set(const char *what, uint64_t value);
uint64_t fake_cupti_get(const char *what);

#endif
