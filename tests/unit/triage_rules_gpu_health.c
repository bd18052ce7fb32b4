// SPDX-License-Identifier: Apache-2.0
/* States of a GPU -> findings: at the bound and just below it, values that are not told, several devices, what to do next. */
#include "triage_scene.h"

#include "engine/nvml.h"

#define UUID "GPU-00000000-0000-0000-0000-000000000000"
#define U32(value) (struct xp_opt_u32) XP_SOME(value)
#define U64(value) (struct xp_opt_u64) XP_SOME(value)
#define F64(value) (struct xp_opt_f64) XP_SOME(value)

struct health_scene {
	struct scene *s;
	struct xp_gpu_device devices[2];
	struct xp_gpu_clock_event events[XP_CLOCK_REASON_COUNT];
	struct xp_gpu_health health;
};

static int set_up_health(void **state)
{
	struct health_scene *h = calloc(1, sizeof(*h));
	void *scene;

	set_up(&scene);
	h->s = scene;
	for (unsigned i = 0; i < XP_CLOCK_REASON_COUNT; i++)
		h->events[i] = (struct xp_gpu_clock_event){ .reason = xp_clock_reason_names[i], .source = XP_CLOCK_COUNTERS };
	h->devices[0] = (struct xp_gpu_device){
		.index = 3,
		.uuid = UUID,
		.readings = 7,
		.utilization = F64(0.9),
		.memory_used = U64(1),
		.memory_total = U64(100),
		.pcie_generation = U32(5),
		.pcie_generation_max = U32(5),
		.pcie_width = U32(16),
		.pcie_width_max = U32(16),
		.ecc_uncorrected = U64(5),
		.ecc_uncorrected_new = U64(0),
		.remap_pending = XP_SOME(false),
		.clock_events = h->events,
		.n_clock_events = XP_CLOCK_REASON_COUNT,
	};
	h->devices[1] = (struct xp_gpu_device){ .index = 5, .uuid = "GPU-1" }; /* tells nothing at all */
	h->health = (struct xp_gpu_health){ .devices = h->devices, .n_devices = 2 };
	h->s->input.gpu = &h->health;
	h->s->input.sources[XP_SOURCE_GPU] = xp_source_available(XP_SOURCE_GPU);
	*state = h;
	return 0;
}

static int tear_down_health(void **state)
{
	struct health_scene *h = *state;
	void *scene = h->s;

	free(h);
	return tear_down(&scene);
}

static const struct xp_next_action *next(const struct health_scene *h)
{
	return h->s->found.at[0]->next;
}

static const char *evidence(const struct health_scene *h, const char *key)
{
	json_t *value = json_object_get(h->s->found.at[0]->evidence, key);
	xp_auto_text text = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;

	return text ? xp_arena_str(h->s->arena, text) : "none";
}

static void healthy(void **state)
{
	struct health_scene *h = *state;

	assert_string_equal(codes(h->s), "");
}

static void unavailable(void **state)
{
	struct health_scene *h = *state;

	h->events[XP_CLOCK_SW_POWER_CAP].ns = 900 * MS;
	h->s->input.gpu = NULL;
	h->s->input.sources[XP_SOURCE_GPU] = xp_source_unavailable(XP_SOURCE_GPU, XP_REASON_ABSENT, NULL);
	assert_string_equal(codes(h->s), "");
}

/* Every reason has its own cure. */
static void clock_limited(void **state)
{
	struct health_scene *h = *state;
	static const char *const actions[XP_CLOCK_REASON_COUNT] = {
		[XP_CLOCK_SW_POWER_CAP] = "gpu_power_cap", [XP_CLOCK_HW_SLOWDOWN] = "gpu_cooling",
		[XP_CLOCK_SYNC_BOOST] = "gpu_power_cap",   [XP_CLOCK_SW_THERMAL] = "gpu_cooling",
		[XP_CLOCK_HW_THERMAL] = "gpu_cooling",	   [XP_CLOCK_HW_POWER_BRAKE] = "gpu_power_cap",
	};

	for (unsigned i = 0; i < XP_CLOCK_REASON_COUNT; i++) {
		h->events[i].ns = 50 * MS - 1;
		assert_string_equal(codes(h->s), "");
		h->events[i].ns = 50 * MS;
		assert_string_equal(codes(h->s), "gpu_clock_limited");
		assert_true(share(h->s, 0) == 0.05);
		assert_string_equal(h->s->found.at[0]->subject, "3");
		assert_string_equal(next(h)->code, actions[i]);
		assert_string_equal(next(h)->object, UUID);
		assert_string_equal(next(h)->command[2], UUID);
		assert_int_equal(h->s->found.at[0]->confidence, XP_MEASURED);
		h->events[i].source = XP_CLOCK_SNAPSHOTS;
		codes(h->s);
		assert_int_equal(h->s->found.at[0]->confidence, XP_ESTIMATED);
		h->events[i].ns = 0;
	}
}

static void longest_reason_is_told(void **state)
{
	struct health_scene *h = *state;

	h->events[XP_CLOCK_SW_POWER_CAP].ns = 300 * MS;
	h->events[XP_CLOCK_HW_SLOWDOWN].ns = 700 * MS;
	assert_string_equal(codes(h->s), "gpu_clock_limited");
	assert_string_equal(evidence(h, "reason"), "\"hw_slowdown\"");
	h->events[XP_CLOCK_HW_THERMAL].ns = 400 * MS; /* says why hardware slowed down */
	codes(h->s);
	assert_string_equal(evidence(h, "reason"), "\"hw_thermal\"");
	assert_true(share(h->s, 0) == 0.4);
	h->devices[1].clock_events = h->events;
	h->devices[1].n_clock_events = XP_CLOCK_REASON_COUNT;
	assert_string_equal(codes(h->s), "gpu_clock_limited gpu_clock_limited"); /* devices are judged one by one */
	h->devices[0].n_clock_events = h->devices[1].n_clock_events = 0;
	assert_string_equal(codes(h->s), "");
}

static void link(void **state)
{
	struct health_scene *h = *state;

	h->devices[0].pcie_generation = U32(4);
	h->devices[0].utilization = F64(0.2);
	assert_string_equal(codes(h->s), ""); /* an idle GPU lowers it */
	h->devices[0].utilization = (struct xp_opt_f64){ 0 };
	assert_string_equal(codes(h->s), ""); /* MIG tells no load */
	h->devices[0].utilization = F64(0.21);
	assert_string_equal(codes(h->s), "gpu_link_degraded");
	assert_false(h->s->found.at[0]->window_share.set);
	assert_string_equal(next(h)->code, "gpu_link");
	h->devices[0].pcie_generation = U32(5);
	h->devices[0].pcie_width = U32(8);
	h->devices[0].utilization = F64(0);
	assert_string_equal(codes(h->s), "gpu_link_degraded"); /* lanes do not go with the load */
	assert_string_equal(evidence(h, "pcie_width"), "8");
	h->devices[0].pcie_width_max = (struct xp_opt_u32){ 0 };
	assert_string_equal(codes(h->s), "");
}

static void memory(void **state)
{
	struct health_scene *h = *state;

	h->devices[0].memory_total = U64(100000);
	h->devices[0].memory_used = U64(94999);
	assert_string_equal(codes(h->s), "");
	h->devices[0].memory_used = U64(95000);
	assert_string_equal(codes(h->s), "gpu_memory_pressure");
	assert_string_equal(evidence(h, "process_memory"), "null");
	assert_string_equal(next(h)->code, "gpu_memory");
	h->devices[0].memory_total = U64(0);
	assert_string_equal(codes(h->s), "");
}

static void errors(void **state)
{
	struct health_scene *h = *state;

	h->devices[0].ecc_uncorrected_new = U64(1);
	assert_string_equal(codes(h->s), "gpu_errors");
	assert_string_equal(next(h)->code, "gpu_health");
	h->devices[0].ecc_uncorrected_new = (struct xp_opt_u64){ 0 };
	assert_string_equal(codes(h->s), ""); /* five from before the window are no news */
	h->devices[0].remap_pending.v = true;
	assert_string_equal(codes(h->s), "gpu_errors");
	h->devices[0].remap_pending = (struct xp_opt_bool){ 0 };
	assert_string_equal(codes(h->s), "");
	h->devices[0].lost = true;
	h->devices[0].note = "nvmlDeviceGetPowerUsage gave status 15";
	assert_string_equal(codes(h->s), "gpu_errors");
	assert_non_null(strstr(h->s->found.at[0]->message, "status 15"));
}

#define HEALTH_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up_health, tear_down_health)

int main(void)
{
	const struct CMUnitTest tests[] = { HEALTH_TEST(healthy),	HEALTH_TEST(unavailable),
					    HEALTH_TEST(clock_limited), HEALTH_TEST(longest_reason_is_told),
					    HEALTH_TEST(link),		HEALTH_TEST(memory),
					    HEALTH_TEST(errors) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
