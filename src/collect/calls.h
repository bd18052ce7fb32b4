/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines that come in on a descriptor while programs run beside them: the wait of a server. A program is this executable again, so that
 * its capture has a process of its own, with its own signals and clean-up.
 */
#ifndef XP_COLLECT_CALLS_H
#define XP_COLLECT_CALLS_H

#include "base/err.h"
#include "base/text.h"

enum { XP_CALLS_MAX = 8, XP_CALL_LINE_MAX = 4 << 20, XP_CALL_OUTPUT_MAX = 64 << 20 };

struct xp_calls;

enum xp_call_event {
	XP_CALL_LINE,	   /* text, len: one line without its LF, valid until the next xp_calls_next */
	XP_CALL_LONG_LINE, /* a line above XP_CALL_LINE_MAX was skipped */
	XP_CALL_DONE,	   /* owner, text, len: all that the program wrote to its stdout; cut tells that it was more than the maximum */
	XP_CALL_END,	   /* end of input, or a signal; nothing follows but XP_CALL_DONE of what runs still */
};

struct xp_call_news {
	enum xp_call_event event;
	const char *text;
	size_t len;
	bool cut;
	void *owner;
};

/* Reads lines from input_fd, which stays the caller's. */
struct xp_calls *xp_calls_new(int input_fd);
/*
 * Starts this executable with argv (NULL at its end, argv[0] included). file_fd, when not -1, is descriptor 3 of the program. It gets
 * SIGINT when this process dies. RESOURCE_LIMIT when XP_CALLS_MAX run already or the system refuses another process.
 */
int xp_calls_start(struct xp_calls *calls, const char *const *argv, int file_fd, void *owner, struct xp_err *reterr);
/* SIGINT to the owner's program; every further one is the second signal of contract 6.10. Nothing when it has none. */
void xp_calls_interrupt(struct xp_calls *calls, const void *owner);
/* Programs that run. */
size_t xp_calls_running(const struct xp_calls *calls);
/* Waits for the next thing to happen. */
struct xp_call_news xp_calls_next(struct xp_calls *calls);
/* False when nobody takes the bytes any more: the reader is gone, or a signal came and it took nothing for half a second. */
bool xp_calls_tell(int output_fd, const char *bytes, size_t len);
/* Kills what still runs. */
void xp_calls_free(struct xp_calls *calls);

#endif
