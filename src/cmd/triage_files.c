// SPDX-License-Identifier: Apache-2.0
/* Files that a triage leaves: one an inventory, one a proposed spec, and the index. In: values. Out: artifacts. No state. */
#include "cmd/triage_mode.h"

static int write_file(struct xp_triage_run *run, const char *sub, const char *name, const struct xp_record *record, const void *value,
		      const struct xp_artifact **ret_artifact, struct xp_err *reterr)
{
	struct xp_artifact *artifact = xp_arena_new_of(run->session->arena, struct xp_artifact);
	struct xp_artifact_file *file;
	int rc = xp_artifact_open_in(run->folder, sub, name, &file, reterr);

	if (!rc)
		rc = xp_artifact_write_record(file, record, value, run->session->arena, artifact, reterr);
	if (rc)
		return rc;
	artifact->format = "json";
	*ret_artifact = artifact;
	return 0;
}

int xp_triage_write_sources(struct xp_triage_run *run, struct xp_triage_process *process, struct xp_err *reterr)
{
	int rc = 0;

	for (size_t i = 0; i < process->n && !rc; i++) {
		const struct xp_triage_part *part = &process->parts[i];

		if (part->value)
			rc = write_file(run, process->folder, xp_triage_feeds[part->id].artifact, part->kind->record, part->value,
					&process->input.sources[part->id].artifact, reterr);
	}
	return rc;
}

static int write_specs(struct xp_triage_run *run, const struct xp_triage *triage, struct xp_triage_file *files, size_t *ret_n,
		       struct xp_err *reterr)
{
	const struct xp_artifact *artifact;

	*ret_n = 0;
	for (size_t i = 0; i < triage->n_findings; i++) {
		const struct xp_finding *finding = triage->findings[i];
		struct xp_next_spec *next = finding->next;

		if (next->kind != XP_NEXT_SPEC)
			continue;
		int rc = write_file(run, NULL, xp_arena_fmt(run->session->arena, "next-%u.json", finding->rank),
				    &xp_measurement_spec_record, next->spec, &artifact, reterr);

		if (rc)
			return rc;
		next->path = artifact->path;
		files[(*ret_n)++] = (struct xp_triage_file){ .rank = finding->rank, .code = finding->code, .path = artifact->path };
	}
	return 0;
}

int xp_triage_write_index(struct xp_triage_run *run, struct xp_triage *triage, struct xp_err *reterr)
{
	struct xp_triage_index_row *rows = xp_arena_array(run->session->arena, struct xp_triage_index_row, run->targets.n);
	struct xp_triage_file files[XP_MAX_FINDINGS];
	struct xp_triage_index index = {
		.session_id = triage->session_id,
		.target = triage->target,
		.window = triage->window,
		.sources = triage->sources,
		.n_sources = triage->n_sources,
		.specs = files,
	};
	int rc = write_specs(run, triage, files, &index.n_specs, reterr);

	for (size_t i = 0; i < run->targets.n; i++)
		rows[i] = (struct xp_triage_index_row){
			.target = run->processes[i].input.target,
			.sources = run->processes[i].input.sources,
			.n_sources = XP_SOURCE_COUNT,
		};
	if (triage->processes) {
		index.processes = rows;
		index.n_processes = run->targets.n;
	}
	return rc ? rc : write_file(run, NULL, "triage.json", &xp_triage_index_record, &index, &triage->evidence.artifact, reterr);
}
