/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of NVTX: the program of tests/targets/nvtx, its plugins, and captures of ranges through the real agent. */
#ifndef XP_TESTS_AGENT_NVTX_H
#define XP_TESTS_AGENT_NVTX_H

#include "agent_app.h"

#include "engine/agent_sites.h"

#define NVTX XP_BUILD_DIR "/tests/targets/nvtx/"

/* cmocka's skip does not return. */
static inline void need_headers(void)
{
	if (!access(NVTX "app", X_OK))
		return;
	print_message("SKIP: built without NVTX headers (make setup fetches them)\n");
	skip();
}

static inline void start_nvtx(struct app *app)
{
	need_headers();
	spawn_program(app, NVTX "app", NULL);
	assert_int_equal(tell(app, "agent " AGENT), 0);
	connect_agent(app);
}

/* A copy of the plugin's file, so that each is a library of its own. */
static inline unsigned load_plugin(struct app *app, int major)
{
	static unsigned n;
	char path[256], command[1024];
	unsigned index;

	snprintf(path, sizeof(path), XP_BUILD_DIR "/tests/nvtx-%d-%u.so", getpid(), n++);
	snprintf(command, sizeof(command), "cp " NVTX "plugin%d.so %s", major, path);
	assert_int_equal(system(command), 0);
	index = (unsigned)tell(app, "load %s", path);
	unlink(path);
	return index;
}

static inline void want_ranges(struct app *app, uint32_t match, const char *text)
{
	want(app, XP_CAPTURE_NVTX_START, match, text);
	want(app, XP_CAPTURE_NVTX_END, match, text);
}

static inline void look_for_copies(struct app *app)
{
	xp_auto_err err = { 0 };

	assert_int_equal(xp_target_maps_refresh(app->target, &err), 0);
	xp_agent_sites_update(app->link, app->target);
}

static inline void arm_ranges(struct app *app)
{
	xp_auto_err err = { 0 };

	assert_int_equal(xp_agent_link_acquire(app->link, "test", &err), 0);
	assert_int_equal(xp_target_maps_refresh(app->target, &err), 0);
	xp_agent_sites_prune(app->link, app->target);
	xp_agent_sites_update(app->link, app->target);
	arm(app);
}

static inline struct xp_agent_nvtx nvtx_of(const struct app *app)
{
	return xp_agent_link_nvtx(app->link);
}

static inline uint64_t range_id(const struct xp_capture_event_5 *record)
{
	return (uint64_t)record->event.grid[1] << 32 | record->event.grid[0];
}

static inline void name_of(const struct app *app, uint32_t id, char text[XP_AGENT_NVTX_TEXT])
{
	uint32_t length;

	assert_true(xp_agent_link_nvtx_name(app->link, id, text, &length));
}

/* How many records of this kind have this name. */
static inline unsigned named(const struct app *app, uint32_t kind, const char *name)
{
	unsigned n = 0;

	for (unsigned i = 0; i < app->n; i++) {
		char text[XP_AGENT_NVTX_TEXT];

		if (app->records[i].event.kind != kind)
			continue;
		name_of(app, app->records[i].name, text);
		n += !strcmp(text, name);
	}
	return n;
}

#define assert_ranges(program, count)                                               \
	do {                                                                        \
		assert_int_equal((program)->of_kind[XP_CAPTURE_NVTX_START], count); \
		assert_int_equal((program)->of_kind[XP_CAPTURE_NVTX_END], count);   \
	} while (0)

#endif
