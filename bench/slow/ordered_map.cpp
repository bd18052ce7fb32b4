// SPDX-License-Identifier: Apache-2.0
/* Slow because it looks every word up in an ordered map of long keys with a common beginning. */
#include <cstdio>
#include <map>
#include <string>
#include <vector>

static __attribute__((noinline)) void count_word(std::map<std::string, unsigned> &counts, const std::string &word)
{
	counts[word]++;
}

int main()
{
	std::map<std::string, unsigned> counts;
	std::vector<std::string> words;

	for (unsigned i = 0; i < 20000; i++)
		words.push_back("com.example.service.metrics.requests." + std::to_string(i * 7919 % 20011));
	puts("ready");
	fflush(stdout);
	for (unsigned i = 0;; i = (i + 7907) % words.size())
		count_word(counts, words[i]);
}
