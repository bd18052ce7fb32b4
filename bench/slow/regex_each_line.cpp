// SPDX-License-Identifier: Apache-2.0
/* Slow because the expression is compiled again for every line that it is tried on. */
#include <regex>
#include <string>

#include "slow.h"

static NOINLINE bool is_error_line(const std::string &line)
{
	std::regex expression("^\\[(\\d{4}-\\d{2}-\\d{2})\\] (ERROR|FATAL): ([a-z_]+)=(.*)$");

	return std::regex_match(line, expression);
}

int main()
{
	const std::string lines[] = { "[2024-01-02] ERROR: disk=full", "[2024-01-02] INFO: started" };
	unsigned long errors = 0;

	ready();
	for (unsigned i = 0; errors < ~0ul; i++)
		errors += is_error_line(lines[i % 2]);
}
