// SPDX-License-Identifier: Apache-2.0
/* Readings in a row -> numbers of a device. Fault: a GPU that was throttled between two looks showed as unthrottled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "inventory/gpu_tally.h"

#define MS 1000000ull
#define WINDOW (1000 * MS)
#define U32(value) (struct xp_opt_u32) XP_SOME(value)
#define U64(value) (struct xp_opt_u64) XP_SOME(value)
#define F64(value) (struct xp_opt_f64) XP_SOME(value)

static struct xp_nvml_reading at(uint64_t ms)
{
	return (struct xp_nvml_reading){ .t_ns = 71 * MS + ms * MS };
}

static struct xp_gpu_device build(const struct xp_gpu_tally *tally, struct xp_arena *arena)
{
	struct xp_gpu_device device = { 0 };

	xp_gpu_tally_build(tally, WINDOW, arena, &device);
	return device;
}

static const struct xp_gpu_clock_event *event(const struct xp_gpu_device *device, enum xp_clock_reason reason)
{
	for (size_t i = 0; i < device->n_clock_events; i++)
		if (!strcmp(device->clock_events[i].reason, xp_clock_reason_names[reason]))
			return &device->clock_events[i];
	return NULL;
}

static void counters_over_the_window(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_gpu_tally tally = { 0 };

	for (unsigned i = 0; i < 3; i++) {
		struct xp_nvml_reading r = at(500 * i);

		r.reasons = U32(0); /* no reading hits it */
		r.reason_ns[XP_CLOCK_SW_THERMAL] = U64(7000 * MS + i * 53 * MS);
		xp_gpu_tally_add(&tally, &r);
	}
	struct xp_gpu_device device = build(&tally, arena);

	assert_int_equal(device.readings, 3);
	assert_int_equal(device.span_ns, 1000 * MS);
	assert_int_equal(device.n_clock_events, XP_CLOCK_REASON_COUNT);
	assert_int_equal(event(&device, XP_CLOCK_SW_THERMAL)->ns, 106 * MS);
	assert_int_equal(event(&device, XP_CLOCK_SW_THERMAL)->source, XP_CLOCK_COUNTERS);
	assert_int_equal(event(&device, XP_CLOCK_SW_POWER_CAP)->ns, 0);
	assert_int_equal(event(&device, XP_CLOCK_SW_POWER_CAP)->source, XP_CLOCK_SNAPSHOTS);
	assert_int_equal(device.clock_event_ns[XP_CLOCK_SW_THERMAL].n, 106 * MS);
}

static void snapshots_without_counters(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_gpu_tally tally = { 0 };

	for (unsigned i = 0; i < 5; i++) {
		struct xp_nvml_reading r = at(200 * i);

		r.reasons = U32(i < 2 ? 1u << XP_CLOCK_SW_POWER_CAP : 0);
		r.reason_ns[XP_CLOCK_SW_POWER_CAP] = U64(900 - i); /* set anew: runs backwards */
		xp_gpu_tally_add(&tally, &r);
	}
	struct xp_gpu_device device = build(&tally, arena);

	assert_int_equal(event(&device, XP_CLOCK_SW_POWER_CAP)->hits, 2);
	assert_int_equal(event(&device, XP_CLOCK_SW_POWER_CAP)->ns, 400 * MS);
	assert_int_equal(event(&device, XP_CLOCK_SW_POWER_CAP)->source, XP_CLOCK_SNAPSHOTS);
}

static void nothing_is_told(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_gpu_tally tally = { 0 };
	struct xp_nvml_reading r = at(0);

	xp_gpu_tally_add(&tally, &r);
	struct xp_gpu_device device = build(&tally, arena);

	assert_int_equal(device.n_clock_events, 0);
	assert_false(device.utilization.set || device.memory_used.set || device.power_mw.set || device.sm_clock_mhz.set ||
		     device.pcie_width.set || device.ecc_uncorrected.set || device.ecc_uncorrected_new.set || device.remap_pending.set);
	assert_null(device.note);
}

/* The first reading tells of the time before the window. */
static void means_and_extremes(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	static const unsigned use[] = { 7, 40, 80 }, watts[] = { 90, 300, 500 }, celsius[] = { 40, 71, 61 };
	struct xp_gpu_tally tally = { 0 };

	for (unsigned i = 0; i < 3; i++) {
		struct xp_nvml_reading r = at(500 * i);

		r.utilization = F64(use[i] / 100.0);
		r.power_mw = U64(watts[i] * 1000);
		r.temperature_c = U32(celsius[i]);
		r.memory_used = U64(100 - i);
		r.pcie_generation = U32(i == 1 ? 5 : 1);
		xp_gpu_tally_add(&tally, &r);
		if (i == 0)
			assert_int_equal(build(&tally, arena).power_mw.v, 90000); /* better than nothing */
	}
	struct xp_gpu_device device = build(&tally, arena);

	assert_true(device.utilization.v > 0.599 && device.utilization.v < 0.601);
	assert_int_equal(device.power_mw.v, 400000);
	assert_int_equal(device.temperature_c.v, 71);
	assert_int_equal(device.memory_used.v, 100);
	assert_int_equal(device.pcie_generation.v, 5);
}

/* Short readings leave out what hardly changes. */
static void full_members_stay(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_gpu_tally tally = { 0 };

	for (unsigned i = 0; i < 3; i++) {
		struct xp_nvml_reading r = at(500 * i);

		if (i != 1) {
			r.power_limit_mw = U64(700000);
			r.pcie_width_max = U32(16);
			r.ecc_uncorrected = U64(5 + 4 * i);
			r.remap_pending = (struct xp_opt_bool)XP_SOME(i == 2);
		}
		xp_gpu_tally_add(&tally, &r);
	}
	struct xp_gpu_device device = build(&tally, arena);

	assert_int_equal(device.power_limit_mw.v, 700000);
	assert_int_equal(device.pcie_width_max.v, 16);
	assert_int_equal(device.ecc_uncorrected.v, 13);
	assert_int_equal(device.ecc_uncorrected_new.v, 8);
	assert_true(device.remap_pending.v);
}

static void a_lost_device(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_gpu_tally tally = { 0 }, never = { 0 };
	struct xp_nvml_reading r = at(0), gone = at(500);

	gone.fault = (struct xp_nvml_fault){ .kind = XP_NVML_STATUS, .status = 15, .call = "nvmlDeviceGetPowerUsage" };
	r.power_mw = U64(311000);
	xp_gpu_tally_add(&tally, &r);
	xp_gpu_tally_add(&tally, &gone);
	xp_gpu_tally_add(&never, &gone);
	struct xp_gpu_device device = build(&tally, arena);

	assert_true(device.lost);
	assert_string_equal(device.note, "nvmlDeviceGetPowerUsage gave status 15");
	assert_int_equal(device.power_mw.v, 311000);
	assert_int_equal(never.readings, 0);
	assert_false(never.lost);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(counters_over_the_window), cmocka_unit_test(snapshots_without_counters),
					    cmocka_unit_test(nothing_is_told),		cmocka_unit_test(means_and_extremes),
					    cmocka_unit_test(full_members_stay),	cmocka_unit_test(a_lost_device) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
