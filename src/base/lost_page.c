/* SPDX-License-Identifier: Apache-2.0 */
/* SIGBUS on a page that its file no longer has -> a page of zeros in its place. No state: the signal itself carries the address. */
#include "base/lost_page.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static void put_zeros(int signum, siginfo_t *info, void *context)
{
	const int saved = errno;
	const uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
	void *page = (void *)((uintptr_t)info->si_addr & ~(size - 1));

	/* Any other reason, and a page that cannot be had, ends the process as ever once the instruction is repeated. */
	if (info->si_code != BUS_ADRERR || mmap(page, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		signal(signum, SIG_DFL);
	errno = saved;
}

void xp_lost_pages_read_as_zero(void)
{
	struct sigaction action = { .sa_sigaction = put_zeros, .sa_flags = SA_SIGINFO };

	sigaction(SIGBUS, &action, NULL);
}
