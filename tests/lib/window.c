/* SPDX-License-Identifier: Apache-2.0 */
/* Included by the tests of the window: fake collectors that note every step, on real processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/targets.h"

static int interrupts;
int xp_interrupts(void)
{
	return interrupts;
}

static char steps[256]; /* one letter and the collector's name a step, in the order of the calls */

struct fake {
	char name;
	char fails_at; /* letter of the step that fails */
	enum xp_err_code code;
	int end_after; /* drains until `end` is wanted; -1 never */
	enum xp_window_end end;
	int drains, wake_fd;
	uint64_t cost_ns, events;
	pid_t kill_at_open;
};

static int note(struct fake *fake, char step, struct xp_err *reterr)
{
	size_t len = strlen(steps);

	snprintf(steps + len, sizeof(steps) - len, "%c%c ", step, fake->name);
	return fake->fails_at == step ? xp_fail(reterr, fake->code, "step %c of %c", step, fake->name) : 0;
}

static int fake_prepare(void *state, struct xp_err *reterr)
{
	return note(state, 'p', reterr);
}

static int fake_arm(void *state, struct xp_err *reterr)
{
	return note(state, 'a', reterr);
}

static int fake_open(void *state, uint64_t start_ns, struct xp_err *reterr)
{
	struct fake *fake = state;

	if (fake->kill_at_open)
		kill(fake->kill_at_open, SIGKILL);
	return note(fake, 'o', reterr);
}

static int fake_drain(void *state, struct xp_err *reterr)
{
	struct fake *fake = state;

	fake->drains++;
	return fake->fails_at == 'd' ? xp_fail(reterr, fake->code, "drain") : 0;
}

static void fake_close(void *state, uint64_t end_ns)
{
	note(state, 'c', NULL);
}

static int fake_disarm(void *state, struct xp_err *reterr)
{
	return note(state, 'x', reterr);
}

static int fake_want_end(void *state)
{
	struct fake *fake = state;

	return fake->end_after >= 0 && fake->drains >= fake->end_after ? (int)fake->end : -1;
}

static void fake_cost(void *state, uint64_t *ret_ns, uint64_t *ret_events)
{
	struct fake *fake = state;

	*ret_ns = fake->cost_ns;
	*ret_events = fake->events;
}

static uint64_t fake_floor(void *state)
{
	return ((struct fake *)state)->events ? 731 : 7;
}

static int fake_poll_fd(void *state)
{
	return ((struct fake *)state)->wake_fd;
}

static uint32_t fake_children(void *state)
{
	return 3;
}

static const struct xp_collector_ops fake_ops = {
	.name = "fake",
	.prepare = fake_prepare,
	.arm = fake_arm,
	.open = fake_open,
	.drain = fake_drain,
	.close_window = fake_close,
	.disarm = fake_disarm,
	.want_end = fake_want_end,
	.cost = fake_cost,
	.floor_ns = fake_floor,
	.poll_fd = fake_poll_fd,
	.children = fake_children,
};

struct setup {
	struct fake fake[2];
	struct xp_collector collectors[2];
	struct xp_window_bounds bounds;
	struct xp_window window;
	struct xp_err err;
	int result;
};

static void fresh(struct setup *setup)
{
	memset(setup, 0, sizeof(*setup));
	steps[0] = '\0';
	interrupts = 0;
	for (int i = 0; i < 2; i++) {
		setup->fake[i] = (struct fake){ .name = (char)('1' + i), .end_after = -1, .wake_fd = -1, .code = XP_E_INTERNAL };
		setup->collectors[i] = (struct xp_collector){ .ops = &fake_ops, .state = &setup->fake[i] };
	}
	setup->bounds = (struct xp_window_bounds){ .duration_ms = 20, .timeout_ms = 5000 };
}

__attribute__((unused)) static void run_on(struct setup *setup, pid_t pid)
{
	struct xp_target *target = NULL;

	assert_int_equal(xp_target_open((uint32_t)pid, NULL, &target, &setup->err), 0);
	setup->result = xp_window_run(setup->collectors, 2, target, &setup->bounds, &setup->window, &setup->err);
	xp_target_close(target);
}

static void finish(struct setup *setup)
{
	xp_err_done(&setup->err);
	for (int i = 0; i < 2; i++)
		xp_err_done(&setup->collectors[i].err);
}
