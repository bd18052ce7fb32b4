// SPDX-License-Identifier: Apache-2.0
/* The size budget of a TriageResult: lists are cut from their end, the least telling first. In: the value. Out: the same, shorter. */
#include "result/triage.h"
#include "result/triage_gpu.h"

/* Halves a list that is longer than `floor`. */
static bool cut(size_t *n, size_t floor)
{
	if (*n <= floor)
		return false;
	*n = *n / 2 > floor ? *n / 2 : floor;
	return true;
}

/* Contract 6.8: patterns that are not listed are in the row "*", so that the rows add up to the process. */
static bool fold_groups(struct xp_triage_threads *threads, size_t floor)
{
	size_t n = threads->n_groups;

	if (!cut(&threads->n_groups, floor > 1 ? floor : 1))
		return false;
	struct xp_thread_group *rest = &threads->groups[threads->n_groups - 1];
	rest->name_pattern = "*";
	for (const struct xp_thread_group *from = rest + 1; from < threads->groups + n; from++) {
		rest->threads += from->threads;
		rest->on_cpu_ns += from->on_cpu_ns;
		rest->runqueue_ns += from->runqueue_ns;
		rest->blocked_ns += from->blocked_ns;
	}
	return true;
}

/* One list of the summary, the longest kinds first. */
static bool cut_summary(const struct xp_triage_summary *summary, size_t floor)
{
	struct xp_triage_threads *threads = summary ? summary->threads : NULL;
	struct xp_triage_syscalls *syscalls = summary ? summary->syscalls : NULL;
	struct xp_triage_cpu_samples *cpu = summary ? summary->cpu_samples : NULL;
	struct xp_triage_off_cpu *off_cpu = summary ? summary->off_cpu : NULL;
	struct xp_triage_cuda_kernels *kernels = summary ? summary->cuda_kernels : NULL;
	struct xp_triage_cuda_copies *copies = summary ? summary->cuda_copies : NULL;

	return (threads && (fold_groups(threads, floor) || cut(&threads->n_top, floor))) || (syscalls && cut(&syscalls->n_top, floor)) ||
	       (cpu && cut(&cpu->n_top, floor)) || (off_cpu && cut(&off_cpu->n_top, floor / 2)) ||
	       (kernels && cut(&kernels->n_top, floor)) || (copies && cut(&copies->n_groups, floor)) ||
	       (summary && summary->gpu && cut(&summary->gpu->n_devices, floor));
}

static bool cut_findings(size_t *n, size_t floor)
{
	if (*n <= floor)
		return false;
	--*n;
	return true;
}

static bool cut_rows(struct xp_triage *triage, size_t floor)
{
	bool any = false;

	for (size_t i = 0; i < triage->n_processes; i++)
		any |= cut_summary(triage->processes[i].summary, floor);
	return any;
}

/* The top list has the best of all processes already. */
static bool cut_row_findings(struct xp_triage *triage, size_t floor)
{
	bool any = false;

	for (size_t i = 0; i < triage->n_processes; i++)
		any |= cut_findings(&triage->processes[i].n_findings, floor);
	return any;
}

static bool shrink_several(struct xp_triage *triage)
{
	return cut_rows(triage, 4) || cut_row_findings(triage, 3) || cut_rows(triage, 2) || cut_row_findings(triage, 1) ||
	       cut_findings(&triage->n_findings, 6) || cut(&triage->n_odd_one_out, 4) || cut_rows(triage, 0) ||
	       cut_findings(&triage->n_findings, 3) || cut_row_findings(triage, 0) || cut_findings(&triage->n_findings, 1);
}

size_t xp_triage_budget(const struct xp_triage *triage)
{
	return XP_TRIAGE_BUDGET + (triage->n_processes > 1 ? (triage->n_processes - 1) * XP_TRIAGE_BUDGET_EACH : 0);
}

bool xp_triage_shrink(void *value)
{
	struct xp_triage *triage = value;

	if (triage->processes)
		return shrink_several(triage);
	return cut_summary(triage->summary, 4) || cut_findings(&triage->n_findings, 6) || cut_summary(triage->summary, 0) ||
	       cut_findings(&triage->n_findings, 1);
}
