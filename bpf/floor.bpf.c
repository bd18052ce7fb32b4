/* SPDX-License-Identifier: Apache-2.0 */
/* What a probe costs at least: the tool's own scratch functions, calls and samples, each putting one record into a ring without a wake-up.
 */
#include <stdbool.h>

#include "filter.h"

#define RECORD_BYTES 48 /* as struct xp_rec_function */

volatile __u64 xp_samples = 0;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} xp_ring SEC(".maps");

static __always_inline int keep(void)
{
	__u32 pid, tid;
	__u64 *record;

	if (!xp_is_target(&pid, &tid))
		return 0;
	record = bpf_ringbuf_reserve(&xp_ring, RECORD_BYTES, 0);
	if (!record)
		return 0;
	record[0] = bpf_ktime_get_ns();
	record[1] = (__u64)pid << 32 | tid;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("uprobe")
int xp_probe(void *ctx)
{
	return keep();
}

SEC("tp_btf/sys_enter")
int xp_sys_enter(void *ctx)
{
	return keep();
}

SEC("tp_btf/sys_exit")
int xp_sys_exit(void *ctx)
{
	return keep();
}

SEC("perf_event")
int xp_sample(void *ctx)
{
	__sync_fetch_and_add(&xp_samples, 1);
	return keep();
}

char LICENSE[] SEC("license") = "GPL";
