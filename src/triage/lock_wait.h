/* SPDX-License-Identifier: Apache-2.0 */
/* What a wait for a lock says of those who hold it. */
#ifndef XP_TRIAGE_LOCK_WAIT_H
#define XP_TRIAGE_LOCK_WAIT_H

#include "triage/finding.h"
#include "triage/input.h"

/*
 * Time of all threads under the function that takes the lock, the waits for locks aside: what the lock is held for, unless it is spent
 * before the lock is taken. Ends the message with it and has it as evidence.beside_waiting. False, and nothing said: too little of it is
 * known, as where the lock is held by another function.
 */
bool xp_lock_say_work(const struct xp_triage_input *input, struct xp_findings *out, struct xp_finding *finding,
		      const struct xp_off_cpu_group *waiting);

#endif
