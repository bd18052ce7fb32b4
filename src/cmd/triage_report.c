/* SPDX-License-Identifier: Apache-2.0 */
/* The page that --events-out of a triage asks for. In: flags, result and what the sources saw. Out: one file. No state. */
#include "cmd/triage_mode.h"
#include "output/html.h"

int xp_triage_report_flags(const struct xp_session *session, const char **ret_path, struct xp_err *reterr)
{
	const char *path = xp_flag_text(session, "--events-out", NULL);
	const struct xp_output *output;

	if (!path)
		return 0;
	int rc = xp_output_choose(xp_flag_text(session, "--format", NULL), "html", XP_TAKES_TRIAGE, &output, reterr);
	if (!rc)
		rc = xp_artifact_check_destination(path, reterr);
	if (!rc)
		*ret_path = path;
	return rc;
}

int xp_triage_write_report(const struct xp_session *session, const char *path, struct xp_triage *triage,
			   const struct xp_triage_input *const *inputs, size_t n_inputs, struct xp_err *reterr)
{
	const struct xp_html_triage page = { .triage = triage, .inputs = inputs, .n_inputs = n_inputs };
	const struct xp_output_input input = { .session_id = session->session_id, .record = &xp_triage_record, .value = &page };
	struct xp_artifact *artifact = xp_arena_new_of(session->arena, struct xp_artifact);
	struct xp_artifact_file *file;

	if (!path)
		return 0;
	int rc = xp_artifact_open(path, &file, reterr);
	if (!rc)
		rc = xp_output_file(xp_output_find("html"), &input, file, session->arena, artifact, reterr);
	if (!rc)
		triage->report = artifact;
	return rc;
}
