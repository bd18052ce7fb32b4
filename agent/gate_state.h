/* SPDX-License-Identifier: Apache-2.0 */
/* State of the gate (agent/gate.h). "shared": written on application threads, atomically. */
#ifndef XP_AGENT_GATE_STATE_H
#define XP_AGENT_GATE_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	AGENT_GATE_THREADS = 1024, /* that launch in one capture; a power of two */
	AGENT_GATE_MOST = 512,	   /* of the process, or kinds do not go on at all */
};

struct gate_thread {
	uint64_t key;	/* shared: thread << 16 | session */
	uint32_t depth; /* shared: gated calls that it is inside of */
	uint32_t pad[13];
} __attribute__((aligned(64)));

struct gate {
	struct gate_thread *threads;
	uint32_t closed;	 /* futex of waiting threads; written by the agent's thread */
	bool on;		 /* this capture has one */
	bool contexts, overflow; /* shared: a context came or went; more threads than lines */
	uint64_t left;		 /* bit per kind that could not be switched off */
	uint64_t since_ns;	 /* when all its callbacks were on */
	uint64_t retry_ns;	 /* when to try again */
	unsigned retries;
};

#endif
