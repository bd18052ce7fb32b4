/* SPDX-License-Identifier: Apache-2.0 */
/* The other CUPTI client of the fake program; both take its handle of libcupti. */
#ifndef XP_FAKE_CLIENT_H
#define XP_FAKE_CLIENT_H

unsigned long long fake_profile_start(void *cupti);
unsigned long long fake_profile_stop(void *cupti);

#endif
