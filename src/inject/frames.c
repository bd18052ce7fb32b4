/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a stopped thread innocent? Its frames must not lie in the loader, nor below a signal handler (which may have interrupted malloc); a
 * thread found outside of a system call must besides be wholly in code that has no lock of malloc. State: unwind rules, once read.
 */
#include <stdlib.h>
#include <sys/uio.h>

#include "arch/injection.h"
#include "elf/symbols.h"
#include "inject/inject_priv.h"

enum { MAX_FRAMES = 128, STACK_BYTES = 65536, START_FRAMES = 3, RESTORER_BYTES = 9 };

struct xp_inject_frames {
	struct xp_target *target;
	struct xp_unwinder *unwinder;
	struct xp_modules *modules;
	uint64_t pcs[MAX_FRAMES], sps[MAX_FRAMES];
	unsigned char stack[STACK_BYTES];
};

struct xp_inject_frames *xp_inject_frames_new(struct xp_target *target)
{
	struct xp_inject_frames *frames = calloc(1, sizeof(*frames));
	xp_auto_err err = { 0 };

	if (!frames)
		return NULL;
	frames->target = target;
	frames->modules = xp_modules_new(target);
	if (xp_unwinder_new(target, &frames->unwinder, &err)) {
		xp_inject_frames_free(frames);
		return NULL;
	}
	return frames;
}

void xp_inject_frames_free(struct xp_inject_frames *frames)
{
	if (!frames)
		return;
	xp_modules_free(frames->modules);
	xp_unwinder_free(frames->unwinder);
	free(frames);
}

static bool read_memory(uint32_t tid, uint64_t address, void *bytes, size_t size, size_t *ret_len)
{
	struct iovec here = { bytes, size }, there = { (void *)(uintptr_t)address, size };
	ssize_t got = process_vm_readv((pid_t)tid, &here, 1, &there, 1, 0);

	*ret_len = got > 0 ? (size_t)got : 0;
	return got > 0;
}

static bool returns_from_signal(uint32_t tid, uint64_t pc)
{
	unsigned char bytes[RESTORER_BYTES];
	size_t len;

	/* The frame's address is that of the restorer, or one less as for any caller. */
	for (uint64_t at = pc; at <= pc + 1; at++)
		if (read_memory(tid, at, bytes, sizeof(bytes), &len) && len == sizeof(bytes) && xp_injection_is_signal_return(bytes))
			return true;
	return false;
}

/* malloc of its own, other than the C library's: its locks are unknown. */
static bool may_hold_malloc(struct xp_inject_frames *frames, const struct xp_mapping *mapping)
{
	struct xp_module *module = xp_modules_at(frames->modules, mapping);

	return !module || !module->elf || xp_symbols_exports(module->elf, "malloc");
}

static const char *refuse_busy(struct xp_inject_frames *frames, const struct xp_unwound *stack)
{
	const struct xp_maps *maps = xp_target_maps(frames->target);

	if (stack->end != XP_UNWIND_WHOLE)
		return "its stack cannot be followed to the end";
	for (size_t i = 0; i < stack->n; i++) {
		const struct xp_mapping *m = xp_maps_find(maps, stack->pcs[i]);
		enum xp_inject_part part = xp_inject_part_of(m);

		if (part == XP_PART_NONE)
			return "it runs code that belongs to no file";
		/* The outermost frames are those that start a thread or call main. */
		if (part == XP_PART_LIBC && i && i + START_FRAMES >= stack->n)
			continue;
		if (part == XP_PART_LIBC)
			return "it is inside the C library";
		if (may_hold_malloc(frames, m))
			return "it is inside a library with a malloc of its own";
	}
	return NULL;
}

const char *xp_inject_frames_refuse(struct xp_inject_frames *frames, uint32_t tid, const struct xp_unwind_regs *regs, bool busy)
{
	struct xp_unwound stack = { .pcs = frames->pcs, .sps = frames->sps };
	struct xp_stack_bytes bytes = { .sp = regs->sp, .bytes = frames->stack };

	const struct xp_mapping *home = xp_maps_find(xp_target_maps(frames->target), regs->sp);
	size_t size = home && home->end - regs->sp < STACK_BYTES ? home->end - regs->sp : STACK_BYTES;
	if (!read_memory(tid, regs->sp, frames->stack, size, &bytes.len))
		return "its stack cannot be read";
	xp_unwind(frames->unwinder, regs, &bytes, MAX_FRAMES, &stack);
	for (size_t i = 0; i < stack.n; i++) {
		if (xp_inject_part_of(xp_maps_find(xp_target_maps(frames->target), stack.pcs[i])) == XP_PART_LOADER)
			return "it is inside the dynamic loader";
		if (i && returns_from_signal(tid, stack.pcs[i]))
			return "it is inside a signal handler";
	}
	return busy ? refuse_busy(frames, &stack) : NULL;
}
