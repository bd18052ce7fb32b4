/* SPDX-License-Identifier: Apache-2.0 */
/* The list of loaded objects, and forks of the program beside it. */
#ifndef XP_AGENT_OBJECTS_H
#define XP_AGENT_OBJECTS_H

#include <link.h>
#include <stdint.h>

struct objects {
	uint32_t inside; /* shared: threads that go through the list for us */
	uint32_t forks;	 /* shared: threads that are in fork */
};

typedef int xp_agent_object_fn(struct dl_phdr_info *info, size_t size, void *arg);

/* Before anything else of this header, on the agent's thread: allocates. */
void xp_agent_objects_guard(void);
/* As dl_iterate_phdr, and waits at most a tenth of a second for forks under way. */
int xp_agent_objects(xp_agent_object_fn *look, void *arg);

#endif
