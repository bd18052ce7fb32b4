/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One deep stack of this process, unwound by xprobe from a copy and by libgcc and libunwind in place, which is their best case. Prints a
 * line a way: name, frames, nanoseconds a frame with warm caches, and for the first walk.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "elf/unwind.h"

enum { DEPTH = 24, MAX_FRAMES = 512, ROUNDS = 300, COPY = 16384 };

struct bench {
	struct xp_target *target;
	struct xp_unwinder *unwinder;
	int (*get_context)(ucontext_t *context);
	int (*init)(void *cursor, ucontext_t *context);
	int (*step)(void *cursor);
	uint64_t stack_end;
	/* Not on the stack that is measured. */
	uint64_t pcs[MAX_FRAMES], sps[MAX_FRAMES];
	char copy[COPY];
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static _Unwind_Reason_Code count(struct _Unwind_Context *context, void *arg)
{
	++*(size_t *)arg;
	return _URC_NO_REASON;
}

static size_t by_libgcc(struct bench *bench)
{
	size_t n = 0;

	_Unwind_Backtrace(count, &n);
	return n;
}

static size_t by_libunwind(struct bench *bench)
{
	uint64_t cursor[512]; /* unw_cursor_t has 127 words */
	ucontext_t context;
	size_t n = 1;

	bench->get_context(&context);
	bench->init(cursor, &context);
	while (bench->step(cursor) > 0)
		n++;
	return n;
}

static size_t by_xprobe(struct bench *bench)
{
	struct xp_unwound out = { .pcs = bench->pcs, .sps = bench->sps };
	struct xp_unwind_regs regs;

	__asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2" : "=r"(regs.ip), "=r"(regs.sp), "=r"(regs.bp));
	size_t left = bench->stack_end - regs.sp, len = left < COPY ? left : COPY;
	memcpy(bench->copy, (const void *)(uintptr_t)regs.sp, len);
	struct xp_stack_bytes stack = { regs.sp, bench->copy, len };
	xp_unwind(bench->unwinder, &regs, &stack, MAX_FRAMES, &out);
	if (out.end != XP_UNWIND_WHOLE)
		fprintf(stderr, "unwind: the stack was not unwound to its end (%d)\n", out.end), exit(1);
	return out.n;
}

static void measure(struct bench *bench, const char *name, size_t (*walk)(struct bench *bench))
{
	uint64_t started = now(), first, best = UINT64_MAX;
	size_t frames = walk(bench);

	first = now() - started;
	for (int i = 0; i < ROUNDS; i++) {
		started = now();
		walk(bench);
		uint64_t took = now() - started;
		best = took < best ? took : best;
	}
	printf("%s %zu %.1f %.1f\n", name, frames, (double)best / (double)frames, (double)first / (double)frames);
}

static struct bench *the_bench; /* qsort hands nothing through */

static int nest(const void *a, const void *b);

static __attribute__((noinline)) int deeper(int n)
{
	int pair[2] = { n, n };

	if (n) {
		qsort(pair, 2, sizeof(pair[0]), nest);
		return pair[0];
	}
	measure(the_bench, "xprobe", by_xprobe);
	measure(the_bench, "libgcc", by_libgcc);
	if (the_bench->step)
		measure(the_bench, "libunwind", by_libunwind);
	return 0;
}

static int nest(const void *a, const void *b)
{
	return deeper(*(const int *)a - 1) + 1;
}

int main(void)
{
	static struct bench bench;
	xp_auto_err err = { 0 };
	void *library = dlopen("libunwind.so.8", RTLD_NOW);

	if (library) {
		bench.get_context = (int (*)(ucontext_t *))dlsym(library, "_Ux86_64_getcontext");
		bench.init = (int (*)(void *, ucontext_t *))dlsym(library, "_ULx86_64_init_local");
		bench.step = bench.get_context && bench.init ? (int (*)(void *))dlsym(library, "_ULx86_64_step") : NULL;
	}
	if (xp_target_open((uint32_t)getpid(), NULL, &bench.target, &err) || xp_unwinder_new(bench.target, &bench.unwinder, &err)) {
		fprintf(stderr, "unwind: %s\n", err.message);
		return 1;
	}
	bench.stack_end = xp_maps_find(xp_target_maps(bench.target), (uint64_t)(uintptr_t)&library)->end;
	the_bench = &bench;
	deeper(DEPTH);
	xp_unwinder_free(bench.unwinder);
	xp_target_close(bench.target);
	return 0;
}
