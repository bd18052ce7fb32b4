// SPDX-License-Identifier: Apache-2.0
/* Slow because all requests write one log, whose lock is kept while a line is forced to the disk. */
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "slow.h"

struct log_file {
	std::mutex lock;
	int fd;

	NOINLINE void append(const std::string &line)
	{
		std::lock_guard<std::mutex> guard(lock);

		if (write(fd, line.data(), line.size()) < 0 || fsync(fd))
			exit(1);
	}
};

int main()
{
	char name[] = "/var/tmp/xprobe-slow-XXXXXX";
	std::vector<std::thread> threads;
	log_file log;

	log.fd = mkstemp(name);
	if (log.fd < 0)
		return 1;
	unlink(name);
	for (unsigned i = 0; i < 6; i++)
		threads.emplace_back([&log, i] {
			for (uint64_t n = i;; n++)
				log.append("request " + std::to_string(grind(n, 60000)) + " done\n");
		});
	ready();
	threads[0].join();
}
