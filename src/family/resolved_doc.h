/* SPDX-License-Identifier: Apache-2.0 */
/* ResolvedProbe (contract 10.4.1) as a document. */
#ifndef XP_FAMILY_RESOLVED_DOC_H
#define XP_FAMILY_RESOLVED_DOC_H

#include "family/endpoint.h"

struct xp_resolved_doc;
extern const struct xp_record xp_resolved_doc_record; /* "ResolvedProbe" */

/* endpoint->resolved must be set. In the arena; borrows the endpoint's strings. */
const struct xp_resolved_doc *xp_resolved_doc_make(const struct xp_endpoint *endpoint, const struct xp_target_id *target,
						   struct xp_arena *arena);
/* A copy whose selector has at most max bytes. */
const struct xp_resolved_doc *xp_resolved_doc_cut(const struct xp_resolved_doc *doc, size_t max, struct xp_arena *arena);

#endif
