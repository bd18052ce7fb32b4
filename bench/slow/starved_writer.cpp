// SPDX-License-Identifier: Apache-2.0
/* Slow because readers keep a shared lock while they ask a backend: one of them always has it, and updates never get in. */
#include <map>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include <poll.h>

#include "slow.h"

static std::shared_mutex prices_lock;
static std::map<int, int> prices;
static int answers[2];

static NOINLINE int ask_backend(void)
{
	struct pollfd fd = {};

	fd.fd = answers[0];
	fd.events = POLLIN;
	return poll(&fd, 1, 6);
}

static NOINLINE int serve_lookup(int item)
{
	std::shared_lock<std::shared_mutex> lock(prices_lock);
	auto found = prices.find(item);

	return ask_backend() + (found == prices.end() ? 0 : found->second);
}

static NOINLINE void apply_update(int item)
{
	std::unique_lock<std::shared_mutex> lock(prices_lock);

	prices[item % 1024] = item;
}

int main()
{
	std::vector<std::thread> threads;

	if (pipe(answers))
		return 1;
	for (unsigned i = 0; i < 4; i++)
		threads.emplace_back([i] {
			pause_us(1700 * i);
			for (int n = 0;; n++)
				serve_lookup(n);
		});
	threads.emplace_back([] {
		pthread_setname_np(pthread_self(), "updates");
		for (int n = 0;; n++)
			apply_update(n);
	});
	ready();
	threads[0].join();
}
