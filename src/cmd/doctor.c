/* SPDX-License-Identifier: Apache-2.0 */
/* `xprobe doctor`: tries every right on xprobe itself and tells the least change for what is missing. Changes nothing. No state. */
#include "cmd/doctor.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "cmd/command.h"
#include "engine/floor.h"
#include "inventory/cgroup_find.h"

enum { FLOOR_DEADLINE_MS = 1000 };

/* Probes on ourselves could end us where a seccomp filter kills on the system call that return probes use, so a child is probed. */
static ssize_t floor_child(void *arg, char *reply, size_t size)
{
	struct xp_floors floors;
	xp_auto_err err = { 0 };

	if (size < sizeof(floors) || xp_floor_measure(&floors, &err))
		return -1;
	memcpy(reply, &floors, sizeof(floors));
	return sizeof(floors);
}

static struct xp_probe_floors measure_floors(void)
{
	struct xp_floors floors = { 0 };

	if (xp_child_call(floor_child, NULL, FLOOR_DEADLINE_MS, (char *)&floors, sizeof(floors)) != sizeof(floors))
		return (struct xp_probe_floors){ 0 };
	return (struct xp_probe_floors){ floors.uprobe, floors.uretprobe, floors.syscall, floors.sample };
}

static const char *kept(struct xp_arena *arena, const char *text)
{
	return *text ? xp_arena_str(arena, text) : NULL;
}

static void set_missing(struct xp_feature *f, struct xp_arena *arena, const char *missing, const char *unblock)
{
	const char **list = xp_arena_array(arena, const char *, 1);

	list[0] = missing;
	f->missing = list;
	f->n_missing = 1;
	f->unblock = unblock;
}

/* Counters of throttling come with the cpu controller of the own group. */
static void try_cgroup(struct xp_arena *arena, struct xp_feature *f)
{
	struct xp_cgroup_place place;
	xp_auto_err err = { 0 };

	f->tried = true;
	if (xp_cgroup_find("", (uint32_t)getpid(), arena, &place, &err)) {
		f->status = err.code == XP_E_PERMISSION_DENIED ? XP_FEATURE_RESTRICTED : XP_FEATURE_UNAVAILABLE;
		f->call = kept(arena, err.call);
		f->errno_name = kept(arena, err.errno_text);
		f->object = kept(arena, err.object);
		set_missing(f, arena, "cgroup cpu controller in view",
			    "mount the cgroup file system with the cpu controller where xprobe runs");
		return;
	}
	/* The root group reports no throttling because nothing can throttle it. */
	f->status = XP_FEATURE_AVAILABLE;
	if (!xp_cgroup_read(place.directory, place.version).has_stat)
		f->object = place.directory;
}

static void warn(struct xp_session *session, const char *code, const char *feature, const char *text)
{
	json_t *details = json_object();

	json_object_set_new(details, "feature", json_string(feature));
	xp_warn(&session->warnings, code, details, "%s", text ? text : feature);
}

static void add_warnings(struct xp_session *session, const struct xp_capability_report *r)
{
	const struct xp_feature *uprobe = &r->features[XP_FEATURE_UPROBE], *nvml = &r->features[XP_FEATURE_NVML];

	if (uprobe->status != XP_FEATURE_AVAILABLE)
		warn(session, "BPF_PERMISSION_MISSING", uprobe->feature, uprobe->unblock);
	if (nvml->status != XP_FEATURE_AVAILABLE)
		warn(session, "NVIDIA_DRIVER_UNAVAILABLE", nvml->feature, nvml->unblock);
	if (r->checks.cupti.status != XP_FEATURE_AVAILABLE)
		warn(session, "CUPTI_NOT_AVAILABLE", "cupti_agent", r->checks.cupti.detail);
	if (r->checks.kernel_lockdown.status == XP_FEATURE_RESTRICTED)
		warn(session, "KERNEL_LOCKDOWN", "ebpf", r->checks.kernel_lockdown.detail);
}

static int run(struct xp_session *session, struct xp_err *reterr)
{
	struct xp_arena *arena = session->arena;
	struct xp_capability_report *r = xp_arena_new_of(arena, struct xp_capability_report);

	r->features = xp_arena_array(arena, struct xp_feature, XP_FEATURE_COUNT);
	r->n_features = XP_FEATURE_COUNT;
	for (unsigned id = 0; id < XP_FEATURE_COUNT; id++)
		xp_feature_try((enum xp_feature_id)id, arena, &r->features[id]);
	try_cgroup(arena, &r->features[XP_FEATURE_CGROUP_THROTTLING]);

	bool cuda = xp_doctor_cuda_driver(arena, &r->checks.cuda_driver);
	xp_doctor_checks(r->features, arena, &r->checks);
	r->capabilities = xp_doctor_capabilities(r->features, cuda);
	r->environment = xp_doctor_environment(arena);
	r->limits = xp_doctor_limits();
	r->probe_floor_ns = measure_floors();
	add_warnings(session, r);
	r->warnings = session->warnings.at;
	r->n_warnings = session->warnings.n;

	session->record = &xp_capability_record;
	session->value = r;
	session->human = xp_doctor_report;
	return 0;
}

const struct xp_command xp_command_doctor = {
	.name = "doctor",
	.summary = "what works on this machine, tried, and the least change for what does not",
	.usage = "  xprobe doctor\n",
	.run = run,
};
