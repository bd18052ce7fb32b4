/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: perf_event_open as kernels of some distributions answer at kernel.perf_event_paranoid=4: EACCES for all but CAP_SYS_ADMIN. */
#include "syscall_shim.h"

#include <linux/capability.h>

static int answer(long number, const long a[6])
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct caps[2] = { { 0 } };
	const long asked[6] = { (long)&head, (long)caps };

	(void)a;
	if (number != SYS_perf_event_open)
		return 0;
	ask_kernel(SYS_capget, asked);
	return caps[0].effective >> CAP_SYS_ADMIN & 1 ? 0 : EACCES;
}
