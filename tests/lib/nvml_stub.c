/* SPDX-License-Identifier: Apache-2.0 */
/* A libnvidia-ml that misbehaves as NVML_STUB says: hang, crash, status, good. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int nvmlInit_v2(void);
int nvmlDeviceGetCount_v2(unsigned *count);

int nvmlInit_v2(void)
{
	const char *how = getenv("NVML_STUB");

	if (how && !strcmp(how, "hang"))
		for (;;)
			pause();
	if (how && !strcmp(how, "crash"))
		abort();
	return how && !strcmp(how, "status") ? 9 : 0; /* NVML_ERROR_DRIVER_NOT_LOADED */
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
	*count = 3;
	return 0;
}
