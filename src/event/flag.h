/* SPDX-License-Identifier: Apache-2.0 */
/* Bits of xp_event.flags. Comes with event/event.h. */
#ifndef XP_EVENT_FLAG_H
#define XP_EVENT_FLAG_H

enum xp_event_flag {
	XP_EVF_COMPAT = 1,    /* 32-bit system call */
	XP_EVF_GOROUTINE = 2, /* host.key is a goroutine pointer: stack_nested pairs by it, without the stack-pointer rule */
	XP_EVF_HAS_SP = 4,    /* host.sp is valid */
	XP_EVF_CONTINUES = 8, /* collected only to follow restarted syscalls; no selector names it (contract 9.1 rule 5) */
	XP_EVF_NO_CONTEXT = 16,
	XP_EVF_NO_CORRELATION = 32,
	XP_EVF_NO_STREAM = 64,
	XP_EVF_NO_DEVICE = 128,
	XP_EVF_GRAPH_NODE = 256,      /* gpu.node is valid */
	XP_EVF_GRAPH_LAUNCH = 512,    /* API event: launches a graph */
	XP_EVF_LAUNCH_UNKNOWN = 1024, /* launch_link: unknown */
	XP_EVF_INVALID_TIME = 2048,   /* excluded before correlation, counted (contract 9) */
	XP_EVF_GRAPH_PREDATES = 4096,
	XP_EVF_SYNTHETIC = 8192,
	XP_EVF_NO_RESULT = 16384, /* syscall exit of an input file without return_value */
	XP_EVF_ARGS = 32768,	  /* detail is the place of a system call's six registers, see xp_store_args */
};

#endif
