/* SPDX-License-Identifier: Apache-2.0 */
/* Which libcupti: the copy that the process has mapped, else the one that the tool names. In: the request. Out: its functions and version.
 */
#include "agent/agent.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/compat.h"

enum { PATH_BYTES = 512 };
enum { ANY = 1, OF_MAJOR, CHOSEN };

struct found {
	const char *wanted; /* the file that the tool chose; "" none */
	uint32_t major;	    /* wanted; 0: any */
	bool driver;
	unsigned rank; /* of the copy found so far: ANY .. */
	char cupti[PATH_BYTES], driver_path[PATH_BYTES];
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "libcupti.so.13" has major 13; a toolkit's real name, "libcupti.so.2025.3.1", has none. */
static uint32_t major_of(const char *name)
{
	const char *p = strstr(name, ".so.");
	uint32_t major = 0;

	for (p = p ? p + 4 : ""; *p >= '0' && *p <= '9'; p++)
		major = major * 10 + (uint32_t)(*p - '0');
	return major >= 2000 ? 0 : major;
}

/* The loader and the kernel may name one file in two ways. */
static bool same_file(const char *a, const char *b)
{
	struct stat a_is, b_is;

	/* The C library's own stat has another symbol version from 2.33 on. */
	if (!b[0] || syscall(SYS_stat, a, &a_is) || syscall(SYS_stat, b, &b_is))
		return false;
	return a_is.st_dev == b_is.st_dev && a_is.st_ino == b_is.st_ino;
}

/* Several copies may be mapped: the tool's choice, else the first of the wanted major, else the first. */
static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct found *found = arg;
	const char *name = info->dlpi_name ? base_name(info->dlpi_name) : "";
	unsigned rank;

	if (!strncmp(name, "libcuda.so", 10) && (!name[10] || name[10] == '.')) {
		found->driver = true;
		strncpy(found->driver_path, info->dlpi_name, PATH_BYTES - 1);
	}
	if (strncmp(name, "libcupti.so", 11) || strlen(info->dlpi_name) >= PATH_BYTES)
		return 0;
	rank = same_file(info->dlpi_name, found->wanted) ? CHOSEN : found->major && major_of(name) == found->major ? OF_MAJOR : ANY;
	if (rank > found->rank)
		strncpy(found->cupti, info->dlpi_name, PATH_BYTES - 1);
	found->rank = rank > found->rank ? rank : found->rank;
	return 0;
}

/* Nothing of CUPTI may run in a process without a working driver: 13.2 recurses to death in its first call. */
static int check_driver(const struct found *found)
{
	void *driver = found->driver ? dlopen(found->driver_path, RTLD_NOW | RTLD_NOLOAD) : NULL;
	int (*version)(int *) = driver ? (int (*)(int *))dlsym(driver, "cuDriverGetVersion") : NULL;
	int (*count)(int *) = driver ? (int (*)(int *))dlsym(driver, "cuDeviceGetCount") : NULL;
	int value = 0;

	if (!version || !count)
		return xp_agent_say(XP_AGENT_NO_CUDA, NULL, 0, "libcuda is not mapped");
	if (!version(&value))
		xp_agent.control->identity.driver_version = (uint32_t)value;
	if (count(&value) == CUDA_NOT_INITIALIZED)
		return xp_agent_say(XP_AGENT_NO_CUDA, "cuDeviceGetCount", CUDA_NOT_INITIALIZED, "CUDA is not initialised");
	return XP_AGENT_OK;
}

static int resolve(void *library)
{
#define RESOLVE(member, name, needed, arguments)                         \
	xp_agent.cupti.member = (int(*) arguments)dlsym(library, #name); \
	if (needed && !xp_agent.cupti.member)                            \
		return xp_agent_say(XP_AGENT_NO_CUPTI, #name, 0, "libcupti lacks a function");
	CUPTI_FUNCTIONS(RESOLVE)
#undef RESOLVE
	return XP_AGENT_OK;
}

int xp_agent_load(void)
{
	struct xp_agent_control *control = xp_agent.control;
	char wanted[PATH_BYTES];
	struct found found = { .wanted = wanted, .major = xp_agent.request.cuda_major };
	void *library;
	int status, rc;

	memcpy(wanted, xp_agent.request.cupti_path, sizeof(wanted));
	wanted[sizeof(wanted) - 1] = '\0';
	xp_agent_objects(look_at, &found);
	status = check_driver(&found);
	if (status || xp_agent.cupti_loaded)
		return status;
	library = found.cupti[0] ? dlopen(found.cupti, RTLD_NOW | RTLD_NOLOAD) : NULL;
	if (!library && !found.cupti[0] && wanted[0])
		library = dlopen(wanted, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return xp_agent_say(XP_AGENT_NO_CUPTI, "dlopen", 0,
				    found.cupti[0] ? found.cupti
				    : wanted[0]	   ? wanted
						   : "no libcupti mapped");
	status = resolve(library);
	if (status)
		return status;
	rc = xp_agent.cupti.get_version(&xp_agent.version);
	if (rc)
		return xp_agent_say(XP_AGENT_CALL_FAILED, "cuptiGetVersion", rc, NULL);
	if (!xp_agent_quarantine_find((void *)xp_agent.cupti.unsubscribe))
		return xp_agent_say(XP_AGENT_NO_QUARANTINE, "cuptiUnsubscribe", 0, "libcupti's import of free was not found");
	memcpy(control->cupti_path, found.cupti[0] ? found.cupti : wanted, sizeof(control->cupti_path));
	control->identity.cupti_version = xp_agent.version;
	xp_agent.cupti_loaded = true;
	return XP_AGENT_OK;
}
