/* SPDX-License-Identifier: Apache-2.0 */
/* Wilson's score interval. No state. */
#include "inventory/interval.h"

#include <math.h>

#define Z 1.959963984540054 /* 97.5 % of the normal distribution */

struct xp_interval xp_interval_95(uint64_t k, uint64_t n)
{
	double total = (double)n, share, half;

	if (!n)
		return (struct xp_interval){ 0 };
	share = (double)k / total;
	half = Z * sqrt(share * (1 - share) / total + Z * Z / (4 * total * total)) / (1 + Z * Z / total);
	share = (share + Z * Z / (2 * total)) / (1 + Z * Z / total);
	return (struct xp_interval){
		.set = true,
		.low = k == 0 || share - half < 0 ? 0 : share - half,
		.high = k == n || share + half > 1 ? 1 : share + half,
	};
}
