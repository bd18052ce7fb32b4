/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the CUPTI version in use (docs/cuda-versions.md): defects that touch a capture, and how its stop went. */
#ifndef XP_COLLECT_CUPTI_FACTS_H
#define XP_COLLECT_CUPTI_FACTS_H

#include "collect/agent_capture.h"
#include "collect/issues.h"

/* Before this version a stop holds the program's launches (10.17). */
#define XP_CUPTI_HOLDS_BELOW 130001

/* Which of a version's defects touch a capture: what was wanted and what was seen in it. */
enum { XP_CUPTI_GRAPHS = 1, XP_CUPTI_LATER_CAPTURE = 2 };
/* Effect of the first defect that touches a capture of GPU activities; NULL: none known. */
const char *xp_cupti_caveat(uint32_t version, unsigned seen);

/* Adds to the facts of a capture: caveat, kinds left on, and the stop's hold to the stall. */
void xp_cupti_facts(struct xp_agent_facts *facts);
/* The same as doubts about a windowed summary. */
void xp_cupti_issues(const struct xp_agent_facts *facts, struct xp_issues *issues);

#endif
