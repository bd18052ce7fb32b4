/* SPDX-License-Identifier: Apache-2.0 */
/* CapabilityReport for people: what works in one line each group, what is missing with its least change. No state. */
#include <string.h>

#include "cmd/doctor.h"

static const char *paint(bool color, const char *code)
{
	return color ? code : "";
}

static void works_line(const struct xp_capability_report *r, struct xp_text *out, bool color)
{
	size_t column = 0;
	bool any = false;

	xp_text_fmt(out, "\n%sworks%s\n", paint(color, "\033[32m"), paint(color, "\033[0m"));
	for (size_t i = 0; i < r->n_features; i++) {
		const struct xp_feature *f = &r->features[i];

		if (f->status != XP_FEATURE_AVAILABLE)
			continue;
		if (column + strlen(f->feature) > 90)
			column = 0;
		xp_text_fmt(out, "%s  %s", column || !any ? "" : "\n", f->feature);
		column += strlen(f->feature) + 2;
		any = true;
	}
	xp_text_str(out, any ? "\n" : "  nothing\n");
}

static void missing_lines(const struct xp_capability_report *r, struct xp_text *out, bool color)
{
	bool any = false;

	for (size_t i = 0; i < r->n_features; i++) {
		const struct xp_feature *f = &r->features[i];

		if (f->status == XP_FEATURE_AVAILABLE)
			continue;
		if (!any)
			xp_text_fmt(out, "\n%smissing%s\n", paint(color, "\033[33m"), paint(color, "\033[0m"));
		any = true;
		xp_text_fmt(out, "  %-22s %s", f->feature, xp_feature_status_names[f->status]);
		if (f->call)
			xp_text_fmt(out, ": %s%s%s%s%s", f->call, f->errno_name ? " gave " : "", f->errno_name ? f->errno_name : "",
				    f->object ? " on " : "", f->object ? f->object : "");
		/* One sentence often serves several features in a row. */
		bool same = i && f->unblock && r->features[i - 1].unblock && !strcmp(f->unblock, r->features[i - 1].unblock);
		if (f->unblock && *f->unblock)
			xp_text_fmt(out, "\n  %-22s -> %s", "", same ? "the same" : f->unblock);
		xp_text_char(out, '\n');
	}
}

static void floor_part(struct xp_text *out, const char *label, const struct xp_opt_u64 *ns)
{
	if (ns->set && ns->v < 10000)
		xp_text_fmt(out, "  %s %lu ns", label, (unsigned long)ns->v);
	else if (ns->set)
		xp_text_fmt(out, "  %s %.1f us", label, (double)ns->v / 1000);
}

void xp_doctor_report(const void *value, struct xp_text *out, bool color)
{
	const struct xp_capability_report *r = value;
	const struct xp_environment *e = &r->environment;

	xp_text_fmt(out, "%s, Linux %s, %s, uid %u%s%s\n", e->operating_system, e->kernel_release, e->architecture, e->effective_uid,
		    e->container ? ", container " : "", e->container ? e->container : "");
	works_line(r, out, color);
	missing_lines(r, out, color);

	const struct xp_probe_floors *floors = &r->probe_floor_ns;
	if (floors->uprobe.set || floors->uretprobe.set || floors->syscall.set || floors->sample.set) {
		xp_text_str(out, "\nleast cost of one probe, measured now:");
		floor_part(out, "function", &floors->uprobe);
		floor_part(out, "return", &floors->uretprobe);
		floor_part(out, "syscall", &floors->syscall);
		floor_part(out, "sample", &floors->sample);
		xp_text_char(out, '\n');
	}
}
