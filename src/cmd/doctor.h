/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `doctor`: checks of the machine and the report for people. */
#ifndef XP_CMD_DOCTOR_H
#define XP_CMD_DOCTOR_H

#include "result/capability.h"

/* What the features say together; inspect tells it too. */
struct xp_capabilities xp_doctor_capabilities(const struct xp_feature features[XP_FEATURE_COUNT], bool cuda_driver);
/* Asks libcuda (a child that is cut off) whether it answers. */
bool xp_doctor_cuda_driver(struct xp_arena *arena, struct xp_check *ret_check);
/* Every check but cuda_driver; `features` were tried before. */
void xp_doctor_checks(const struct xp_feature features[XP_FEATURE_COUNT], struct xp_arena *arena, struct xp_checks *checks);
struct xp_environment xp_doctor_environment(struct xp_arena *arena);
struct xp_limits xp_doctor_limits(void);
void xp_doctor_report(const void *value, struct xp_text *out, bool color);

#endif
