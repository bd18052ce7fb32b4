/* SPDX-License-Identifier: Apache-2.0 */
/* What a fault of NVML means to whoever needed the answer. */
#ifndef XP_ENGINE_NVML_STATUS_H
#define XP_ENGINE_NVML_STATUS_H

#include "engine/nvml.h"

/*
 * By what could be done about it: nothing to ask (CUPTI_NOT_AVAILABLE), a right (PERMISSION_DENIED), more time (SESSION_LIMIT_EXCEEDED),
 * another driver (UNSUPPORTED_CUDA_VERSION), a defect there (INTERNAL).
 */
enum xp_err_code xp_nvml_fault_code(const struct xp_nvml_fault *fault);
/* Contract 1.4: call, NVML's status as text, and the sentence; `code` decides. Returns -code. */
int xp_nvml_fail(const struct xp_nvml_fault *fault, enum xp_err_code code, struct xp_err *reterr);

#endif
