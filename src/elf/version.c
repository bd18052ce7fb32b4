/* SPDX-License-Identifier: Apache-2.0 */
/* Symbol versions. In: index of a dynamic symbol. Out: version name and whether it is the default one. No state. */
#include "elf/elf_priv.h"

#include <string.h>

enum { MAX_VERSIONS = 4096 }; /* a chain longer than this is damaged */

static const char *name_at(const struct xp_elf *elf, uint32_t offset)
{
	return elf->dynamic.names && offset < elf->dynamic.names_size ? elf->dynamic.names + offset : NULL;
}

static const char *defined_version(const struct xp_elf *elf, uint16_t index)
{
	uint64_t at = elf->dynamic.verdef_vaddr;

	for (uint64_t i = 0; i < elf->dynamic.n_verdef && i < MAX_VERSIONS; i++) {
		const unsigned char *bytes = xp_elf_at(elf, at, sizeof(Elf64_Verdef));
		Elf64_Verdef definition;
		Elf64_Verdaux name;

		if (!bytes)
			return NULL;
		memcpy(&definition, bytes, sizeof(definition));
		if ((definition.vd_ndx & 0x7fff) == index) {
			bytes = xp_elf_at(elf, at + definition.vd_aux, sizeof(name));
			if (!bytes)
				return NULL;
			memcpy(&name, bytes, sizeof(name));
			return name_at(elf, name.vda_name);
		}
		if (!definition.vd_next)
			return NULL;
		at += definition.vd_next;
	}
	return NULL;
}

const char *xp_elf_version_of(const struct xp_elf *elf, uint64_t index, bool *ret_hidden)
{
	Elf64_Versym version;

	if (index >= elf->dynamic.n_versym)
		return NULL;
	memcpy(&version, elf->dynamic.versym + index * sizeof(version), sizeof(version));
	*ret_hidden = version & 0x8000;
	version &= 0x7fff;
	return version <= VER_NDX_GLOBAL ? NULL : defined_version(elf, version);
}
