/* SPDX-License-Identifier: Apache-2.0 */
/* Folding of CUDA API names. In: a name as CUPTI or a header spells it. Out: the part that all its variants share. No state. */
#include "event/api_name.h"

#include <string.h>

#include "base/cleanup.h"

const char *const xp_api_domain_names[XP_API_DOMAIN_COUNT] = { [XP_API_DRIVER] = "driver_api", [XP_API_RUNTIME] = "runtime_api" };

/* Bytes of a "_v<digits>" ending of name[0..len), or 0. */
static size_t version_ending(const char *name, size_t len)
{
	size_t digits = 0;

	while (digits < len && name[len - 1 - digits] >= '0' && name[len - 1 - digits] <= '9')
		digits++;
	return digits && len >= digits + 2 && !memcmp(name + len - digits - 2, "_v", 2) ? digits + 2 : 0;
}

static size_t ending(const char *name, size_t len)
{
	static const char *const variants[] = { "_ptsz", "_ptds" };

	for (size_t i = 0; i < XP_LEN(variants); i++) {
		size_t n = strlen(variants[i]);

		if (len >= n && !memcmp(name + len - n, variants[i], n))
			return n;
	}
	return version_ending(name, len);
}

const char *xp_api_fold(const char *name, size_t *ret_len)
{
	size_t len, cut;

	if (!strncmp(name, "__", 2))
		name += 2;
	len = strlen(name);
	while ((cut = ending(name, len)) && cut < len)
		len -= cut;
	*ret_len = len;
	return name;
}

bool xp_api_launches_graph(const char *folded, size_t len)
{
	static const char *const names[] = { "cuGraphLaunch", "cudaGraphLaunch" };

	for (size_t i = 0; i < XP_LEN(names); i++)
		if (strlen(names[i]) == len && !memcmp(names[i], folded, len))
			return true;
	return false;
}
