// SPDX-License-Identifier: Apache-2.0
/* GPU activities of a triage for people: a bar a device, kernels and copies in lines. In: parts of the summary. Out: text. No state. */
#include "output/report_triage_gpu.h"

#include <inttypes.h>

#include "inventory/gpu_activity.h"
#include "output/human.h"
#include "output/report_measurement.h"
#include "result/triage_gpu.h"

enum { LABEL = 11, NAME = 18, BAR = 40, MAX_KERNELS = 4, MAX_COPIES = 3, KERNEL_NAME = 45 };

static size_t fill(struct xp_text *out, double share, char mark, size_t used)
{
	size_t n = (size_t)(share * BAR + 0.5);

	if (n > BAR - used)
		n = BAR - used;
	for (size_t i = 0; i < n; i++)
		xp_text_char(out, mark);
	return used + n;
}

static void device_line(const struct xp_triage_load *device, struct xp_text *out)
{
	size_t used;

	xp_text_fmt(out, "gpu %-*s %8s |", NAME - 4, device->name, "");
	used = fill(out, device->busy, '#', 0);
	used = fill(out, device->copying, '~', used);
	xp_text_fmt(out, "%*s| %4.0f%% busy %3.0f%% copy\n", (int)(BAR - used), "", device->busy * 100, device->copying * 100);
}

static void kernel_line(const struct xp_triage_top_kernel *kernel, struct xp_text *out)
{
	char mean[XP_HUMAN_SIZE], total[XP_HUMAN_SIZE];
	size_t used;

	xp_text_fmt(out, "%*s", LABEL, "");
	used = xp_human_text(out, kernel->function ? kernel->function : kernel->name, KERNEL_NAME);
	xp_text_fmt(out, "%*s %9" PRIu64 " x %9s = %9s\n", (int)(KERNEL_NAME - used), "", kernel->count, xp_human_ns(mean, kernel->mean_ns),
		    xp_human_ns(total, (double)kernel->total_ns));
}

static void copies_line(const struct xp_triage_copies *group, struct xp_text *out)
{
	char total[XP_HUMAN_SIZE];

	if (group->activity != XP_GPU_MEMCPY)
		return;
	xp_text_fmt(out, "%*s%s %s to %s: %" PRIu64 " copies, %.1f MB in %s", LABEL, "", xp_memcpy_kind_names[group->memcpy_kind],
		    xp_memory_kind_names[group->src_memory], xp_memory_kind_names[group->dst_memory], group->count,
		    (double)group->total_bytes.v / 1e6, xp_human_ns(total, (double)group->total_ns));
	if (group->total_ns)
		xp_text_fmt(out, " (%.2f GB/s)", (double)group->total_bytes.v / (double)group->total_ns);
	xp_text_char(out, '\n');
}

void xp_report_triage_kernels(const struct xp_triage_cuda_kernels *kernels, struct xp_text *out)
{
	if (!kernels)
		return;
	xp_text_fmt(out,
		    "%-*s%" PRIu64 " of %" PRIu64 " names, %" PRIu64 " launches, %" PRIu64
		    " graph launches   (# kernels, ~ copies, which may overlap)\n",
		    LABEL, "kernels", kernels->kernels, kernels->groups, kernels->launches, kernels->graph_launches);
	for (size_t i = 0; i < kernels->n_devices; i++)
		device_line(&kernels->devices[i], out);
	for (size_t i = 0; i < kernels->n_top && i < MAX_KERNELS; i++)
		kernel_line(&kernels->top[i], out);
}

void xp_report_triage_copies(const struct xp_triage_cuda_copies *copies, struct xp_text *out)
{
	if (!copies || !(copies->copies || copies->sets))
		return;
	xp_text_fmt(out, "%-*s%" PRIu64 " copies of %.1f MB, %" PRIu64 " sets\n", LABEL, "copies", copies->copies,
		    (double)copies->bytes / 1e6, copies->sets);
	for (size_t i = 0; i < copies->n_groups && i < MAX_COPIES; i++)
		copies_line(&copies->groups[i], out);
}
