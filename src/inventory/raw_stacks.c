/* SPDX-License-Identifier: Apache-2.0 */
/* Samples -> different stacks. In: records, the unwinder. Out: numbers of stacks. State: the tables of addresses, frames, stacks. */
#include "inventory/raw_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int xp_raw_stacks_init(struct xp_raw_stacks *stacks, struct xp_err *reterr)
{
	if (!stacks->depth || stacks->depth > XP_RAW_DEPTH_MAX)
		stacks->depth = XP_RAW_DEPTH_MAX;
	stacks->pcs = calloc(stacks->depth, sizeof(*stacks->pcs));
	stacks->sps = calloc(stacks->depth, sizeof(*stacks->sps));
	stacks->read = calloc(XP_PYTHON_FRAMES_MAX, sizeof(*stacks->read));
	return stacks->pcs && stacks->sps && stacks->read ? 0 : xp_fail_sys(reterr, ENOMEM, "calloc", "frames of one stack");
}

void xp_raw_stacks_done(struct xp_raw_stacks *stacks)
{
	xp_map_done(&stacks->address_of);
	xp_map_done(&stacks->frame_of);
	xp_map_done(&stacks->stack_of);
	free(stacks->addresses);
	free(stacks->frames);
	free(stacks->words);
	free(stacks->stacks);
	free(stacks->pcs);
	free(stacks->sps);
	free(stacks->read);
	*stacks = (struct xp_raw_stacks){ 0 };
}

/* Room for `more` items behind n; doubles. */
static bool reserve(void **items, size_t *cap, size_t n, size_t more, size_t size)
{
	size_t wanted = *cap ? *cap : 1024;

	if (n + more <= *cap)
		return true;
	while (wanted < n + more)
		wanted *= 2;
	void *grown = realloc(*items, wanted * size);
	if (!grown)
		return false;
	*items = grown;
	*cap = wanted;
	return true;
}

#define RESERVE(stacks, list, more) \
	reserve((void **)&(stacks)->list, &(stacks)->cap_##list, (stacks)->n_##list, (more), sizeof(*(stacks)->list))

bool xp_sample_split(const struct xp_rec_sample *sample, struct xp_sample_parts *ret_parts)
{
	const unsigned char *at = (const unsigned char *)(sample + 1);
	size_t kernel = sample->n_kernel * sizeof(uint64_t), python = sample->n_python * sizeof(struct xp_rec_python_frame);

	if (sample->size < sizeof(*sample) || kernel + python + sample->stack_bytes > sample->size - sizeof(*sample))
		return false;
	if (sample->n_kernel > XP_KERNEL_FRAMES_MAX || sample->n_python > XP_PYTHON_FRAMES_MAX || sample->stack_bytes > XP_STACK_COPY_MAX)
		return false;
	ret_parts->kernel = (const uint64_t *)at;
	ret_parts->python = (const struct xp_rec_python_frame *)(at + kernel);
	ret_parts->stack = at + kernel + python;
	return true;
}

/* Room for the new ones was made before, so that no number is given out halfway. */
static uint32_t address_number(struct xp_raw_stacks *stacks, uint64_t address)
{
	bool new;
	uint64_t *at = xp_map_at(&stacks->address_of, address, NULL, NULL, &new);

	if (new) {
		*at = stacks->n_addresses;
		stacks->addresses[stacks->n_addresses++] = address;
	}
	return (uint32_t)*at;
}

struct frame_query {
	const struct xp_raw_stacks *stacks;
	const struct xp_python_frame *frame;
};

/* Equal texts are the same pointer. */
static bool same_frame(uint64_t value, const void *arg)
{
	const struct frame_query *query = arg;
	const struct xp_python_frame *have = &query->stacks->frames[value], *want = query->frame;

	return have->qualname == want->qualname && have->source_path == want->source_path && have->line.set == want->line.set &&
	       have->line.v == want->line.v && have->shim == want->shim && have->entry == want->entry;
}

static uint32_t frame_number(struct xp_raw_stacks *stacks, const struct xp_python_frame *frame)
{
	struct frame_query query = { stacks, frame };
	uint64_t key = xp_hash_mix((uintptr_t)frame->qualname ^
				   xp_hash_mix((uint64_t)frame->line.v << 2 | (unsigned)frame->shim << 1 | frame->entry));
	bool new;
	uint64_t *at = xp_map_at(&stacks->frame_of, key, same_frame, &query, &new);

	if (new) {
		*at = stacks->n_frames;
		stacks->frames[stacks->n_frames++] = *frame;
	}
	return (uint32_t)*at;
}

struct stack_query {
	const struct xp_raw_stacks *stacks;
	struct xp_raw_stack like;
	const uint32_t *words;
};

static size_t words_of(const struct xp_raw_stack *stack)
{
	return (size_t)stack->n_kernel + stack->n_native + stack->n_python;
}

static bool same_stack(uint64_t value, const void *arg)
{
	const struct stack_query *query = arg;
	const struct xp_raw_stack *have = &query->stacks->stacks[value];

	return have->n_kernel == query->like.n_kernel && have->n_native == query->like.n_native && have->n_python == query->like.n_python &&
	       have->end == query->like.end && have->python == query->like.python && have->call == query->like.call &&
	       !memcmp(query->stacks->words + have->first, query->words, words_of(have) * sizeof(uint32_t));
}

static enum xp_unwind_end unwind(struct xp_raw_stacks *stacks, const struct xp_rec_sample *sample, const struct xp_sample_parts *parts,
				 size_t *ret_n)
{
	struct xp_unwind_regs regs = { .ip = sample->ip, .sp = sample->sp, .bp = sample->bp };
	struct xp_stack_bytes bytes = { .sp = sample->sp, .bytes = parts->stack, .len = sample->stack_bytes };
	struct xp_unwound out = { .pcs = stacks->pcs, .sps = stacks->sps, .end = XP_UNWIND_WHOLE };

	*ret_n = 0;
	if (sample->flags & XP_SAMPLE_NO_USER)
		return XP_UNWIND_WHOLE;
	stacks->pcs[0] = sample->ip;
	*ret_n = 1;
	if (!stacks->unwinder)
		return XP_UNWIND_FAILED;
	xp_unwind(stacks->unwinder, &regs, &bytes, stacks->depth, &out);
	if (out.n)
		*ret_n = out.n;
	return out.end;
}

/* Number of interpreter frames that could be read into stacks->read; *ret_python says how their walk ended. */
static size_t read_python(struct xp_raw_stacks *stacks, const struct xp_rec_sample *sample, const struct xp_sample_parts *parts,
			  uint8_t *ret_python)
{
	*ret_python = sample->python;
	if (!stacks->python || xp_python_status(stacks->python) != XP_PYTHON_ACTIVE || !sample->n_python ||
	    sample->python == XP_PYTHON_TORN)
		return 0;
	if (xp_python_frames_read(stacks->python, parts->python, sample->n_python, stacks->read))
		return sample->n_python;
	*ret_python = XP_PYTHON_TORN;
	return 0;
}

static void number_parts(struct xp_raw_stacks *stacks, const struct xp_raw_stack *like, const struct xp_sample_parts *parts,
			 uint32_t *words)
{
	for (size_t i = 0; i < like->n_kernel; i++)
		*words++ = address_number(stacks, parts->kernel[i]);
	for (size_t i = 0; i < like->n_native; i++)
		*words++ = address_number(stacks, stacks->pcs[i]);
	for (size_t i = 0; i < like->n_python; i++)
		*words++ = frame_number(stacks, &stacks->read[i]);
}

bool xp_raw_stacks_take(struct xp_raw_stacks *stacks, const struct xp_rec_sample *sample, const struct xp_sample_parts *parts,
			uint32_t *ret_stack)
{
	struct stack_query query = { .stacks = stacks };
	struct xp_raw_stack *like = &query.like;
	size_t n_native;
	bool new;

	like->end = (uint8_t)unwind(stacks, sample, parts, &n_native);
	like->n_kernel = sample->n_kernel;
	like->call = sample->flags & XP_SAMPLE_IN_CALL ? (uint16_t)(sample->nr + 1) : 0;
	like->n_native = (uint16_t)n_native;
	like->n_python = (uint16_t)read_python(stacks, sample, parts, &like->python);
	size_t n = words_of(like);
	if (stacks->n_words + n > XP_RAW_WORDS_MAX || !RESERVE(stacks, words, n) || !RESERVE(stacks, stacks, 1) ||
	    !RESERVE(stacks, addresses, (size_t)like->n_kernel + like->n_native) || !RESERVE(stacks, frames, like->n_python))
		return false;
	query.words = stacks->words + stacks->n_words;
	number_parts(stacks, like, parts, stacks->words + stacks->n_words);
	uint64_t hash = xp_hash_bytes(query.words, n * sizeof(uint32_t), (uint64_t)like->call << 16 | like->n_kernel);
	uint64_t *at = xp_map_at(&stacks->stack_of, hash, same_stack, &query, &new);
	if (new) {
		like->first = (uint32_t)stacks->n_words;
		*at = stacks->n_stacks;
		stacks->stacks[stacks->n_stacks++] = *like;
		stacks->n_words += n;
	}
	*ret_stack = (uint32_t)*at;
	return true;
}
