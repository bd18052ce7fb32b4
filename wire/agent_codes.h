/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of the agent's control (contract 10.17): places in the memory file, commands, states, answers, filters. */
#ifndef XP_WIRE_AGENT_CODES_H
#define XP_WIRE_AGENT_CODES_H

#define XP_AGENT_MEMFD_PREFIX "xprobe-agent-" /* and the version */
#define XP_AGENT_MAGIC "XPCTRL\0"	      /* and its NUL: 8 bytes */
#ifndef XP_AGENT_VERSION		      /* a test builds an agent of another one */
#define XP_AGENT_VERSION 5
#endif
#define XP_AGENT_TEXT_OF(value) #value
#define XP_AGENT_TEXT(value) XP_AGENT_TEXT_OF(value)
#define XP_AGENT_MEMFD XP_AGENT_MEMFD_PREFIX XP_AGENT_TEXT(XP_AGENT_VERSION)

/* The file is sparse and grows at ARM; it is sealed against shrinking. */
#define XP_AGENT_NAMES_OFFSET (64u << 10)
#define XP_AGENT_DATA_OFFSET (16u << 20) /* ring or groups */
#define XP_AGENT_NVTX_NAMES_OFFSET (XP_AGENT_DATA_OFFSET - XP_AGENT_NVTX_NAMES_BYTES)
#define XP_AGENT_NAMES_END XP_AGENT_NVTX_NAMES_OFFSET
#define XP_AGENT_DATA_MAX (256u << 20)
#define XP_AGENT_FILE_MAX (XP_AGENT_DATA_OFFSET + XP_AGENT_DATA_MAX)
#define XP_AGENT_RING_MAX (1u << 18) /* records; a power of two */
#define XP_AGENT_NAME_MAX 65536u     /* a name of this length is cut */

#define XP_AGENT_ARM 1
#define XP_AGENT_STOP 2
#define XP_AGENT_STATUS 3

#define XP_AGENT_IDLE 0
#define XP_AGENT_ARMING 1
#define XP_AGENT_ARMED 2
#define XP_AGENT_STOPPING 3
#define XP_AGENT_GONE 4 /* the process is exiting */

/* Reply status. */
#define XP_AGENT_OK 0
#define XP_AGENT_BAD_REQUEST 1	  /* detail says what */
#define XP_AGENT_NO_CUDA 2	  /* no libcuda mapped, or never initialised */
#define XP_AGENT_NO_CUPTI 3	  /* detail: the places tried */
#define XP_AGENT_UNSUPPORTED 4	  /* this CUPTI version cannot be stopped safely */
#define XP_AGENT_BUSY 5		  /* another CUPTI subscriber; detail: its name */
#define XP_AGENT_CALL_FAILED 6	  /* call and cupti_status say which */
#define XP_AGENT_UNKNOWN_API 7	  /* detail: the name */
#define XP_AGENT_NO_MEMORY 8	  /* detail: what could not be had */
#define XP_AGENT_CANCELLED 9	  /* ARM given up by the tool or its lease; everything undone */
#define XP_AGENT_WRONG_STATE 10	  /* ARM while armed */
#define XP_AGENT_NO_QUARANTINE 11 /* libcupti's import of free was not found */
#define XP_AGENT_WORN 12	  /* CUPTI fell behind too often in this process */

/* Why kinds could not be switched off at a stop (before CUPTI 13.0 U1). */
#define XP_AGENT_LEFT_BUSY 1	 /* threads were inside launching or loading calls all the time */
#define XP_AGENT_LEFT_CONTEXTS 2 /* a context was created or destroyed while armed */
#define XP_AGENT_LEFT_THREADS 3	 /* more launching threads than can be told apart */

/* Why the agent ended a capture by itself. */
#define XP_AGENT_ENDED_LEASE 1
#define XP_AGENT_ENDED_DEADLINE 2
#define XP_AGENT_ENDED_EXIT 3
#define XP_AGENT_ENDED_BEHIND 4 /* a flush took so long that CUPTI's records were lost meanwhile */

#define XP_AGENT_EXACT 1
#define XP_AGENT_AGGREGATE 2

#define XP_AGENT_RECORDS_ONLY 1u /* flags of ARM: activities without a subscription */

#define XP_AGENT_MATCH_ANY 0
#define XP_AGENT_MATCH_EXACT 1
#define XP_AGENT_MATCH_PREFIX 2
#define XP_AGENT_MATCH_SUFFIX 3
#define XP_AGENT_MATCH_CONTAINS 4
#define XP_AGENT_MATCH_LAUNCH 5 /* API: every call that launches kernels or graphs */

#define XP_AGENT_FILTERS 8
#define XP_AGENT_NAME_BYTES 128 /* of a filter, NUL included */
#define XP_AGENT_ANY_COPY 0

#endif
