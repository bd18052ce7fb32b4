/* SPDX-License-Identifier: Apache-2.0 */
/* The out-of-line halves of the scoped-release helpers. No state. */
#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

void xp_free(void *block)
{
	free(block);
}

void xp_close_p(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}
