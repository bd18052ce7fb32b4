/* SPDX-License-Identifier: Apache-2.0 */
/* Reading of what the system call programs counted. In: ring, iterator, table of cells. Out: calls of the sink. No state of its own. */
#include "engine/bpf_syscalls_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "engine/bpf_common.h"

enum { BATCH = 1024, BATCH_MAX = 65536 };

/* An ended thread's cell is complete, so it leaves the table: threads that come and go do not fill it. */
static int take_cell(struct xp_bpf_syscalls *engine, const struct xp_sys_key *key)
{
	int fd = bpf_map__fd(engine->skel->maps.cells);
	struct xp_sys_cell cell;

	if (bpf_map_lookup_elem(fd, key, &cell))
		return 0; /* the number has no cell: it was dropped */
	int rc = engine->sink->cell(engine->sink->arg, key, &cell, engine->sink_err);
	bpf_map_delete_elem(fd, key);
	return rc;
}

int xp_bpf_syscalls_take_ended(void *opaque, void *record, size_t size)
{
	struct xp_bpf_syscalls *engine = opaque;
	struct xp_sys_thread thread;

	if (size < sizeof(thread))
		return xp_fail(engine->sink_err, XP_E_INTERNAL, "a thread's record has %zu bytes", size);
	memcpy(&thread, record, sizeof(thread));
	int rc = engine->sink->thread(engine->sink->arg, &thread, engine->sink_err);
	for (uint32_t nr = 0; nr < XP_SYS_NATIVE && !rc; nr++)
		if (thread.native[nr / 64] >> nr % 64 & 1)
			rc = take_cell(engine, &(struct xp_sys_key){ .thread = thread.thread, .nr = nr });
	return rc;
}

int xp_bpf_syscalls_drain(struct xp_bpf_syscalls *engine, const struct xp_bpf_syscalls_sink *sink, struct xp_err *reterr)
{
	xp_auto_err err = { 0 };

	engine->sink = sink;
	engine->sink_err = &err;
	int rc = ring_buffer__consume(engine->ring);
	engine->sink = NULL;
	engine->sink_err = NULL;
	if (err.code)
		return xp_err_move(reterr, &err);
	if (rc < 0)
		return xp_bpf_fail(reterr, -rc, "ring_buffer__consume", "ended threads");
	return 0;
}

static int open_iterator(struct bpf_program *program, int *ret_fd, struct xp_err *reterr)
{
	struct bpf_link *link = bpf_program__attach_iter(program, NULL);

	if (!link)
		return xp_bpf_fail(reterr, errno, "bpf(BPF_LINK_CREATE)", bpf_program__name(program));
	int fd = bpf_iter_create(bpf_link__fd(link));
	int errnum = errno;

	bpf_link__destroy(link); /* the iterator holds its own reference */
	if (fd < 0)
		return xp_bpf_fail(reterr, errnum, "bpf(BPF_ITER_CREATE)", bpf_program__name(program));
	*ret_fd = fd;
	return 0;
}

int xp_bpf_syscalls_adopt(struct xp_bpf_syscalls *engine, struct xp_err *reterr)
{
	xp_auto_fd fd = -1;
	char nothing[64];
	int rc = open_iterator(engine->skel->progs.xp_adopt, &fd, reterr);

	if (rc)
		return rc;
	if (read(fd, nothing, sizeof(nothing)) < 0)
		return xp_bpf_fail(reterr, errno, "read", "iterator over tasks");
	return 0;
}

static int list_threads(struct xp_bpf_syscalls *engine, const struct xp_bpf_syscalls_sink *sink, struct xp_err *reterr)
{
	xp_auto_fd fd = -1;
	struct xp_sys_thread thread;
	int rc = open_iterator(engine->skel->progs.xp_list, &fd, reterr);
	size_t have = 0;

	while (!rc) {
		ssize_t got = read(fd, (char *)&thread + have, sizeof(thread) - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return xp_bpf_fail(reterr, errno, "read", "iterator over tasks");
		if (!got)
			break;
		have += (size_t)got;
		if (have < sizeof(thread))
			continue;
		have = 0;
		rc = sink->thread(sink->arg, &thread, reterr);
	}
	return rc;
}

struct batch {
	struct xp_sys_key *keys;
	struct xp_sys_cell *cells;
	uint32_t size;
};

static void free_batch(struct batch *batch)
{
	free(batch->keys);
	free(batch->cells);
	*batch = (struct batch){ 0 };
}

static int grow_batch(struct batch *batch, uint32_t size, struct xp_err *reterr)
{
	free_batch(batch);
	batch->keys = calloc(size, sizeof(*batch->keys));
	batch->cells = calloc(size, sizeof(*batch->cells));
	batch->size = size;
	return batch->keys && batch->cells ? 0 : xp_fail_sys(reterr, ENOMEM, "calloc", "%u cells of system calls", size);
}

static int list_cells(struct xp_bpf_syscalls *engine, const struct xp_bpf_syscalls_sink *sink, struct xp_err *reterr)
{
	__attribute__((cleanup(free_batch))) struct batch batch = { 0 };
	int fd = bpf_map__fd(engine->skel->maps.cells), rc = grow_batch(&batch, BATCH, reterr);
	uint32_t position = 0;
	bool first = true;

	while (!rc) {
		uint32_t n = batch.size;
		int failed = bpf_map_lookup_batch(fd, first ? NULL : &position, &position, batch.keys, batch.cells, &n, NULL);
		int errnum = failed ? errno : 0;

		/* One bucket holds more than the buffer: nothing was read, ask again with more room. */
		if (errnum == ENOSPC && batch.size < BATCH_MAX) {
			rc = grow_batch(&batch, batch.size * 4, reterr);
			continue;
		}
		if (errnum && errnum != ENOENT)
			return xp_bpf_fail(reterr, errnum, "bpf(BPF_MAP_LOOKUP_BATCH)", "system call cells");
		first = false;
		for (uint32_t i = 0; i < n && !rc; i++)
			rc = sink->cell(sink->arg, &batch.keys[i], &batch.cells[i], reterr);
		if (errnum == ENOENT)
			break;
	}
	return rc;
}

int xp_bpf_syscalls_collect(struct xp_bpf_syscalls *engine, const struct xp_bpf_syscalls_sink *sink, struct xp_err *reterr)
{
	int rc = xp_bpf_syscalls_drain(engine, sink, reterr);

	if (!rc)
		rc = list_threads(engine, sink, reterr);
	if (!rc)
		rc = list_cells(engine, sink, reterr);
	return rc;
}
