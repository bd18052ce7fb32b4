/* SPDX-License-Identifier: Apache-2.0 */
/* Who shares an engine, and which of its steps are done. In: the steps of each member. Out: each step of the engine once. Owns groups. */
#include "inventory/peers.h"

#include <errno.h>
#include <stdlib.h>

int xp_peer_join(struct xp_peer *peer, struct xp_peer_targets *shared, enum xp_peer_kind kind, const struct xp_peer_ops *ops, uint32_t pid,
		 void *state, struct xp_err *reterr)
{
	struct xp_peer_group *group = shared ? shared->groups[kind] : NULL;

	*peer = (struct xp_peer){ .state = state };
	if (!group) {
		group = calloc(1, sizeof(*group) + sizeof(pid));
		if (!group)
			return xp_fail_sys(reterr, ENOMEM, "calloc", "shared engine");
		uint32_t *own = (uint32_t *)(group + 1);

		*own = pid;
		group->ops = ops;
		group->targets = shared ? shared->targets : (struct xp_bpf_targets){ own, 1, false };
		group->home = shared ? &shared->groups[kind] : NULL;
		if (shared)
			shared->groups[kind] = group;
	}
	peer->at = xp_bpf_target_index(&group->targets, pid);
	peer->group = group;
	group->members[peer->at] = peer;
	group->n_members++;
	return 0;
}

void xp_peer_leave(struct xp_peer *peer)
{
	struct xp_peer_group *group = peer->group;

	xp_err_done(&peer->err);
	peer->group = NULL;
	if (!group)
		return;
	group->members[peer->at] = NULL;
	if (--group->n_members)
		return;
	if (group->home)
		*group->home = NULL;
	if (group->engine)
		group->ops->free_engine(group->engine);
	xp_err_done(&group->stop_err);
	free(group);
}

void xp_peer_python(struct xp_peer *peer, const struct xp_python_layout *layout)
{
	peer->group->targets.python |= layout && layout->version;
}

void *xp_peer_at(const struct xp_peer_group *group, size_t target)
{
	const struct xp_peer *peer = target < XP_TARGETS_MAX ? group->members[target] : NULL;

	return peer && peer->opened && !peer->failed && !peer->err.code ? peer->state : NULL;
}

static int detach(struct xp_peer_group *group, struct xp_err *reterr)
{
	group->attached = false;
	return group->ops->detach(group->engine, reterr);
}

int xp_peer_arm(struct xp_peer *peer, struct xp_err *reterr)
{
	struct xp_peer_group *group = peer->group;
	xp_auto_err cleanup = { 0 };

	if (group->attached)
		return 0;
	int rc = group->ops->attach(group->engine, reterr);

	group->attached = true;
	/* The next member tries again, and must find nothing attached. */
	if (rc && detach(group, &cleanup))
		return xp_err_move(reterr, &cleanup);
	return rc;
}

int xp_peer_open(struct xp_peer *peer, uint64_t start_ns, struct xp_err *reterr)
{
	struct xp_peer_group *group = peer->group;
	int rc = group->started ? 0 : group->ops->start(group->engine, start_ns, reterr);

	group->started |= !rc;
	peer->opened = !rc;
	return rc;
}

int xp_peer_drain(struct xp_peer *peer, struct xp_err *reterr)
{
	int rc = peer->group->ops->drain(peer->group, reterr);

	if (!rc && peer->err.code)
		rc = xp_err_move(reterr, &peer->err);
	peer->failed = rc != 0;
	return rc;
}

void xp_peer_close(struct xp_peer *peer)
{
	struct xp_peer_group *group = peer->group;

	/* One that is taken out early must not stop the others. */
	if (peer->failed || !group->started || group->stopped)
		return;
	group->stopped = true;
	group->ops->stop(group->engine, &group->stop_err);
}

/* An engine that failed is every member's failure. */
static void fail_all(struct xp_peer_group *group, const struct xp_err *err)
{
	for (size_t i = 0; i < XP_TARGETS_MAX; i++) {
		struct xp_peer *peer = group->members[i];

		if (!peer || !peer->opened || peer->err.code)
			continue;
		peer->err = *err;
		json_incref(peer->err.details);
		json_incref(peer->err.hints);
	}
}

static void finish(struct xp_peer_group *group)
{
	xp_auto_err err = { 0 };

	if (group->ops->look && !group->stop_err.code)
		group->ops->look(group);
	int rc = detach(group, &err);
	if (!rc && group->stop_err.code)
		rc = xp_err_move(&err, &group->stop_err);
	if (!rc)
		rc = group->ops->collect(group, &err);
	if (rc)
		fail_all(group, &err);
}

int xp_peer_disarm(struct xp_peer *peer, struct xp_err *reterr)
{
	struct xp_peer_group *group = peer->group;

	if (!group || !group->engine)
		return 0;
	if (!peer->opened)
		return group->started || !group->attached ? 0 : detach(group, reterr);
	if (!group->finished) {
		group->finished = true;
		finish(group);
	}
	return peer->err.code ? xp_err_move(reterr, &peer->err) : 0;
}
