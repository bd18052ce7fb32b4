/* SPDX-License-Identifier: Apache-2.0 */
/* `measure --triage` and `validate --triage`. */
#include "cmd/measure.h"
#include "cmd/validate.h"

int xp_measure_triage(struct xp_session *session, struct xp_err *reterr)
{
	(void)session;
	return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--triage is not part of this build");
}

int xp_validate_triage(struct xp_session *session, struct xp_err *reterr)
{
	(void)session;
	return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "--triage is not part of this build");
}
