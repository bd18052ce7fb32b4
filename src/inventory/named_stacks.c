/* SPDX-License-Identifier: Apache-2.0 */
/* Raw stacks -> stacks of frames. In: addresses and interpreter frames. Out: struct xp_named_stacks. No state of its own. */
#include "inventory/named_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/x86_64/syscalls.h"
#include "base/text.h"
#include "elf/demangle.h"
#include "inventory/gil_wait.h"
#include "inventory/stack_merge.h"

enum { NAME_MAX_BYTES = 4096 };

/* What one call needs at hand: the batch of symbols and room for one stack. */
struct naming {
	struct xp_named_stacks *out;
	const struct xp_raw_stacks *raw;
	const struct xp_symbolized *symbols; /* by number of address */
	bool *collector;		     /* by number of address: Python's garbage collector */
	const struct xp_cuda_call **cuda;    /* by number of address */
	struct xp_symbolized *kernel, *native;
	struct xp_python_frame *python;
	struct xp_frame *merged;
	uint32_t depth;
};

void xp_named_stacks_done(struct xp_named_stacks *stacks)
{
	free(stacks->frames);
	free(stacks->function_of);
	free(stacks->words);
	free(stacks->stacks);
	xp_map_done(&stacks->frame_of);
	xp_map_done(&stacks->function_at);
	xp_map_done(&stacks->text_of);
	*stacks = (struct xp_named_stacks){ 0 };
}

const struct xp_frame *const *xp_named_stack_frames(const struct xp_named_stacks *stacks, const struct xp_named_stack *stack,
						    struct xp_arena *arena)
{
	const struct xp_frame **frames = xp_arena_array(arena, const struct xp_frame *, stack->n + 1);

	for (uint32_t i = 0; i < stack->n; i++)
		frames[i] = stacks->frames[stacks->words[stack->first + i]];
	return frames;
}

static bool reserve(void **items, size_t *cap, size_t wanted, size_t size)
{
	size_t bigger = *cap ? *cap : 1024;

	while (bigger < wanted)
		bigger *= 2;
	if (bigger == *cap)
		return true;
	void *grown = realloc(*items, bigger * size);
	if (!grown)
		return false;
	*items = grown;
	*cap = bigger;
	return true;
}

/* Texts come from tables that give equal ones the same pointer, mostly; the copy in the arena is shared by it. */
static const char *keep(struct xp_named_stacks *out, const char *text)
{
	bool new;

	if (!text)
		return NULL;
	uint64_t *at = xp_map_at(&out->text_of, (uintptr_t)text, NULL, NULL, &new);
	if (new)
		*at = (uintptr_t)xp_utf8_cut(out->arena, text, NAME_MAX_BYTES, NULL);
	return (const char *)(uintptr_t)*at;
}

static uint64_t hash_text(const char *text, uint64_t seed)
{
	return text ? xp_hash_bytes(text, strlen(text), seed) : xp_hash_mix(seed);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* What makes two frames one function: its start where that is known, else its name, else the very address. */
static uint64_t function_key(const struct xp_frame *frame)
{
	uint64_t start = frame->function_offset.set ? frame->function_offset.v : frame->symbol_offset.set ? 0 : frame->address;

	if (frame->kind == XP_FRAME_PYTHON)
		return hash_text(frame->symbol, hash_text(frame->source_path, XP_FRAME_PYTHON));
	return hash_text(frame->module_path,
			 hash_text(frame->function_offset.set ? NULL : frame->symbol, start ^ (uint64_t)frame->kind << 56));
}

static bool same_function(const struct xp_frame *a, const struct xp_frame *b)
{
	if (a->kind != b->kind || a->function_offset.set != b->function_offset.set)
		return false;
	if (a->kind == XP_FRAME_PYTHON)
		return same_text(a->symbol, b->symbol) && same_text(a->source_path, b->source_path);
	if (!same_text(a->module_path, b->module_path))
		return false;
	if (a->function_offset.set)
		return a->function_offset.v == b->function_offset.v;
	return a->symbol || b->symbol ? same_text(a->symbol, b->symbol) : a->address == b->address;
}

struct frame_query {
	const struct xp_named_stacks *out;
	const struct xp_frame *frame;
};

static bool equal_function(uint64_t value, const void *arg)
{
	const struct frame_query *query = arg;

	return same_function(query->out->frames[value], query->frame);
}

static bool equal_frame(uint64_t value, const void *arg)
{
	const struct frame_query *query = arg;
	const struct xp_frame *have = query->out->frames[value];

	return same_function(have, query->frame) &&
	       (have->kind != XP_FRAME_PYTHON || (have->line.set == query->frame->line.set && have->line.v == query->frame->line.v));
}

/* The frame with texts of its own. `symbol` was compared in its raw form and is made readable only after. */
static struct xp_frame *own_frame(struct xp_named_stacks *out, const struct xp_frame *frame)
{
	struct xp_frame *own = xp_arena_new_of(out->arena, struct xp_frame);

	*own = *frame;
	own->module_path = keep(out, frame->module_path);
	own->build_id = keep(out, frame->build_id);
	own->source_path = keep(out, frame->source_path);
	own->symbol = keep(out, frame->symbol);
	return own;
}

/* Number of the frame; UINT32_MAX: out of memory. */
static uint32_t frame_number(struct xp_named_stacks *out, const struct xp_frame *frame)
{
	struct frame_query query = { out, frame };
	uint64_t function = function_key(frame);
	uint64_t key = frame->kind == XP_FRAME_PYTHON ? xp_hash_mix(function ^ (frame->line.set ? frame->line.v + 1ull : 0)) : function;
	bool new;

	if (!reserve((void **)&out->frames, &out->cap_frames, out->n_frames + 1, sizeof(*out->frames)) ||
	    !reserve((void **)&out->function_of, &out->cap_function_of, out->n_frames + 1, sizeof(*out->function_of)))
		return UINT32_MAX;
	uint64_t *at = xp_map_at(&out->frame_of, key, equal_frame, &query, &new);
	if (!new)
		return (uint32_t)*at;
	uint32_t number = (uint32_t)out->n_frames++;
	*at = number;
	out->frames[number] = own_frame(out, frame);
	at = xp_map_at(&out->function_at, function, equal_function, &query, &new);
	if (new)
		*at = number;
	out->function_of[number] = new ? (uint32_t)out->n_functions++ : out->function_of[*at];
	return number;
}

/* "__x64_sys_newfstat" -> "fstat": the call that a kernel function implements. */
static const char *call_of(const char *symbol)
{
	static const char prefix[] = "__x64_sys_";
	static const struct {
		const char *kernel, *name;
	} others[] = { { "newfstat", "fstat" }, { "newstat", "stat" },	      { "newlstat", "lstat" },
		       { "newuname", "uname" }, { "sendfile64", "sendfile" }, { "umount", "umount2" } };

	if (!symbol || strncmp(symbol, prefix, sizeof(prefix) - 1))
		return NULL;
	const char *name = symbol + sizeof(prefix) - 1;
	for (size_t i = 0; i < XP_LEN(others); i++)
		if (!strcmp(others[i].kernel, name))
			name = others[i].name;
	int number = xp_syscall_number(name);
	return number < 0 ? NULL : xp_syscall_name((uint32_t)number);
}

static bool is_page_fault(const char *symbol)
{
	return symbol &&
	       (!strcmp(symbol, "exc_page_fault") || !strcmp(symbol, "asm_exc_page_fault") || !strcmp(symbol, "do_user_addr_fault"));
}

static void count_frame(struct xp_named_counts *counts, const struct xp_frame *frame)
{
	counts->total++;
	if (!frame->symbol)
		counts->unresolved++;
	else if (frame->kind == XP_FRAME_PYTHON)
		counts->python++;
	else if (frame->kind == XP_FRAME_KERNEL)
		counts->kernel++;
	else if (frame->kind == XP_FRAME_JIT)
		counts->jit++;
	else
		counts->native++;
	counts->perf_map_python |= frame->kind == XP_FRAME_JIT && frame->symbol && !strncmp(frame->symbol, "py::", 4);
}

/* Fills the parts of one stack out of the batch, and what they say as a whole. */
static struct xp_stack_parts parts_of(const struct naming *n, const struct xp_raw_stack *raw, struct xp_named_stack *stack)
{
	const uint32_t *words = n->raw->words + raw->first;

	for (size_t i = 0; i < raw->n_kernel; i++) {
		n->kernel[i] = n->symbols[words[i]];
		if (!stack->kernel_call)
			stack->kernel_call = call_of(n->kernel[i].symbol);
		stack->page_fault |= is_page_fault(n->kernel[i].symbol);
	}
	/* The way in and out of a call, and what traces it there, is the call's. */
	if (!stack->kernel_call && raw->call)
		stack->kernel_call = xp_syscall_name(raw->call - 1u);
	stack->page_fault &= !stack->kernel_call; /* a call that touches the caller's memory faults for its own purpose */
	words += raw->n_kernel;
	for (size_t i = 0; i < raw->n_native; i++) {
		n->native[i] = n->symbols[words[i]];
		stack->collector |= n->collector[words[i]];
		if (n->cuda[words[i]])
			stack->cuda_call = n->cuda[words[i]];
	}
	stack->interpreter_lock = xp_is_gil_wait(n->native, raw->n_native);
	words += raw->n_native;
	for (size_t i = 0; i < raw->n_python; i++)
		n->python[i] = n->raw->frames[words[i]];
	return (struct xp_stack_parts){
		.kernel = n->kernel,
		.n_kernel = raw->n_kernel,
		.native = n->native,
		.n_native = raw->n_native,
		.end = (enum xp_unwind_end)raw->end,
		.python = n->python,
		.n_python = raw->n_python,
		.python_deep = raw->python == XP_PYTHON_DEEP,
	};
}

static int name_stack(struct naming *n, const struct xp_raw_stack *raw, struct xp_named_stack *stack, struct xp_err *reterr)
{
	struct xp_named_stacks *out = n->out;
	struct xp_stack_parts parts = parts_of(n, raw, stack);
	size_t frames = xp_stack_merge(n->raw->python, &parts, n->merged, n->depth, &stack->more);

	if (!reserve((void **)&out->words, &out->cap_words, out->n_words + frames, sizeof(*out->words)))
		return xp_fail_sys(reterr, ENOMEM, "realloc", "%zu frames", out->n_words + frames);
	stack->first = (uint32_t)out->n_words;
	stack->n = (uint32_t)frames;
	for (size_t i = 0; i < frames; i++) {
		uint32_t number = frame_number(out, &n->merged[i]);

		if (number == UINT32_MAX)
			return xp_fail_sys(reterr, ENOMEM, "realloc", "%zu frames", out->n_frames + 1);
		out->words[out->n_words++] = number;
		count_frame(&out->counts, &n->merged[i]);
	}
	return 0;
}

/* Demangling comes last: once a function, and only for functions that are in a stack that is kept. */
static void make_readable(struct xp_named_stacks *out)
{
	for (size_t i = 0; i < out->n_frames; i++) {
		struct xp_frame *frame = out->frames[i];

		if (!frame->symbol || (frame->kind != XP_FRAME_NATIVE && frame->kind != XP_FRAME_JIT))
			continue;
		const char *readable = xp_demangle(out->arena, frame->symbol, strlen(frame->symbol), false);
		if (readable)
			frame->symbol = xp_utf8_cut(out->arena, readable, NAME_MAX_BYTES, NULL);
	}
}

static void keep_account(struct xp_named_stacks *out, const struct xp_symbolizer *symbolizer)
{
	struct xp_symbolize_account account = xp_symbolizer_account(symbolizer);

	out->counts.deadline_reached = account.deadline_reached;
	out->missing = xp_arena_array(out->arena, const char *, account.n_missing + 1);
	for (; out->n_missing < account.n_missing; out->n_missing++)
		out->missing[out->n_missing] = xp_arena_str(out->arena, account.missing[out->n_missing]);
}

static int name_all(struct naming *n, struct xp_err *reterr)
{
	const struct xp_raw_stacks *raw = n->raw;

	for (size_t i = 0; i < raw->n_addresses; i++) {
		const struct xp_symbolized *symbol = &n->symbols[i];

		n->collector[i] =
			raw->python && xp_python_is_collector(raw->python, symbol->symbol, symbol->module_path, symbol->function_offset);
		n->cuda[i] = xp_cuda_call_of(symbol->symbol);
	}
	n->out->stacks = calloc(raw->n_stacks + 1, sizeof(*n->out->stacks));
	if (!n->out->stacks)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "%zu stacks", raw->n_stacks);
	for (size_t i = 0; i < raw->n_stacks; i++) {
		int rc = name_stack(n, &raw->stacks[i], &n->out->stacks[i], reterr);

		if (rc)
			return rc;
		n->out->n_stacks++;
	}
	make_readable(n->out);
	return 0;
}

int xp_named_stacks_build(struct xp_named_stacks *out, const struct xp_raw_stacks *raw, struct xp_target *target, uint64_t deadline_ns,
			  uint32_t depth, struct xp_err *reterr)
{
	xp_auto(xp_arena_free) struct xp_arena *work = xp_arena_new();
	xp_auto(xp_symbolizer_free) struct xp_symbolizer *symbolizer = NULL;
	struct xp_symbolized *symbols = xp_arena_array(work, struct xp_symbolized, raw->n_addresses + 1);
	struct naming naming = {
		.out = out,
		.raw = raw,
		.symbols = symbols,
		.depth = depth,
		.collector = xp_arena_array(work, bool, raw->n_addresses + 1),
		.cuda = xp_arena_array(work, const struct xp_cuda_call *, raw->n_addresses + 1),
		.kernel = xp_arena_array(work, struct xp_symbolized, XP_KERNEL_FRAMES_MAX),
		.native = xp_arena_array(work, struct xp_symbolized, XP_RAW_DEPTH_MAX),
		.python = xp_arena_array(work, struct xp_python_frame, XP_PYTHON_FRAMES_MAX),
		.merged = xp_arena_array(work, struct xp_frame, depth),
	};
	int rc = xp_symbolizer_new(target, deadline_ns, &symbolizer, reterr);

	if (!rc)
		rc = xp_symbolize(symbolizer, raw->addresses, raw->n_addresses, symbols, reterr);
	if (!rc)
		rc = name_all(&naming, reterr);
	if (!rc)
		keep_account(out, symbolizer);
	return rc;
}
