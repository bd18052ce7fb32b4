// SPDX-License-Identifier: Apache-2.0
/* Sources of the processes of a triage, from opening to the values that rules use. In: targets. Out: collectors, inputs. No state. */
#include "cmd/triage_mode.h"

#include <assert.h>

/*
 * NVML first: its child is forked before there is anything of BPF to inherit, and initialises while the others get ready. cgroup early and
 * threads late: the end readings of many threads take longest. The agent comes when all else is ready, and its lease asks for being armed
 * last.
 */
static const enum xp_source_id arm_order[] = { XP_SOURCE_GPU,	  XP_SOURCE_CGROUP,  XP_SOURCE_SYSCALLS,     XP_SOURCE_CPU_SAMPLES,
					       XP_SOURCE_OFF_CPU, XP_SOURCE_THREADS, XP_SOURCE_CUDA_KERNELS, XP_SOURCE_CUDA_COPIES };
static_assert(XP_LEN(arm_order) == XP_SOURCE_COUNT, "every source is armed");

/* Why a source is not there; for a missing right with the smallest change that brings it. */
static struct xp_triage_source refused(const struct xp_triage_run *run, enum xp_source_id id, const struct xp_err *err)
{
	struct xp_triage_source source = xp_source_failed(id, err, run->session->arena);
	struct xp_feature feature;

	if (source.reason != XP_REASON_NOT_PERMITTED)
		return source;
	xp_feature_try(xp_triage_feeds[id].feature, run->session->arena, &feature);
	if (feature.unblock)
		source.unblock = feature.unblock;
	return source;
}

/* Opens the inventory of one source of one process. */
static int open_source(struct xp_triage_run *run, struct xp_triage_process *process, enum xp_source_id id, struct xp_err *reterr)
{
	const struct xp_inventory_kind *kind = xp_triage_inventory(id);
	struct xp_triage_part *part = &process->parts[process->n];
	/* Inventories keep it until they are freed. */
	struct xp_inventory_request *request = xp_arena_new_of(run->session->arena, struct xp_inventory_request);
	xp_auto_err err = { 0 };

	if (!kind || (xp_triage_feeds[id].cuda && !process->cuda_wanted))
		return 0;
	*request = run->request;
	if (process->cuda_wanted)
		request->cuda = &process->cuda;
	request->no_tree = run->choice.tree && xp_target_pid(process->target) != run->choice.pids[0];
	if (!kind->open(request, process->target, run->session->arena, &part->state, &err)) {
		part->kind = kind;
		part->id = id;
		part->collector = &run->collectors[run->n_collectors++];
		*part->collector = (struct xp_collector){
			.ops = kind->ops,
			.state = part->state,
			.optional = true,
			.of = (size_t)(process - run->processes),
		};
		process->n++;
		return 0;
	}
	bool gone = err.code == XP_E_TARGET_EXITED || err.code == XP_E_TARGET_REUSED;

	if (!xp_triage_several(run) && (gone || err.code == XP_E_INVALID_EVENT_SELECTOR))
		return xp_err_move(reterr, &err);
	process->input.sources[id] = refused(run, id, &err);
	return 0;
}

/* Both CUDA sources are refused together, before anything is done to the target. */
static void look_at_cuda(struct xp_triage_run *run, struct xp_triage_process *process)
{
	xp_auto_err err = { 0 };

	if (!xp_triage_maps_cuda(process->target))
		return;
	process->cuda_wanted = !xp_triage_cuda_check(run->session, process->target, &process->cuda, &err);
	if (process->cuda_wanted)
		return;
	process->input.sources[XP_SOURCE_CUDA_KERNELS] = refused(run, XP_SOURCE_CUDA_KERNELS, &err);
	process->input.sources[XP_SOURCE_CUDA_COPIES] = refused(run, XP_SOURCE_CUDA_COPIES, &err);
}

static void look_at(struct xp_triage_run *run, struct xp_triage_process *process)
{
	for (int id = 0; id < XP_SOURCE_COUNT; id++)
		process->input.sources[id] = xp_triage_source_absent(id, process->target);
	look_at_cuda(run, process);
}

int xp_triage_open_sources(struct xp_triage_run *run, struct xp_err *reterr)
{
	int rc = xp_triage_check_threads(&run->request, &run->targets, run->session->arena, reterr);

	run->collectors = xp_arena_array(run->session->arena, struct xp_collector, run->targets.n * XP_SOURCE_COUNT);
	for (size_t i = 0; i < run->targets.n; i++)
		look_at(run, &run->processes[i]);
	for (size_t k = 0; k < XP_LEN(arm_order); k++)
		for (size_t i = 0; i < run->targets.n && !rc; i++)
			rc = open_source(run, &run->processes[i], arm_order[k], reterr);
	return rc;
}

void xp_triage_free_sources(struct xp_triage_run *run)
{
	for (size_t i = 0; i < run->targets.n; i++)
		for (size_t k = 0; k < run->processes[i].n; k++) {
			run->processes[i].parts[k].kind->free(run->processes[i].parts[k].state);
			xp_err_done(&run->processes[i].parts[k].collector->err);
		}
}

/* The value of one inventory becomes a source that rules may use, or a reason. */
static void finish_source(struct xp_triage_run *run, struct xp_triage_process *process, struct xp_triage_part *part)
{
	const struct xp_triage_feed *feed = &xp_triage_feeds[part->id];
	struct xp_triage_source *source = &process->input.sources[part->id];
	xp_auto_err err = { 0 };

	if (part->kind->effects)
		part->kind->effects(part->state, &process->window.cost);
	if (part->collector->out)
		xp_err_move(&err, &part->collector->err);
	if (err.code || part->kind->finish(part->state, &process->window, run->session->arena, &part->value, &err)) {
		*source = refused(run, part->id, &err);
		if (feed->cuda)
			xp_triage_cuda_failed(process->input.sources, part->id);
		return;
	}
	if (feed->head)
		feed->head(part->value, &process->head);
	*source = xp_source_available(part->id);
	if (feed->take(part->value, &process->input, source, run->session->arena))
		return;
	source->status = XP_SOURCE_UNAVAILABLE;
	source->reason = XP_REASON_CAPACITY;
	source->detail = "its table was full; what it had is in its artifact";
}

/* The one window, as far as it is about this process. */
static struct xp_window window_of(const struct xp_triage_run *run, const struct xp_triage_process *process)
{
	struct xp_window window = run->window;

	window.cost = process->watch->cost;
	window.children = process->watch->children;
	window.exec_seen = process->watch->exec_seen;
	return window;
}

void xp_triage_finish(struct xp_triage_run *run, struct xp_triage_process *process)
{
	struct xp_triage_input *input = &process->input;
	uint32_t forked = 0;

	process->window = window_of(run, process);
	process->status = process->watch->gone ? XP_FAILED : run->status;
	input->target = *xp_target_identity(process->target);
	input->window_ns = run->window.end_ns - run->window.start_ns;
	input->several = xp_triage_several(run);
	input->python = xp_triage_maps_python(process->target);
	input->can_sample = xp_triage_inventory(XP_SOURCE_CPU_SAMPLES) != NULL;
	input->forked = process->window.children;
	input->agent_loaded = process->cuda.loaded;
	process->head = (struct xp_document){
		.session_id = run->session->session_id,
		.status = process->status,
		.target = input->target,
		.evidence = { .mode = XP_EVIDENCE_FULL },
		.cost = &process->window.cost,
	};
	for (size_t i = 0; i < process->n; i++)
		finish_source(run, process, &process->parts[i]);
	xp_triage_cuda_warn(run->session, &process->cuda, &process->window.cost);
	for (size_t i = 0; input->threads && i < input->threads->n_children; i++)
		forked += input->threads->children[i].started;
	if (forked > input->forked)
		input->forked = forked;
}
