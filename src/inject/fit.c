/* SPDX-License-Identifier: Apache-2.0 */
/* Does the library fit the target's C library? In: its image, the target's libc. Out: nothing, or why not. No state. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "inject/inject_priv.h"

enum { MAX_VERSIONS = 4096, MAX_IMAGE = 16 * 1024 * 1024, MAX_NAME = 100 };

/* "GLIBC_2.17" -> 2 * 1000 + 17; 0: another name. */
static unsigned glibc_number(const char *name)
{
	unsigned long major, minor;
	char *end;

	if (strncmp(name, "GLIBC_", 6) != 0 || name[6] < '0' || name[6] > '9')
		return 0;
	major = strtoul(name + 6, &end, 10);
	minor = *end == '.' ? strtoul(end + 1, &end, 10) : 0;
	return major < 1000 && minor < 1000 ? (unsigned)(major * 1000 + minor) : 0;
}

static const char *text_at(const struct xp_elf_section *names, uint32_t offset)
{
	return names->bytes && offset < names->size && memchr(names->bytes + offset, 0, names->size - offset)
		       ? (const char *)names->bytes + offset
		       : "";
}

static bool open_table(const struct xp_elf *elf, const char *name, struct xp_elf_section *ret_table, struct xp_elf_section *ret_names)
{
	return xp_elf_section(elf, name, ret_table) && ret_table->bytes && xp_elf_section_at(elf, ret_table->link, ret_names);
}

static bool take(const struct xp_elf_section *table, uint64_t offset, void *entry, size_t size)
{
	if (offset > table->size || table->size - offset < size)
		return false;
	memcpy(entry, table->bytes + offset, size);
	return true;
}

/* Newest GLIBC_ version that the file asks of others. */
static unsigned newest_needed(const struct xp_elf *elf)
{
	struct xp_elf_section table, names;
	Elf64_Verneed need;
	Elf64_Vernaux version;
	unsigned newest = 0, seen = 0;

	if (!open_table(elf, ".gnu.version_r", &table, &names))
		return 0;
	for (uint64_t at = 0; take(&table, at, &need, sizeof(need)); at += need.vn_next) {
		for (uint64_t aux = at + need.vn_aux; take(&table, aux, &version, sizeof(version)); aux += version.vna_next) {
			unsigned number = glibc_number(text_at(&names, version.vna_name));

			newest = number > newest ? number : newest;
			if (!version.vna_next || ++seen > MAX_VERSIONS)
				break;
		}
		if (!need.vn_next || ++seen > MAX_VERSIONS)
			break;
	}
	return newest;
}

/* Newest GLIBC_ version that the file offers. */
static unsigned newest_offered(const struct xp_elf *elf)
{
	struct xp_elf_section table, names;
	Elf64_Verdef offer;
	Elf64_Verdaux version;
	unsigned newest = 0, seen = 0;

	if (!open_table(elf, ".gnu.version_d", &table, &names))
		return 0;
	for (uint64_t at = 0; take(&table, at, &offer, sizeof(offer)); at += offer.vd_next) {
		unsigned number =
			take(&table, at + offer.vd_aux, &version, sizeof(version)) ? glibc_number(text_at(&names, version.vda_name)) : 0;

		newest = number > newest ? number : newest;
		if (!offer.vd_next || ++seen > MAX_VERSIONS)
			break;
	}
	return newest;
}

static int check_libc(struct xp_target *target, unsigned needed, struct xp_err *reterr)
{
	const struct xp_maps *maps = xp_target_maps(target);

	for (size_t i = 0; i < maps->n; i++) {
		xp_auto(xp_elf_close) struct xp_elf *elf = NULL;
		xp_auto_fd fd = -1;

		if (!maps->at[i].exec || !xp_inject_is_library(&maps->at[i], "libc"))
			continue;
		int rc = xp_target_open_mapping(target, &maps->at[i], &fd, reterr);
		if (!rc)
			rc = xp_elf_open(fd, maps->at[i].path, &elf, reterr);
		if (rc)
			return rc;
		unsigned offered = newest_offered(elf);
		if (offered >= needed)
			return 0;
		return xp_fail(reterr, XP_E_UNSUPPORTED_TARGET, "the library needs glibc %u.%u, process %u has %u.%u", needed / 1000,
			       needed % 1000, xp_target_pid(target), offered / 1000, offered % 1000);
	}
	return xp_fail(reterr, XP_E_UNSUPPORTED_TARGET, "process %u maps no C library", xp_target_pid(target));
}

int xp_inject_check_image(struct xp_target *target, const struct xp_inject_request *request, struct xp_err *reterr)
{
	xp_auto(xp_elf_close) struct xp_elf *elf = NULL;

	if (!request->image_size || request->image_size > MAX_IMAGE || strlen(request->image_name) > MAX_NAME ||
	    (request->control_name && strlen(request->control_name) > MAX_NAME) || (request->entry && strlen(request->entry) > MAX_NAME))
		return xp_fail(reterr, XP_E_INTERNAL, "the library, of %zu bytes, or one of its names is out of bounds",
			       request->image_size);
	void *copy = malloc(request->image_size);
	if (!copy)
		return xp_fail(reterr, XP_E_RESOURCE_LIMIT, "no memory for the library");
	memcpy(copy, request->image, request->image_size);
	int rc = xp_elf_open_bytes(copy, request->image_size, request->image_name, &elf, reterr);
	return rc ? rc : check_libc(target, newest_needed(elf), reterr);
}
