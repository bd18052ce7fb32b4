/* SPDX-License-Identifier: Apache-2.0 */
/* The one function of a fuzzer. */
#ifndef XP_TESTS_FUZZ_H
#define XP_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
