/* SPDX-License-Identifier: Apache-2.0 */
/* The table of file formats. No state. */
#include "output/output.h"

#include <string.h>

#define XP_OUTPUT(name) extern const struct xp_output xp_output_##name;
#include "output/output_list.def"
#undef XP_OUTPUT

static const struct xp_output *const outputs[] = {
#define XP_OUTPUT(name) &xp_output_##name,
#include "output/output_list.def"
#undef XP_OUTPUT
};

const struct xp_output *const *xp_outputs(size_t *ret_n)
{
	*ret_n = XP_LEN(outputs);
	return outputs;
}

const struct xp_output *xp_output_find(const char *name)
{
	for (size_t i = 0; i < XP_LEN(outputs); i++)
		if (!strcmp(outputs[i]->name, name))
			return outputs[i];
	return NULL;
}

int xp_output_choose(const char *name, const char *otherwise, enum xp_output_takes takes, const struct xp_output **ret_output,
		     struct xp_err *reterr)
{
	const struct xp_output *output = xp_output_find(name ? name : otherwise);

	if (output && (output->takes & takes)) {
		*ret_output = output;
		return 0;
	}
	int rc = xp_fail(reterr, XP_E_INVALID_ARGUMENT, "the format %.64s cannot be written here", name ? name : otherwise);
	xp_err_object(reterr, "--format");
	for (size_t i = 0; i < XP_LEN(outputs); i++)
		if (outputs[i]->takes & takes)
			xp_err_hint(reterr, "--format %s: %s", outputs[i]->name, outputs[i]->summary);
	return rc;
}

int xp_output_check_stop(const struct xp_output_input *input, uint64_t index, struct xp_err *reterr)
{
	enum { STOP_EVERY = 4096 };

	if (index % STOP_EVERY || !input->stop || !input->stop())
		return 0;
	return xp_fail(reterr, XP_E_CANCELLED, "a signal ended the writing of %llu events",
		       (unsigned long long)xp_store_count(input->store));
}

static int write_file(int (*write)(const struct xp_output_input *input, const struct xp_sink *sink, struct xp_err *reterr),
		      const struct xp_output_input *input, struct xp_artifact_file *file, struct xp_arena *arena,
		      struct xp_artifact *ret_artifact, struct xp_err *reterr)
{
	xp_auto(xp_artifact_close) struct xp_artifact_file *owned = file;
	struct xp_sink sink = xp_artifact_sink(owned);
	int rc = write(input, &sink, reterr);

	return rc ? rc : xp_artifact_commit(owned, arena, ret_artifact, reterr);
}

int xp_output_file(const struct xp_output *output, const struct xp_output_input *input, struct xp_artifact_file *file,
		   struct xp_arena *arena, struct xp_artifact *ret_artifact, struct xp_err *reterr)
{
	struct xp_artifact artifact;
	int rc = write_file(output->write, input, file, arena, &artifact, reterr);

	if (rc)
		return rc;
	artifact.format = output->name;
	if (output->counts_events)
		artifact.event_count = (struct xp_opt_u64)XP_SOME(xp_store_count(input->store));
	*ret_artifact = artifact;
	return 0;
}

int xp_output_blocked_file(const struct xp_output *output, const struct xp_output_input *input, struct xp_artifact_file *file,
			   struct xp_arena *arena, struct xp_err *reterr)
{
	struct xp_artifact unused;

	return write_file(output->write_blocked, input, file, arena, &unused, reterr);
}
