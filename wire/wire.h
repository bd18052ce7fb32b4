/* SPDX-License-Identifier: Apache-2.0 */
/* Fixed-width types and the size assertion that every wire struct carries. Included by bpf/, agent/ and src/. */
#ifndef XP_WIRE_WIRE_H
#define XP_WIRE_WIRE_H

#include <linux/types.h>

#define XP_WIRE_SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type " is " #bytes " bytes on the wire")

#endif
