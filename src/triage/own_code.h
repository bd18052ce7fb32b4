/* SPDX-License-Identifier: Apache-2.0 */
/* The program's own code in a stack: what a library or the kernel works for. It is what a reader can change. */
#ifndef XP_TRIAGE_OWN_CODE_H
#define XP_TRIAGE_OWN_CODE_H

#include "triage/finding.h"
#include "triage/input.h"

/* Python's standard library; frames without a path, too. */
bool xp_is_standard_library(const struct xp_frame *frame);
/* The same function, whatever its line. */
bool xp_same_function(const struct xp_frame *a, const struct xp_frame *b);
/* Waits for a lock: its own function or what it calls for that. `symbol` may be NULL. */
bool xp_is_lock_function(const char *symbol);
/*
 * Frames leaf first. The innermost Python frame outside the standard library, else within it; without Python frames the innermost named
 * function that isn't of a system library, a C++, Rust or Go run-time or an interpreter. NULL: none.
 */
const struct xp_frame *xp_own_frame(const struct xp_frame *const *frames, size_t n_frames);

/* Amounts (samples, ns) by the own function above them. */
enum { XP_OWN_FUNCTIONS = 32 };
struct xp_own_tally {
	struct {
		const struct xp_frame *frame;
		uint64_t amount;
	} at[XP_OWN_FUNCTIONS];
	size_t n;
	uint64_t total;
};
/* Frame NULL: counts in the total alone. */
void xp_own_add(struct xp_own_tally *tally, const struct xp_frame *frame, uint64_t amount);
/* The function with at least half of `total`, as the first frame that was added. NULL: none. */
const struct xp_frame *xp_own_most(const struct xp_own_tally *tally, uint64_t total);

/* Callers of most samples of a function; `leaf`: where it ran itself, else also where what it calls did. */
const struct xp_frame *xp_own_caller(const struct xp_triage_input *input, const struct xp_frame *function, bool leaf);
/* Where most samples of threads of that name pattern lie. */
const struct xp_frame *xp_own_running(const struct xp_triage_input *input, const char *name_pattern);
/* Whose work the kernel did in most kernel samples of threads of that name pattern. */
const struct xp_frame *xp_own_in_kernel(const struct xp_triage_input *input, const char *name_pattern);
/* Who makes that call, where most kernel samples of the thread lie in it. */
const struct xp_frame *xp_own_in_call(const struct xp_triage_input *input, uint32_t tid, const char *call);
/* In whose work most runs of Python's garbage collector lie, in threads of that name pattern. */
const struct xp_frame *xp_own_collecting(const struct xp_triage_input *input, const char *name_pattern);
/* Who was blocked for at least half of `of_ns` in that call (NULL: in page faults), in threads of that name pattern. */
const struct xp_frame *xp_own_blocked(const struct xp_triage_input *input, const char *name_pattern, const char *call, uint64_t of_ns);
/* Who had three quarters of the blocks that were long enough for stacks, where these were a quarter of `of_ns` at least. */
const struct xp_frame *xp_own_blocked_long(const struct xp_triage_input *input, const char *name_pattern, const char *call, uint64_t of_ns);

/* A C++ function's name without parameters; of a long one the template lists are "<...>", too. */
void xp_short_function(const char *symbol, struct xp_text *out);
/* Ends the message with `words` and the frame, and has the frame as evidence.called_from {function, source_path, line}; NULL: nothing. */
void xp_own_say(struct xp_findings *out, struct xp_finding *finding, const char *words, const struct xp_frame *frame);

#endif
