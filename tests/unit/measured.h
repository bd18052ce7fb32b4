/* SPDX-License-Identifier: Apache-2.0 */
/* A measurement to be tested: a capture of mmap calls and everything that goes with it. */
#ifndef XP_TEST_MEASURED_H
#define XP_TEST_MEASURED_H

#include <asm/unistd.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture.h"
#include "result/measurement.h"

struct setting {
	struct capture *capture;
	struct xp_arena *arena;
	struct xp_window window;
	struct xp_cost cost;
	struct xp_cuda_account cuda;
	struct xp_capture_facts facts;
	struct xp_measurement_request request;
};

static inline void set(struct setting *s, struct capture *c)
{
	static const struct xp_target_id target = { .pid = TEST_PID, .process_start_time = 7 };
	static const struct xp_account account = { .source = "ebpf_syscall", .emitted = 200, .delivered = 200 };
	static const struct xp_artifact artifact = { "/tmp/xprobe-8fK2qd/events.jsonl", "jsonl", XP_SOME(200), 141200 };

	memset(s, 0, sizeof(*s));
	s->capture = c;
	s->arena = xp_arena_new();
	s->window = (struct xp_window){ .end = XP_END_SAMPLES, .opened = true, .start_ns = 5, .end_ns = 811020336 };
	s->cost = (struct xp_cost){ .probe_floor_ns = XP_SOME(310),
				    .probe_events = 200,
				    .target_cpu_ns = XP_SOME(640112000),
				    .cpu_share = XP_SOME(0.0001),
				    .attach_ms = 1.1,
				    .detach_ms = 0.9,
				    .limit = 0.05 };
	s->facts = (struct xp_capture_facts){ .status = XP_COMPLETED, .window = &s->window, .cost = &s->cost };
	s->request = (struct xp_measurement_request){
		.session_id = "xp_measure_991_5f0c2a17",
		.target = &target,
		.edge = { c->store, &c->pairs, &c->start, &c->end, c->request.policy, &s->facts },
		.collection = { .window_ns = 811020331, .sources = &account, .n_sources = 1 },
		.artifact = &artifact,
	};
	c->start.selector = "syscall:mmap:entry";
	c->end.selector = "syscall:mmap:exit";
}

static inline void done(struct setting *s)
{
	xp_arena_free(s->arena);
	capture_free(s->capture);
}

static inline struct xp_measurement *make(struct setting *s)
{
	struct xp_measurement *value;
	xp_auto_err err = { 0 };

	assert_int_equal(xp_measurement_make(&s->request, s->arena, &value, &err), 0);
	return value;
}

/* n calls of thread 4311, latencies 2,000 + 100 x i ns, with everything a live event carries. */
static inline struct capture *mmaps(unsigned n)
{
	struct capture *c = capture_new(XP_POLICY_EXACT, XP_EV_SYSCALL_ENTRY, XP_EV_SYSCALL_EXIT);
	struct xp_site site = { .probe_kind = XP_PROBE_SYSCALL, .symbol = "mmap", .category = "syscalls" };

	for (unsigned i = 0; i < 2 * n; i++) {
		struct xp_event e = event_of(c, 1000000000000 + 100000 * (uint64_t)(i / 2) + (i % 2) * (2000 + 100 * (i / 2)), 1 + i % 2);

		e.tid = 4311;
		e.cpu_valid = 1;
		e.cpu = 13;
		e.site = xp_store_site(c->store, &site);
		e.syscall_nr = __NR_mmap;
		if (i % 2)
			e.host.result = 0x7f5544332000;
		else
			xp_store_set_args(c->store, &e, (uint64_t[6]){ 0, 135168, 3, 34, 0xffffffff, 0 });
		put(c, e);
	}
	xp_store_thread(c->store, 4311, "request-worker", 0, 0);
	correlate(c);
	return c;
}

#endif
