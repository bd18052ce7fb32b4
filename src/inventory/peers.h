/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inventories of one kind on several processes in one window share an engine, which is loaded, attached and detached once and tells the
 * processes apart. A single process is a group of one. Every step of a collector goes through its peer; the first to come does it for all.
 */
#ifndef XP_INVENTORY_PEERS_H
#define XP_INVENTORY_PEERS_H

#include <stdbool.h>

#include "engine/bpf_common.h"
#include "wire/sample.h"
#include "wire/targets.h"

/* The kinds that have an engine to share. */
enum xp_peer_kind { XP_PEER_SYSCALLS, XP_PEER_CPU_SAMPLES, XP_PEER_OFF_CPU, XP_PEER_KIND_COUNT };

struct xp_peer;
struct xp_peer_group;

/* The processes of one window, and the groups that their inventories form. Zero-initialised but for the list; owns nothing. */
struct xp_peer_targets {
	struct xp_bpf_targets targets;
	struct xp_peer_group *groups[XP_PEER_KIND_COUNT];
};

/* What an inventory does with its engine; all but free_engine get an engine that is there. */
struct xp_peer_ops {
	int (*attach)(void *engine, struct xp_err *reterr);
	int (*detach)(void *engine, struct xp_err *reterr); /* also after a failed attach */
	int (*start)(void *engine, uint64_t start_ns, struct xp_err *reterr);
	int (*stop)(void *engine, struct xp_err *reterr);
	/* What is the engine's goes to the members: xp_peer_at. An error is one of the engine, and every member's. */
	int (*drain)(struct xp_peer_group *group, struct xp_err *reterr);
	/* Between the window and the detach; what fails is a member's. NULL: nothing. */
	void (*look)(struct xp_peer_group *group);
	/* Behind the detach: the rest. */
	int (*collect)(struct xp_peer_group *group, struct xp_err *reterr);
	void (*free_engine)(void *engine);
};

struct xp_peer_group {
	const struct xp_peer_ops *ops;
	struct xp_bpf_targets targets;
	struct xp_peer *members[XP_TARGETS_MAX]; /* by index of the target; NULL: none */
	size_t n_members;
	struct xp_peer_group **home; /* where later ones find it */
	void *engine;		     /* NULL: not loaded */
	uint64_t floor_ns[2];	     /* what the inventory measured with it */
	bool attached, started, stopped, finished;
	struct xp_err stop_err;
};

/* Part of an inventory's state. */
struct xp_peer {
	struct xp_peer_group *group;
	size_t at;   /* index of its target */
	void *state; /* the inventory's */
	bool opened, failed;
	struct xp_err err; /* what went wrong with this process alone; its next step fails with it */
};

/* `shared` NULL: a group of its own. RESOURCE_LIMIT when memory is short. */
int xp_peer_join(struct xp_peer *peer, struct xp_peer_targets *shared, enum xp_peer_kind kind, const struct xp_peer_ops *ops, uint32_t pid,
		 void *state, struct xp_err *reterr);
/* Frees the group behind its last member. Accepts one that never joined. */
void xp_peer_leave(struct xp_peer *peer);

/* Before the engine is loaded: one process may run Python. NULL or version 0: it does not. */
void xp_peer_python(struct xp_peer *peer, const struct xp_python_layout *layout);

/* True when several processes share the engine. */
static inline bool xp_peer_several(const struct xp_peer *peer)
{
	return peer->group->targets.n > 1;
}

/* The inventory's state of a target, NULL: it takes no part any more. */
void *xp_peer_at(const struct xp_peer_group *group, size_t target);

/* The steps of a collector. A failed engine is every member's failure. */
int xp_peer_arm(struct xp_peer *peer, struct xp_err *reterr);
int xp_peer_open(struct xp_peer *peer, uint64_t start_ns, struct xp_err *reterr);
int xp_peer_drain(struct xp_peer *peer, struct xp_err *reterr);
void xp_peer_close(struct xp_peer *peer);
int xp_peer_disarm(struct xp_peer *peer, struct xp_err *reterr);

#endif
