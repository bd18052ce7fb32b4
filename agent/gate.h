/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stops before CUPTI 13.0 U1, where switching a kind off deadlocks a program that is inside a graph launch or a module load: from the arm
 * on every such call passes a gate; the stop closes it, waits until nobody is inside, switches off, and opens.
 */
#ifndef XP_AGENT_GATE_H
#define XP_AGENT_GATE_H

#include "agent/agent.h"

enum { WANT_GATE = 64, WANT_CONTEXT = 128 }; /* of a callback id, beside WANT_* */

/* Whether this version's kinds may go on as asked for; XP_AGENT_* status. Sets xp_agent.gate.on. Agent's thread, at ARM. */
int xp_agent_gate_check(void);
int xp_agent_gate_new(void);
/* What the gate wants of an id, by its folded name. */
uint8_t xp_agent_gate_want(uint32_t domain, uint32_t cbid, const char *folded, size_t len);
/* The callback to subscribe with: with the gate, or without. */
cupti_callback_fn *xp_agent_gate_callback(void);
/* Kinds of this capture, and those an earlier one left on, go off; or they stay on and counters.left_on says why. */
void xp_agent_gate_kinds_off(void);
/* When idle: throws away what kinds left on bring, and tries again to switch them off. How long to wait for a command, in ms. */
int xp_agent_gate_idle(int otherwise_ms, uint32_t answered);

#endif
