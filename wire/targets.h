/* SPDX-License-Identifier: Apache-2.0 */
/* How many processes one loaded program may follow. */
#ifndef XP_WIRE_TARGETS_H
#define XP_WIRE_TARGETS_H

#define XP_TARGETS_MAX 64 /* a power of two: indexes are masked by it for the verifier */

#endif
