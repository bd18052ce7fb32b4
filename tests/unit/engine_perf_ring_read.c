/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a perf ring that was written by hand: over the ring's end, of every kind, cut short, with sizes that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../src/engine/perf_ring_read.c"

enum { DATA = 65536, PID = 71, TID = 73, STACK = 48 };

struct scene {
	struct xp_perf_ring ring;
	struct xp_perf_cpu cpu;
	uint8_t *memory;
	uint64_t head;
	unsigned samples;
	struct xp_rec_sample last;
	uint8_t last_tail[4096]; /* what lies behind the head */
};

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	scene->memory = calloc(1, 4096 + DATA);
	scene->cpu.page = (void *)scene->memory;
	scene->cpu.page->data_offset = 4096;
	scene->cpu.page->data_size = DATA;
	scene->ring = (struct xp_perf_ring){ .pid = PID, .cpus = &scene->cpu, .n_cpus = 1 };
	scene->ring.attr.sample_type =
		PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	scene->ring.record = malloc(65536);
	scene->ring.sample = malloc(sizeof(struct xp_rec_sample) + 65536);
	*state = scene;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	xp_map_done(&scene->ring.tids);
	free(scene->ring.names);
	free(scene->ring.record);
	free(scene->ring.sample);
	free(scene->memory);
	free(scene);
	return 0;
}

static void put(struct scene *scene, uint32_t type, uint16_t misc, const void *body, size_t bytes)
{
	struct perf_event_header header = { .type = type, .misc = misc, .size = (uint16_t)(sizeof(header) + bytes) };
	uint8_t record[65536];

	memcpy(record, &header, sizeof(header));
	memcpy(record + sizeof(header), body, bytes);
	for (size_t i = 0; i < header.size; i++)
		scene->memory[4096 + (scene->head + i) % DATA] = record[i];
	scene->head += header.size;
	scene->cpu.page->data_head = scene->head;
}

static int keep(void *arg, void *record, size_t size)
{
	struct scene *scene = arg;

	assert_in_range(size, sizeof(scene->last), sizeof(scene->last) + sizeof(scene->last_tail));
	memcpy(&scene->last, record, sizeof(scene->last));
	memcpy(scene->last_tail, (uint8_t *)record + sizeof(scene->last), size - sizeof(scene->last));
	scene->samples++;
	return 0;
}

static int refuse(void *arg, void *record, size_t size)
{
	return -1;
}

static void read_all(struct scene *scene)
{
	xp_auto_err err = { 0 };

	assert_int_equal(xp_perf_ring_read(&scene->ring, keep, scene, &err), 0);
	assert_int_equal(scene->cpu.page->data_tail, scene->head);
}

/* ids, time, chain of 4, abi, bp, sp, ip, stack size, stack, filled */
static void put_sample(struct scene *scene, uint16_t misc, uint64_t filled)
{
	uint64_t body[64] = { (uint64_t)TID << 32 | PID, 1234567 };
	size_t n = 2;

	body[n++] = 4;
	body[n++] = (uint64_t)PERF_CONTEXT_KERNEL;
	body[n++] = 0xffffffff81000011;
	body[n++] = 0xffffffff81000022;
	body[n++] = 0x401000; /* a user address has no place among kernel frames */
	body[n++] = PERF_SAMPLE_REGS_ABI_64;
	body[n++] = 0x7ffc0030;
	body[n++] = 0x7ffc0000;
	body[n++] = 0x401234;
	body[n++] = STACK;
	for (size_t i = 0; i < STACK / 8; i++)
		body[n++] = 0x1111 * (i + 1);
	body[n++] = filled;
	put(scene, PERF_RECORD_SAMPLE, misc, body, n * 8);
}

static void a_sample_is_whole(void **state)
{
	struct scene *scene = *state;
	uint64_t words[2 + STACK / 8];

	put_sample(scene, PERF_RECORD_MISC_KERNEL, STACK - 8);
	read_all(scene);
	assert_int_equal(scene->samples, 1);
	assert_int_equal(scene->last.pid, PID);
	assert_int_equal(scene->last.tid, TID);
	assert_int_equal(scene->last.t_ns, 1234567);
	assert_int_equal(scene->last.ip, 0x401234);
	assert_int_equal(scene->last.sp, 0x7ffc0000);
	assert_int_equal(scene->last.bp, 0x7ffc0030);
	assert_int_equal(scene->last.flags, XP_SAMPLE_IN_KERNEL);
	assert_int_equal(scene->last.n_kernel, 2);
	assert_int_equal(scene->last.stack_bytes, STACK - 8);
	assert_int_equal(scene->last.size, sizeof(scene->last) + 16 + STACK - 8);
	memcpy(words, scene->last_tail, sizeof(words));
	assert_int_equal(words[0], 0xffffffff81000011);
	assert_int_equal(words[1], 0xffffffff81000022);
	assert_int_equal(words[2], 0x1111);
	assert_int_equal(words[6], 0x5555);
	assert_int_equal(scene->ring.kernel, 1);
}

static void a_full_copy_says_so(void **state)
{
	struct scene *scene = *state;

	put_sample(scene, PERF_RECORD_MISC_USER, STACK);
	read_all(scene);
	assert_int_equal(scene->last.flags, XP_SAMPLE_STACK_SHORT);
}

/* Several times round the ring, so that records begin at every distance from its end. */
static void records_go_over_the_end(void **state)
{
	struct scene *scene = *state;

	for (unsigned i = 0; i < 1009; i++) {
		put_sample(scene, PERF_RECORD_MISC_USER, STACK - 8 * (i % 5));
		read_all(scene);
		assert_int_equal(scene->last.stack_bytes, STACK - 8 * (i % 5));
		assert_memory_equal(scene->last_tail + 16, ((const uint64_t[]){ 0x1111, 0x2222 }), 16);
	}
	assert_int_equal(scene->samples, 1009);
	assert_int_equal(scene->ring.samples, 1009);
}

static void threads_are_booked(void **state)
{
	struct scene *scene = *state;
	const uint32_t born[] = { PID, PID, TID, PID, 0, 0 }, child[] = { 79, PID, 79, PID, 0, 0 };
	struct {
		uint32_t pid, tid;
		char text[16];
	} comm = { PID, TID, "worker-1" };

	put(scene, PERF_RECORD_FORK, 0, born, sizeof(born));
	put(scene, PERF_RECORD_FORK, 0, child, sizeof(child));
	put(scene, PERF_RECORD_COMM, 0, &comm, sizeof(comm));
	put_sample(scene, PERF_RECORD_MISC_USER, 8);
	put(scene, PERF_RECORD_EXIT, 0, born, sizeof(born));
	put(scene, PERF_RECORD_EXIT, 0, child, sizeof(child));
	read_all(scene);
	assert_int_equal(scene->ring.started, 1);
	assert_int_equal(scene->ring.ended, 1);
	assert_int_equal(scene->ring.children, 1);
	assert_int_equal(scene->ring.observed, 1);
	assert_int_equal(scene->ring.attached, 1);
	assert_string_equal(scene->last.comm, "worker-1");
}

static void losses_are_booked(void **state)
{
	struct scene *scene = *state;
	const uint64_t lost[] = { 5, 97 }, throttle[] = { 0, 0, 0 };

	put(scene, PERF_RECORD_LOST, 0, lost, sizeof(lost));
	put(scene, PERF_RECORD_THROTTLE, 0, throttle, sizeof(throttle));
	read_all(scene);
	assert_int_equal(scene->ring.lost_records, 97);
	assert_int_equal(scene->ring.throttles, 1);
	scene->ring.attr.read_format = PERF_FORMAT_LOST; /* then each event tells, and the record would count twice */
	put(scene, PERF_RECORD_LOST, 0, lost, sizeof(lost));
	read_all(scene);
	assert_int_equal(scene->ring.lost_records, 97);
}

static void sizes_that_lie(void **state)
{
	struct scene *scene = *state;
	uint64_t body[64] = { (uint64_t)TID << 32 | PID, 1, 1u << 30 }; /* a chain longer than the record */
	xp_auto_err err = { 0 };

	put(scene, PERF_RECORD_SAMPLE, 0, body, sizeof(body));
	read_all(scene);
	assert_int_equal(scene->last.stack_bytes, 0);
	body[2] = 0;
	body[3] = PERF_SAMPLE_REGS_ABI_NONE;
	body[4] = sizeof(body); /* more stack than the record holds */
	put(scene, PERF_RECORD_SAMPLE, 0, body, sizeof(body));
	read_all(scene);
	assert_int_equal(scene->last.stack_bytes, 0);
	assert_int_equal(scene->last.flags, XP_SAMPLE_NO_USER);
	put(scene, PERF_RECORD_SAMPLE, 0, body, 8); /* ends behind the ids */
	read_all(scene);
	assert_int_equal(scene->samples, 3);
	assert_int_equal(scene->last.tid, TID);
	scene->cpu.page->data_head += 4; /* half a header */
	memset(scene->memory + 4096 + scene->head % DATA, 0, 8);
	assert_int_equal(xp_perf_ring_read(&scene->ring, keep, scene, &err), -XP_E_INTERNAL);
}

static void a_refusal_stops_the_reading(void **state)
{
	struct scene *scene = *state;
	xp_auto_err err = { 0 };

	put_sample(scene, 0, 8);
	put_sample(scene, 0, 8);
	assert_int_equal(xp_perf_ring_read(&scene->ring, refuse, NULL, &err), 0);
	assert_true(scene->cpu.page->data_tail < scene->head);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_sample_is_whole, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_full_copy_says_so, set_up, tear_down),
		cmocka_unit_test_setup_teardown(records_go_over_the_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(threads_are_booked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(losses_are_booked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sizes_that_lie, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_refusal_stops_the_reading, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
