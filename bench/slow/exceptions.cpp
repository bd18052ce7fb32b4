// SPDX-License-Identifier: Apache-2.0
/* Slow because half of its fields are no numbers, and each of these is told by an exception. */
#include <cstdio>
#include <stdexcept>
#include <string>

static __attribute__((noinline)) long parse_field(const std::string &field)
{
	return std::stol(field);
}

int main()
{
	const std::string fields[] = { "12345", "n/a" };
	long sum = 0;

	puts("ready");
	fflush(stdout);
	for (unsigned i = 0;; i++)
		try {
			sum += parse_field(fields[i % 2]);
		} catch (const std::invalid_argument &) {
			sum--;
		}
}
