/* SPDX-License-Identifier: Apache-2.0 */
/* The table of selector families and the names of their enums. No state. */
#include "family/family.h"

#define XP_FAMILY(name) extern const struct xp_family xp_family_##name;
#include "family/family_list.def"
#undef XP_FAMILY

static const struct xp_family *const families[] = {
#define XP_FAMILY(name) &xp_family_##name,
#include "family/family_list.def"
#undef XP_FAMILY
	NULL,
};

const struct xp_family *const *xp_families(size_t *ret_n)
{
	*ret_n = XP_LEN(families) - 1;
	return families;
}

const char *const xp_object_kind_names[XP_OBJECT_KIND_COUNT] = {
	[XP_OBJECT_EXECUTABLE] = "executable",
	[XP_OBJECT_PIE] = "position_independent_executable",
	[XP_OBJECT_SHARED] = "shared_library",
};

const char *const xp_return_method_names[XP_RETURN_METHOD_COUNT] = {
	[XP_RETURN_URETPROBE] = "uretprobe",
	[XP_RETURN_EXIT_SITES] = "exit_sites",
};
