/* SPDX-License-Identifier: Apache-2.0 */
/* Scoped release: declare and initialise in one statement; hand out with xp_steal. Never mixed with goto in one function. */
#ifndef XP_BASE_CLEANUP_H
#define XP_BASE_CLEANUP_H

#include <stddef.h>

/* xp_auto(xp_thing_free) struct xp_thing *t = ...;  calls xp_thing_free(t) at scope exit; the function must accept NULL. */
#define xp_auto(free_fn) __attribute__((cleanup(free_fn##_p)))

/* Defines the helper that xp_auto(free_fn) needs; put it behind the prototype of free_fn. */
#define XP_DEFINE_AUTO(type, free_fn)              \
	static inline void free_fn##_p(type *slot) \
	{                                          \
		free_fn(*slot);                    \
	}                                          \
	struct xp_swallow_semicolon

/* Takes the value out of the slot, so that the scope does not release it. */
#define xp_steal(slot)                             \
	({                                         \
		__auto_type xp_slot_ = (slot);     \
		__auto_type xp_value_ = *xp_slot_; \
		*xp_slot_ = NULL;                  \
		xp_value_;                         \
	})

void xp_free(void *block);
XP_DEFINE_AUTO(void *, xp_free);

/* char *text: released with free(). */
static inline void xp_free_text_p(char **slot)
{
	xp_free(*slot);
}
#define xp_auto_text __attribute__((cleanup(xp_free_text_p))) char *

/* A descriptor that is closed at scope exit; born -1. Take it out with xp_steal_fd. */
void xp_close_p(int *fd);
#define xp_auto_fd __attribute__((cleanup(xp_close_p))) int

static inline int xp_steal_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define XP_LEN(array) (sizeof(array) / sizeof((array)[0]))

#endif
