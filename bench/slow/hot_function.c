// SPDX-License-Identifier: Apache-2.0
/* Slow because one function of a ranking service takes nearly all its CPU time. */
#include "slow.h"

static NOINLINE uint64_t score_document(uint64_t doc)
{
	return grind(doc, 4000);
}
static NOINLINE uint64_t read_request(uint64_t id)
{
	return grind(id, 300);
}

int main(void)
{
	uint64_t sum = 0;

	ready();
	for (uint64_t i = 0;; i++)
		sum += score_document(read_request(i) + sum);
}
