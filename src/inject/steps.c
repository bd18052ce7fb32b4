/* SPDX-License-Identifier: Apache-2.0 */
/* Loading as data: the steps that the thread takes, and what their results mean. In: request, places. Out: bytes; a verdict. No state. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inject/load_priv.h"

enum { STACK_BYTES = 256 * 1024, PAGE_BYTES = 4096, NAME_BYTES = 128, PATH_BYTES = 128, PATH_BITS = 32, WAIT_NS = 250000000 };
#define NOT_RUN INT64_MIN

/* Texts behind the block. */
struct texts {
	char image_name[NAME_BYTES], control_name[NAME_BYTES], entry[NAME_BYTES], format[PATH_BYTES], path[PATH_BYTES];
};

static uint64_t rounded(uint64_t bytes, uint64_t to)
{
	return (bytes + to - 1) / to * to;
}

void xp_inject_layout_of(struct xp_inject_layout *layout, const struct xp_inject_request *request, size_t vector_size)
{
	*layout = (struct xp_inject_layout){ .texts = sizeof(struct xp_injection_block) + rounded(vector_size, 64) };
	layout->image = rounded(layout->texts + sizeof(struct texts), 64);
	layout->used = layout->image + request->image_size;
	layout->size = STACK_BYTES + rounded(layout->used, PAGE_BYTES);
}

void xp_inject_layout_at(struct xp_inject_layout *layout, uint64_t base)
{
	layout->base = base;
	layout->block = base + STACK_BYTES;
}

uint64_t xp_inject_step_at(const struct xp_inject_layout *layout, int step)
{
	return layout->block + offsetof(struct xp_injection_block, steps) + (uint64_t)step * sizeof(struct xp_injection_step);
}

/*
 * The loader takes a library whose name it has seen for the one it has, and descriptor numbers come again; so each path is spelled in its
 * own way, which means the same file: "/proc/thread-self/fd", then "//" or "/." a bit, then the number.
 */
static void write_format(char *format, uint64_t nonce)
{
	size_t len = (size_t)snprintf(format, PATH_BYTES, "/proc/thread-self/fd");

	for (unsigned bit = 0; bit < PATH_BITS; bit++, len += 2)
		memcpy(format + len, nonce >> bit & 1 ? "/." : "//", 2);
	snprintf(format + len, PATH_BYTES - len, "/%%d");
}

static void write_texts(struct texts *texts, const struct xp_inject_request *request)
{
	snprintf(texts->image_name, sizeof(texts->image_name), "%s", request->image_name);
	snprintf(texts->control_name, sizeof(texts->control_name), "%s", request->control_name ? request->control_name : "");
	snprintf(texts->entry, sizeof(texts->entry), "%s", request->entry ? request->entry : "");
	write_format(texts->format, xp_inject_now() ^ (uint64_t)getpid() << 20);
}

/* A kernel that knows MFD_NOEXEC_SEAL complains when it is left out; one that does not know it refuses it. */
static uint64_t file_flags(void)
{
	static const unsigned no_exec = 8; /* forbids execve, not mmap */
	xp_auto_fd fd = memfd_create("xprobe", MFD_CLOEXEC | no_exec);

	return MFD_CLOEXEC | (fd >= 0 ? no_exec : 0);
}

enum badness { NEVER, NEGATIVE, NEGATIVE_INT, NULL_POINTER, NOT_EQUAL };

static void judge(struct xp_injection_step *step, enum badness bad, uint64_t value)
{
	static const struct {
		uint64_t mask, value, inverted;
	} rules[] = {
		[NEVER] = { 0, 1, 0 },
		[NEGATIVE] = { UINT64_C(1) << 63, UINT64_C(1) << 63, 0 },
		[NEGATIVE_INT] = { UINT64_C(1) << 31, UINT64_C(1) << 31, 0 },
		[NULL_POINTER] = { UINT64_MAX, 0, 0 },
		[NOT_EQUAL] = { UINT64_MAX, 0, 1 },
	};

	step->mask = rules[bad].mask;
	step->value = bad == NOT_EQUAL ? value : rules[bad].value;
	step->inverted = rules[bad].inverted;
}

struct builder {
	struct xp_injection_step *steps;
	const struct xp_inject_layout *layout;
};

static struct xp_injection_step *add(struct builder *b, enum xp_step id, uint64_t function, uint64_t nr, enum xp_step good,
				     enum xp_step bad)
{
	struct xp_injection_step *step = &b->steps[id];
	uint64_t own = xp_inject_step_at(b->layout, id) + offsetof(struct xp_injection_step, result);

	*step = (struct xp_injection_step){ .call = function, .nr = nr, .result = NOT_RUN, .result_to = { own, own, own } };
	step->next[0] = good < XP_STEP_COUNT ? xp_inject_step_at(b->layout, good) : 0;
	step->next[1] = bad < XP_STEP_COUNT ? xp_inject_step_at(b->layout, bad) : 0;
	judge(step, NEVER, 0);
	return step;
}

/* The result of `from` becomes argument `arg` of `to`, or its function for -1. `slot`: of result_to. */
static void pass(struct builder *b, enum xp_step from, unsigned slot, enum xp_step to, int arg)
{
	size_t offset = arg < 0 ? offsetof(struct xp_injection_step, call)
				: offsetof(struct xp_injection_step, args) + (size_t)arg * sizeof(uint64_t);

	b->steps[from].result_to[slot] = xp_inject_step_at(b->layout, to) + offset;
}

static void build_files(struct builder *b, const struct xp_inject_request *request, uint64_t texts)
{
	struct xp_injection_step *step = add(b, XP_STEP_IMAGE, 0, SYS_memfd_create, XP_STEP_WRITE, XP_STEP_COUNT);

	step->args[0] = texts + offsetof(struct texts, image_name);
	step->args[1] = file_flags();
	judge(step, NEGATIVE, 0);
	step = add(b, XP_STEP_WRITE, 0, SYS_write, request->control_name ? XP_STEP_CONTROL : XP_STEP_FORMAT, XP_STEP_CLOSE);
	step->args[1] = b->layout->block + b->layout->image;
	step->args[2] = request->image_size;
	judge(step, NOT_EQUAL, request->image_size);
	step = add(b, XP_STEP_CONTROL, 0, SYS_memfd_create, XP_STEP_SIZE, XP_STEP_CLOSE);
	step->args[0] = texts + offsetof(struct texts, control_name);
	step->args[1] = file_flags() | MFD_ALLOW_SEALING;
	judge(step, NEGATIVE, 0);
	step = add(b, XP_STEP_SIZE, 0, SYS_ftruncate, XP_STEP_FORMAT, XP_STEP_DROP);
	step->args[1] = request->control_size;
	judge(step, NEGATIVE, 0);
	add(b, XP_STEP_DROP, 0, SYS_close, XP_STEP_CLOSE, XP_STEP_CLOSE);
	add(b, XP_STEP_CLOSE, 0, SYS_close, XP_STEP_COUNT, XP_STEP_COUNT);
	pass(b, XP_STEP_IMAGE, 0, XP_STEP_WRITE, 0);
	pass(b, XP_STEP_IMAGE, 1, XP_STEP_FORMAT, 3);
	pass(b, XP_STEP_IMAGE, 2, XP_STEP_CLOSE, 0);
	pass(b, XP_STEP_CONTROL, 0, XP_STEP_SIZE, 0);
	pass(b, XP_STEP_CONTROL, 1, XP_STEP_ENTRY, 0);
	pass(b, XP_STEP_CONTROL, 2, XP_STEP_DROP, 0);
}

static void build_loading(struct builder *b, const struct xp_inject_request *request, const struct xp_inject_places *places, uint64_t texts)
{
	enum xp_step drop = request->control_name ? XP_STEP_DROP : XP_STEP_CLOSE;
	struct xp_injection_step *step =
		add(b, XP_STEP_LOAD, places->open, 0, request->entry ? XP_STEP_FIND : XP_STEP_CLOSE, places->error ? XP_STEP_ERROR : drop);

	step->args[0] = texts + offsetof(struct texts, path);
	step->args[1] = places->open_flags;
	judge(step, NULL_POINTER, 0);
	step = add(b, XP_STEP_FIND, places->find, 0, XP_STEP_ENTRY, XP_STEP_UNLOAD);
	step->args[1] = texts + offsetof(struct texts, entry);
	judge(step, NULL_POINTER, 0);
	step = add(b, XP_STEP_ENTRY, 0, 0, XP_STEP_CLOSE, XP_STEP_UNLOAD);
	step->args[0] = UINT64_MAX; /* control: none */
	step->args[1] = request->entry_arg;
	judge(step, NEGATIVE_INT, 0);
	add(b, XP_STEP_ERROR, places->error, 0, drop, drop);
	add(b, XP_STEP_UNLOAD, places->close, 0, drop, drop);
	pass(b, XP_STEP_LOAD, 0, XP_STEP_FIND, 0);
	pass(b, XP_STEP_LOAD, 1, XP_STEP_UNLOAD, 0);
	pass(b, XP_STEP_FIND, 0, XP_STEP_ENTRY, -1);
	step = add(b, XP_STEP_FORMAT, places->format, 0, XP_STEP_LOAD, XP_STEP_LOAD);
	step->args[0] = texts + offsetof(struct texts, path);
	step->args[1] = PATH_BYTES;
	step->args[2] = texts + offsetof(struct texts, format);
}

void *xp_inject_block(const struct xp_inject_layout *layout, const struct xp_inject_places *places, const struct xp_inject_request *request,
		      const struct xp_tracee *tracee)
{
	unsigned char *bytes = NULL;

	if (posix_memalign((void **)&bytes, 64, layout->used))
		return NULL;
	memset(bytes, 0, layout->image);
	struct xp_injection_block *block = (struct xp_injection_block *)bytes;
	struct builder b = { .steps = block->steps, .layout = layout };
	block->errno_location = places->errno_location;
	block->wait[1] = WAIT_NS;
	build_loading(&b, request, places, layout->block + layout->texts);
	build_files(&b, request, layout->block + layout->texts);
	memcpy(block->vector, tracee->vector, tracee->vector_size);
	write_texts((struct texts *)(bytes + layout->texts), request);
	memcpy(bytes + layout->image, request->image, request->image_size);
	return bytes;
}

static bool ran(const struct xp_injection_step *steps, enum xp_step id)
{
	return steps[id].result != NOT_RUN;
}

static int say_loader(const struct xp_injection_step *steps, const struct xp_tracee *tracee, struct xp_err *reterr)
{
	char text[256] = "";

	if (ran(steps, XP_STEP_ERROR) && steps[XP_STEP_ERROR].result)
		for (size_t i = 0; i + 1 < sizeof(text); i++)
			if (xp_tracee_read(tracee, (uint64_t)steps[XP_STEP_ERROR].result + i, &text[i], 1) || !text[i])
				break;
	text[sizeof(text) - 1] = '\0';
	return xp_fail_call(reterr, XP_E_CUPTI_NOT_AVAILABLE, 0, "dlopen", "%s", text[0] ? text : "the library, no reason given");
}

int xp_inject_outcome(const struct xp_inject_layout *layout, const struct xp_injection_step *steps, const struct xp_inject_request *request,
		      const struct xp_tracee *tracee, struct xp_inject_result *ret_result, struct xp_err *reterr)
{
	static const struct {
		enum xp_step id;
		const char *call;
	} calls[] = { { XP_STEP_IMAGE, "memfd_create" }, { XP_STEP_CONTROL, "memfd_create" }, { XP_STEP_SIZE, "ftruncate" } };

	for (size_t i = 0; i < XP_LEN(calls); i++)
		if (ran(steps, calls[i].id) && steps[calls[i].id].result < 0)
			return xp_fail_sys(reterr, (int)-steps[calls[i].id].result, calls[i].call, "in thread %u of the target",
					   tracee->tid);
	if (steps[XP_STEP_WRITE].result != (int64_t)request->image_size)
		return xp_fail_call(reterr, XP_E_RESOURCE_LIMIT,
				    steps[XP_STEP_WRITE].result < 0 ? (int)-steps[XP_STEP_WRITE].result : EFBIG, "write",
				    "the library, %zu bytes, in the target", request->image_size);
	if (!steps[XP_STEP_LOAD].result)
		return say_loader(steps, tracee, reterr);
	if (ran(steps, XP_STEP_ENTRY) && (int32_t)steps[XP_STEP_ENTRY].result < 0)
		return xp_fail_call(reterr, XP_E_CUPTI_NOT_AVAILABLE, 0, request->entry, "the library answered %d",
				    (int32_t)steps[XP_STEP_ENTRY].result);
	if (ran(steps, XP_STEP_UNLOAD) && tracee->cancelled)
		return xp_fail(reterr, XP_E_CANCELLED, "a signal ended the injection; it was undone");
	if (ran(steps, XP_STEP_UNLOAD))
		return xp_fail(reterr, XP_E_CUPTI_NOT_AVAILABLE, "%s",
			       steps[XP_STEP_FIND].result ? "loading took too long and was undone" : "the library lacks its entry");
	ret_result->handle = (uint64_t)steps[XP_STEP_LOAD].result;
	if (xp_tracee_read(tracee, ret_result->handle, &ret_result->base, sizeof(ret_result->base)))
		ret_result->base = 0;
	ret_result->entry_result = ran(steps, XP_STEP_ENTRY) ? (int32_t)steps[XP_STEP_ENTRY].result : 0;
	ret_result->control = request->control_name ? (int)steps[XP_STEP_CONTROL].result : -1;
	return 0;
}
