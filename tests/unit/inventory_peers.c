// SPDX-License-Identifier: Apache-2.0
/* Members that share an engine: every step once, records to their own, one that fails alone, an engine that fails all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "inventory/peers.h"

enum { N = 3 };

/* One letter a step of the engine, and which of them fails. */
struct engine {
	char steps[64];
	char fails_at;
};

struct member {
	struct xp_peer peer;
	unsigned taken;
	bool spoils; /* fails with its next record */
};

struct setup {
	struct engine engine;
	struct member members[N];
	struct xp_peer_targets shared;
	struct xp_err err;
};

static int note(struct engine *engine, char step, struct xp_err *reterr)
{
	size_t len = strlen(engine->steps);

	snprintf(engine->steps + len, sizeof(engine->steps) - len, "%c", step);
	return engine->fails_at == step ? xp_fail(reterr, XP_E_INTERNAL, "step %c", step) : 0;
}

static int attach(void *engine, struct xp_err *reterr)
{
	return note(engine, 'a', reterr);
}

static int detach(void *engine, struct xp_err *reterr)
{
	return note(engine, 'x', reterr);
}

static int start(void *engine, uint64_t start_ns, struct xp_err *reterr)
{
	return note(engine, 'o', reterr);
}

static int stop(void *engine, struct xp_err *reterr)
{
	return note(engine, 'c', reterr);
}

/* One record for each target. */
static int hand_out(struct xp_peer_group *group)
{
	for (size_t i = 0; i < group->targets.n; i++) {
		struct member *member = xp_peer_at(group, i);

		if (!member)
			continue;
		member->taken++;
		if (member->spoils)
			xp_fail(&member->peer.err, XP_E_RESOURCE_LIMIT, "no room");
	}
	return 0;
}

static int drain(struct xp_peer_group *group, struct xp_err *reterr)
{
	int rc = note(group->engine, 'd', reterr);

	return rc ? rc : hand_out(group);
}

static int collect(struct xp_peer_group *group, struct xp_err *reterr)
{
	int rc = note(group->engine, 'r', reterr);

	return rc ? rc : hand_out(group);
}

static void look(struct xp_peer_group *group)
{
	note(group->engine, 'l', NULL);
}

static void free_engine(void *engine)
{
	note(engine, 'f', NULL);
}

static const struct xp_peer_ops ops = {
	.attach = attach,
	.detach = detach,
	.start = start,
	.stop = stop,
	.drain = drain,
	.look = look,
	.collect = collect,
	.free_engine = free_engine,
};

static const uint32_t pids[N] = { 503, 97, 1009 };

static void begin(struct setup *s)
{
	memset(s, 0, sizeof(*s));
	s->shared.targets = (struct xp_bpf_targets){ pids, N, false };
	for (size_t i = 0; i < N; i++)
		assert_int_equal(xp_peer_join(&s->members[i].peer, &s->shared, XP_PEER_OFF_CPU, &ops, pids[i], &s->members[i], &s->err), 0);
	s->members[0].peer.group->engine = &s->engine;
}

static void leave(struct setup *s)
{
	for (size_t i = 0; i < N; i++)
		xp_peer_leave(&s->members[i].peer);
	assert_null(s->shared.groups[XP_PEER_OFF_CPU]);
	assert_int_equal(s->engine.steps[strlen(s->engine.steps) - 1], 'f');
	xp_err_done(&s->err);
}

static int arm_all(struct setup *s)
{
	int rc = 0;

	for (size_t i = 0; i < N && !rc; i++)
		rc = xp_peer_arm(&s->members[i].peer, &s->err);
	for (size_t i = 0; i < N && !rc; i++)
		rc = xp_peer_open(&s->members[i].peer, 7, &s->err);
	return rc;
}

static void every_step_is_done_once(void **state)
{
	struct setup s;

	begin(&s);
	assert_ptr_equal(s.members[0].peer.group, s.members[2].peer.group);
	assert_int_equal(arm_all(&s), 0);
	for (size_t i = 0; i < N; i++)
		assert_int_equal(xp_peer_drain(&s.members[i].peer, &s.err), 0);
	for (size_t i = 0; i < N; i++)
		xp_peer_close(&s.members[i].peer);
	for (size_t i = N; i-- > 0;)
		assert_int_equal(xp_peer_disarm(&s.members[i].peer, &s.err), 0);
	assert_string_equal(s.engine.steps, "aodddclxr");
	for (size_t i = 0; i < N; i++)
		assert_int_equal(s.members[i].taken, N + 1);
	leave(&s);
}

static void one_that_fails_leaves_the_others(void **state)
{
	struct setup s;

	begin(&s);
	assert_int_equal(arm_all(&s), 0);
	s.members[1].spoils = true;
	assert_int_equal(xp_peer_drain(&s.members[0].peer, &s.err), 0);
	assert_int_equal(xp_peer_drain(&s.members[1].peer, &s.err), -XP_E_RESOURCE_LIMIT);
	xp_peer_close(&s.members[1].peer); /* it is taken out, and the engine goes on */
	assert_int_equal(xp_peer_drain(&s.members[2].peer, &s.err), 0);
	assert_string_equal(s.engine.steps, "aoddd");
	xp_peer_close(&s.members[0].peer);
	for (size_t i = N; i-- > 0;)
		assert_int_equal(xp_peer_disarm(&s.members[i].peer, &s.err), 0);
	assert_string_equal(s.engine.steps, "aodddclxr");
	assert_int_equal(s.members[0].taken, 4);
	assert_int_equal(s.members[1].taken, 1);
	leave(&s);
}

static void a_failed_attach_is_tried_again_from_the_start(void **state)
{
	struct setup s;

	begin(&s);
	s.engine.fails_at = 'a';
	assert_int_equal(xp_peer_arm(&s.members[0].peer, &s.err), -XP_E_INTERNAL);
	assert_int_equal(xp_peer_disarm(&s.members[0].peer, &s.err), 0);
	assert_string_equal(s.engine.steps, "ax");
	s.engine.fails_at = 0;
	assert_int_equal(xp_peer_arm(&s.members[1].peer, &s.err), 0);
	assert_int_equal(xp_peer_arm(&s.members[2].peer, &s.err), 0);
	assert_string_equal(s.engine.steps, "axa");
	/* No window: what is attached comes off once. */
	for (size_t i = N; i-- > 1;)
		assert_int_equal(xp_peer_disarm(&s.members[i].peer, &s.err), 0);
	assert_string_equal(s.engine.steps, "axax");
	leave(&s);
}

static void an_engine_that_fails_is_everybodys_failure(void **state)
{
	static const char steps[] = { 'c', 'x', 'r' };

	for (size_t k = 0; k < sizeof(steps); k++) {
		struct setup s;

		begin(&s);
		assert_int_equal(arm_all(&s), 0);
		s.engine.fails_at = steps[k];
		for (size_t i = 0; i < N; i++)
			xp_peer_close(&s.members[i].peer);
		for (size_t i = N; i-- > 0;)
			assert_int_equal(xp_peer_disarm(&s.members[i].peer, &s.err), -XP_E_INTERNAL);
		/* Whatever failed, it is detached. */
		assert_non_null(strchr(s.engine.steps, 'x'));
		leave(&s);
	}
}

static void one_process_is_a_group_of_its_own(void **state)
{
	struct engine engine = { 0 };
	struct member member = { 0 };
	xp_auto_err err = { 0 };

	assert_int_equal(xp_peer_join(&member.peer, NULL, XP_PEER_OFF_CPU, &ops, 503, &member, &err), 0);
	member.peer.group->engine = &engine;
	assert_false(xp_peer_several(&member.peer));
	assert_int_equal(member.peer.group->targets.pids[0], 503);
	assert_int_equal(xp_peer_arm(&member.peer, &err), 0);
	assert_int_equal(xp_peer_open(&member.peer, 7, &err), 0);
	assert_int_equal(xp_peer_drain(&member.peer, &err), 0);
	xp_peer_close(&member.peer);
	assert_int_equal(xp_peer_disarm(&member.peer, &err), 0);
	xp_peer_leave(&member.peer);
	assert_string_equal(engine.steps, "aodclxrf");
	assert_int_equal(member.taken, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_step_is_done_once),
		cmocka_unit_test(one_that_fails_leaves_the_others),
		cmocka_unit_test(a_failed_attach_is_tried_again_from_the_start),
		cmocka_unit_test(an_engine_that_fails_is_everybodys_failure),
		cmocka_unit_test(one_process_is_a_group_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
