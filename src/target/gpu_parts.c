/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA parts, found without linking any of them. In: library names and paths. Out: plain answers. No state. */
#include "target/gpu_parts.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"

/* NVML wakes every GPU of a machine without persistence mode, the other asks nobody. With all other trials doctor stays below 5 s. */
enum { NVML_DEADLINE_MS = 2200, CUDA_DEADLINE_MS = 800 };

/* Bytes of the child's reply: rc, which call, one number. */
struct reply {
	int rc;
	unsigned call;
	uint32_t number;
};

static const char *const nvml_calls[] = { "dlopen", "nvmlInit_v2", "nvmlDeviceGetCount_v2" };
static const char *const cuda_calls[] = { "dlopen", "cuDriverGetVersion" };

/* The library stays loaded: the process ends anyway, and unloading a driver is where some of them hang. */
static ssize_t answer(char *buf, size_t size, struct reply reply)
{
	if (size < sizeof(reply))
		return -1;
	memcpy(buf, &reply, sizeof(reply));
	return sizeof(reply);
}

static ssize_t nvml_child(void *arg, char *buf, size_t size)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	unsigned count = 0;

	if (!library)
		return answer(buf, size, (struct reply){ .rc = XP_ASK_NO_LIBRARY });
	int (*init)(void) = (int (*)(void))dlsym(library, nvml_calls[1]);
	int (*get_count)(unsigned *) = (int (*)(unsigned *))dlsym(library, nvml_calls[2]);
	if (!init || !get_count)
		return answer(buf, size, (struct reply){ .rc = XP_ASK_NO_SYMBOL, .call = init ? 2 : 1 });
	int rc = init();
	if (rc)
		return answer(buf, size, (struct reply){ .rc = rc, .call = 1 });
	rc = get_count(&count);
	return answer(buf, size, (struct reply){ .rc = rc, .call = 2, .number = count });
}

static ssize_t cuda_child(void *arg, char *buf, size_t size)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int version = 0;

	if (!library)
		return answer(buf, size, (struct reply){ .rc = XP_ASK_NO_LIBRARY });
	int (*get_version)(int *) = (int (*)(int *))dlsym(library, cuda_calls[1]);
	if (!get_version)
		return answer(buf, size, (struct reply){ .rc = XP_ASK_NO_SYMBOL, .call = 1 });
	int rc = get_version(&version);
	return answer(buf, size, (struct reply){ .rc = rc, .call = 1, .number = (uint32_t)version });
}

static struct reply ask(ssize_t (*child)(void *, char *, size_t), unsigned deadline_ms)
{
	struct reply reply;
	ssize_t len = xp_child_call(child, NULL, deadline_ms, (char *)&reply, sizeof(reply));

	if (len == sizeof(reply))
		return reply;
	return (struct reply){ .rc = len == -ETIME ? XP_ASK_HUNG : XP_ASK_CRASHED };
}

struct xp_driver_answer xp_ask_nvml(void)
{
	struct reply reply = ask(nvml_child, NVML_DEADLINE_MS);

	return (struct xp_driver_answer){ .rc = reply.rc, .call = nvml_calls[reply.call], .devices = reply.number };
}

struct xp_driver_answer xp_ask_cuda(void)
{
	struct reply reply = ask(cuda_child, CUDA_DEADLINE_MS);

	return (struct xp_driver_answer){ .rc = reply.rc, .call = cuda_calls[reply.call], .version = reply.number };
}

const char *xp_driver_reason(const struct xp_driver_answer *a, const char *library, struct xp_arena *arena)
{
	switch (a->rc) {
	case XP_ASK_NO_LIBRARY:
		return xp_arena_fmt(arena, "%s cannot be loaded", library);
	case XP_ASK_NO_SYMBOL:
		return xp_arena_fmt(arena, "%s has no %s", library, a->call);
	case XP_ASK_HUNG:
		return xp_arena_fmt(arena, "%s did not answer in time and was cut off", library);
	case XP_ASK_CRASHED:
		return xp_arena_fmt(arena, "%s crashed the process that asked it", library);
	default:
		return xp_arena_fmt(arena, "%s gave status %d", a->call, a->rc);
	}
}

const char *xp_nvidia_module_version(struct xp_arena *arena)
{
	char text[64];
	xp_auto_fd fd = open("/sys/module/nvidia/version", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text)) : -1;

	if (n <= 0)
		return NULL;
	return xp_arena_dup(arena, text, strcspn(text, "\n") < (size_t)n ? strcspn(text, "\n") : (size_t)n);
}

const char *xp_agent_path(struct xp_arena *arena, const char **ret_wanted)
{
	static const char *const places[] = { "../lib/xprobe/libxprobe-agent.so", "libxprobe-agent.so", "agent/libxprobe-agent.so" };
	const char *chosen = getenv("XPROBE_CUPTI_AGENT_PATH");
	char exe[4096];

	if (chosen && *chosen) {
		*ret_wanted = chosen;
		return access(chosen, R_OK) ? NULL : chosen;
	}
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	*ret_wanted = places[0];
	if (len <= 0)
		return NULL;
	exe[len] = '\0';
	char *slash = strrchr(exe, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < XP_LEN(places); i++) {
		const char *path = xp_arena_fmt(arena, "%s/%s", exe, places[i]);

		if (!i)
			*ret_wanted = path;
		if (!access(path, R_OK))
			return path;
	}
	return NULL;
}

const char *xp_cupti_path(unsigned major, struct xp_arena *arena)
{
	static const char *const patterns[] = {
		"/usr/local/cuda*/lib64/libcupti.so.",
		"/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.",
		"/opt/cuda*/extras/CUPTI/lib64/libcupti.so.",
		"/usr/lib/x86_64-linux-gnu/libcupti.so.",
		"/usr/lib64/libcupti.so.",
		"/usr/lib/python3*/*-packages/nvidia/*/lib/libcupti.so.",
		"/usr/local/lib/python3*/*-packages/nvidia/*/lib/libcupti.so.",
		"/opt/*/lib/python3*/site-packages/nvidia/*/lib/libcupti.so.",
	};

	for (size_t i = 0; i < XP_LEN(patterns); i++) {
		char pattern[128];
		glob_t found = { 0 };

		snprintf(pattern, sizeof(pattern), "%s%u", patterns[i], major);
		const char *path = glob(pattern, 0, NULL, &found) || !found.gl_pathc ? NULL : xp_arena_str(arena, found.gl_pathv[0]);
		globfree(&found);
		if (path)
			return path;
	}
	return NULL;
}
