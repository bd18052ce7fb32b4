/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of `validate` beside a single pair. */
#ifndef XP_CMD_VALIDATE_H
#define XP_CMD_VALIDATE_H

#include "cmd/command.h"
#include "plan/spec.h"

struct xp_inventory_request;

/* flag: the inventory's mode switch. */
int xp_validate_inventory(struct xp_session *session, const char *flag, struct xp_err *reterr);
/* expected: identity of a spec, NULL for flags. request: its filter of threads is checked. */
int xp_validate_cpu(struct xp_session *session, const struct xp_target_id *expected, uint32_t pid,
		    const struct xp_inventory_request *request, bool off_cpu, struct xp_err *reterr);
int xp_validate_cpu_spec(struct xp_session *session, const json_t *document, struct xp_err *reterr);
int xp_validate_graph_spec(struct xp_session *session, const json_t *document, struct xp_err *reterr);
int xp_validate_triage(struct xp_session *session, struct xp_err *reterr);
/* Graph, CPU and syscall specs. `document` is borrowed. */
int xp_validate_other_spec(struct xp_session *session, enum xp_spec_kind kind, const json_t *document, struct xp_err *reterr);
/* Human text of a ValidationResult. */
void xp_validation_report(const void *value, struct xp_text *out, bool color);

#endif
