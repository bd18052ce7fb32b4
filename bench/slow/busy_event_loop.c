// SPDX-License-Identifier: Apache-2.0
/* Slow because its event loop asks for events without waiting for one. */
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "slow.h"

static NOINLINE int on_timer(int fd)
{
	uint64_t ticks;

	if (read(fd, &ticks, sizeof(ticks)) < 0)
		return -1;
	return (int)(grind(ticks, 20000) & 1);
}

static NOINLINE int run_loop(int epoll)
{
	struct epoll_event events[8];

	for (int done = 0; done >= 0;) {
		int n = epoll_wait(epoll, events, 8, 0);

		for (int i = 0; i < n && done >= 0; i++)
			done = on_timer(events[i].data.fd);
	}
	return 1;
}

int main(void)
{
	const struct itimerspec each = { .it_interval = { .tv_nsec = 10000000 }, .it_value = { .tv_nsec = 10000000 } };
	int epoll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	struct epoll_event event = { .events = EPOLLIN, .data.fd = timer };

	if (epoll < 0 || timer < 0 || timerfd_settime(timer, 0, &each, NULL) || epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event))
		return 1;
	ready();
	return run_loop(epoll);
}
