/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activities of the fake libcupti. Each thread fills a buffer of its own; FlushAll(0) gives back buffers whose work has ended, a forced
 * flush gives back all, with zero times for work that goes on: those times are lost.
 */
#include "cupti.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "layout.h"

enum { KINDS = 64, RECORDS = 4096 };

struct entry {
	uint32_t offset;
	uint64_t end_ns;
};
struct filled {
	struct filled *next;
	uint8_t *bytes;
	size_t size, used;
	struct entry *entries;
	unsigned n;
	int owned; /* a thread still adds to it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct filled *list;
static fake_request *request;
static fake_complete *complete;
static uint8_t on[KINDS];
static uint64_t n_records, dropped;
static int asked, ever_on;
static _Thread_local struct filled *mine;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

int cuptiActivityEnable(uint32_t kind)
{
	if (kind == KIND_GRAPH_TRACE)
		fake_die("GRAPH_TRACE was enabled, which kills programs with older graphs");
	if (kind >= KINDS)
		return 1;
	__atomic_store_n(&ever_on, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_exchange_n(&on[kind], 1, __ATOMIC_SEQ_CST) && kind == KIND_CONCURRENT_KERNEL)
		fake_gate_switched_on();
	fake_cupti_set("kernel_on", on[KIND_CONCURRENT_KERNEL]);
	return 0;
}

int cuptiActivityDisable(uint32_t kind)
{
	if (kind >= KINDS)
		return 1;
	if (kind == KIND_CONCURRENT_KERNEL)
		fake_gate_switch_off();
	__atomic_store_n(&on[kind], 0, __ATOMIC_SEQ_CST);
	fake_cupti_set("kernel_on", on[KIND_CONCURRENT_KERNEL]);
	return 0;
}

int cuptiActivityRegisterCallbacks(fake_request *requested, fake_complete *completed)
{
	if (fake_cupti_get("owned"))
		return 39; /* CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, as under Nsight Systems */
	request = requested;
	complete = completed;
	return 0;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *ret_dropped)
{
	*ret_dropped = __atomic_exchange_n(&dropped, 0, __ATOMIC_SEQ_CST);
	return 0;
}

static size_t record_bytes(uint32_t kind)
{
	return kind == KIND_CONCURRENT_KERNEL ? KERNEL_BYTES : kind == KIND_MEMCPY ? MEMCPY_BYTES : MEMSET_BYTES;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record)
{
	uint32_t kind;
	uint8_t *next = buffer;

	if (*record) {
		memcpy(&kind, *record, sizeof(kind));
		next = *record + record_bytes(kind);
	}
	if (next >= buffer + valid)
		return 12;
	*record = next;
	return 0;
}

static void fill(uint8_t *bytes, uint32_t kind, const struct fake_work *work)
{
	memset(bytes, 0, record_bytes(kind));
	memcpy(bytes, &kind, sizeof(kind));
	if (kind == KIND_CONCURRENT_KERNEL) {
		put_kernel_start(bytes, work->start_ns), put_kernel_end(bytes, work->end_ns), put_kernel_name(bytes, work->name);
		put_kernel_device(bytes, work->device), put_kernel_context(bytes, work->context), put_kernel_stream(bytes, work->stream);
		put_kernel_grid_x(bytes, 3), put_kernel_grid_y(bytes, 5), put_kernel_grid_z(bytes, 7), put_kernel_block_x(bytes, 11);
		put_kernel_block_y(bytes, 13), put_kernel_block_z(bytes, 17), put_kernel_correlation(bytes, work->correlation);
		put_kernel_node(bytes, work->node), put_kernel_graph(bytes, work->graph);
	} else if (kind == KIND_MEMCPY) {
		put_memcpy_start(bytes, work->start_ns), put_memcpy_end(bytes, work->end_ns), put_memcpy_bytes(bytes, work->bytes);
		put_memcpy_copy_kind(bytes, work->copy_kind), put_memcpy_src(bytes, work->src_memory),
			put_memcpy_dst(bytes, work->dst_memory);
		put_memcpy_device(bytes, work->device), put_memcpy_context(bytes, work->context), put_memcpy_stream(bytes, work->stream);
		put_memcpy_correlation(bytes, work->correlation);
	} else {
		put_memset_start(bytes, work->start_ns), put_memset_end(bytes, work->end_ns), put_memset_bytes(bytes, work->bytes);
		put_memset_value(bytes, work->value), put_memset_device(bytes, work->device), put_memset_context(bytes, work->context);
		put_memset_stream(bytes, work->stream), put_memset_correlation(bytes, work->correlation), put_memset_memory(bytes, 3);
	}
}

static struct filled *new_buffer(void)
{
	struct filled *made = calloc(1, sizeof(*made));
	size_t most;

	request(&made->bytes, &made->size, &most);
	if (!made->bytes) {
		fake_gate_no_buffer();
		free(made);
		return NULL;
	}
	__atomic_store_n(&asked, 1, __ATOMIC_SEQ_CST);
	made->entries = calloc(RECORDS, sizeof(*made->entries));
	made->owned = 1;
	made->next = list;
	list = made;
	return made;
}

static int misshape(struct fake_work *work)
{
	uint64_t n = __atomic_add_fetch(&n_records, 1, __ATOMIC_RELAXED), zero = fake_cupti_get("zero_every"),
		 negative = fake_cupti_get("negative_every"), drop = fake_cupti_get("drop_every"), end_ns;

	if (drop && n % drop == 0)
		return 1;
	if (zero && n % zero == 0)
		work->start_ns = work->end_ns = 0;
	if (negative && n % negative == 0) {
		end_ns = work->end_ns;
		work->end_ns = work->start_ns;
		work->start_ns = end_ns + 1;
	}
	return 0;
}

static int has_ended(const struct filled *filled)
{
	uint64_t now = now_ns();

	for (unsigned i = 0; i < filled->n; i++)
		if (filled->entries[i].end_ns > now)
			return 0;
	return 1;
}

/* The thread's next record opens a new buffer: its pointer is cleared by a change of what it points to. */
static void give_back(struct filled *filled)
{
	uint8_t *bytes = filled->bytes;
	size_t size = filled->size, used = filled->used;

	filled->used = filled->n = 0;
	filled->bytes = NULL;
	filled->size = 0;
	pthread_mutex_unlock(&lock);
	complete(NULL, 0, bytes, size, used);
	pthread_mutex_lock(&lock);
}

/* Full ones go back by themselves as soon as their work has ended. */
static void give_back_full(void)
{
	for (struct filled *filled = list; filled; filled = filled->next)
		if (filled->bytes && !filled->owned && has_ended(filled))
			give_back(filled);
}

void fake_record(const struct fake_work *given)
{
	static const uint32_t kinds[] = {
		[FAKE_KERNEL] = KIND_CONCURRENT_KERNEL, [FAKE_MEMCPY] = KIND_MEMCPY, [FAKE_MEMSET] = KIND_MEMSET
	};
	struct fake_work work = *given;
	uint32_t kind = kinds[given->kind];
	uint64_t until = now_ns() + fake_cupti_get("residual_ns");

	/* What a kind once on leaves on every launch. */
	while (__atomic_load_n(&ever_on, __ATOMIC_SEQ_CST) && now_ns() < until)
		;

	work.start_ns += fake_cupti_get("clock_step_ns");
	work.end_ns += fake_cupti_get("clock_step_ns");
	if (!__atomic_load_n(&on[kind], __ATOMIC_SEQ_CST) || fake_cupti_get("dead"))
		return;
	pthread_mutex_lock(&lock);
	if (mine && (mine->used + record_bytes(kind) > mine->size || mine->n == RECORDS)) {
		mine->owned = 0;
		mine = NULL;
		give_back_full();
	}
	if (!mine)
		mine = new_buffer();
	if (!mine || misshape(&work)) {
		__atomic_add_fetch(&dropped, 1, __ATOMIC_RELAXED);
	} else {
		fill(mine->bytes + mine->used, kind, &work);
		mine->entries[mine->n++] = (struct entry){ (uint32_t)mine->used, given->end_ns };
		mine->used += record_bytes(kind);
	}
	pthread_mutex_unlock(&lock);
}

static void forget_times(struct filled *filled)
{
	uint64_t now = now_ns();

	for (unsigned i = 0; i < filled->n; i++)
		if (filled->entries[i].end_ns > now)
			memset(filled->bytes + filled->entries[i].offset + 16, 0, 16);
}

int cuptiActivityFlushAll(uint32_t flag)
{
	if (!__atomic_load_n(&asked, __ATOMIC_SEQ_CST))
		fake_die("a flush before any buffer was asked for, which can hang");
	usleep((unsigned)fake_cupti_get("flush_ms") * 1000);
	pthread_mutex_lock(&lock);
	for (struct filled *filled = list; filled; filled = filled->next) {
		if (!filled->bytes || (!flag && !has_ended(filled)))
			continue;
		if (flag)
			forget_times(filled);
		give_back(filled);
	}
	pthread_mutex_unlock(&lock);
	return 0;
}
