// SPDX-License-Identifier: Apache-2.0
/* Slow because every record is forced to the disk by itself. */
#include <fcntl.h>

#include "slow.h"

int main(void)
{
	char name[] = "/var/tmp/xprobe-slow-XXXXXX", record[4096];
	int fd = mkstemp(name);

	if (fd < 0)
		return 1;
	unlink(name);
	memset(record, 7, sizeof(record));
	ready();
	for (unsigned i = 0;; i++) {
		if (pwrite(fd, record, sizeof(record), (off_t)(i % 4096) * 4096) < 0 || fdatasync(fd))
			return 1;
		grind(i, 2000);
	}
}
