/* SPDX-License-Identifier: Apache-2.0 */
/* Member types of plain values that C has no word for: optional numbers, intervals, counted names, histograms. */
#ifndef XP_BASE_VALUE_H
#define XP_BASE_VALUE_H

#include <stdbool.h>
#include <stdint.h>

struct xp_opt_bool {
	bool set, v;
};
struct xp_opt_u32 {
	bool set;
	uint32_t v;
};
struct xp_opt_u64 {
	bool set;
	uint64_t v;
};
struct xp_opt_i64 {
	bool set;
	int64_t v;
};
struct xp_opt_f64 {
	bool set;
	double v;
};
struct xp_interval {
	bool set;
	double low, high;
}; /* [low, high] or null */
struct xp_count {
	const char *name;
	uint64_t n;
}; /* member of a {name: n} map */
struct xp_named_text {
	const char *name, *text;
}; /* member of a {name: text} map */
struct xp_histogram {
	uint64_t bucket[64];
}; /* log2 buckets, contract 11 */

#define XP_SOME(value)                    \
	{                                 \
		.set = true, .v = (value) \
	}

#endif
