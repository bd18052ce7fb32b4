/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the machine that decide what works. In: features as tried, files of /proc and /sys. Out: values of CapabilityReport. No state.
 */
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmd/doctor.h"
#include "target/gpu_parts.h"
#include "target/self.h"

static bool works(const struct xp_feature *features, enum xp_feature_id id)
{
	return features[id].status == XP_FEATURE_AVAILABLE;
}

struct xp_capabilities xp_doctor_capabilities(const struct xp_feature features[XP_FEATURE_COUNT], bool cuda_driver)
{
	/* A missing libcupti here leaves the agent restricted, not absent: targets may map their own copy. */
	bool agent = features[XP_FEATURE_CUPTI_AGENT].status == XP_FEATURE_AVAILABLE ||
		     features[XP_FEATURE_CUPTI_AGENT].status == XP_FEATURE_RESTRICTED;
	bool cuda = cuda_driver && works(features, XP_FEATURE_CUPTI_AGENT);

	return (struct xp_capabilities){
		.uprobe = works(features, XP_FEATURE_UPROBE),
		.uretprobe = works(features, XP_FEATURE_URETPROBE),
		.tracepoint = works(features, XP_FEATURE_TRACEPOINT),
		.cuda_callback = cuda,
		.cuda_activity = cuda,
		.runtime_injection = agent && works(features, XP_FEATURE_INJECTION),
	};
}

bool xp_doctor_cuda_driver(struct xp_arena *arena, struct xp_check *ret_check)
{
	struct xp_driver_answer a = xp_ask_cuda();

	if (!a.rc) {
		*ret_check = (struct xp_check){ XP_FEATURE_AVAILABLE,
						xp_arena_fmt(arena, "CUDA %u.%u", a.version / 1000, a.version % 1000 / 10) };
		return true;
	}
	*ret_check = (struct xp_check){ a.rc == XP_ASK_HUNG ? XP_FEATURE_UNKNOWN : XP_FEATURE_UNAVAILABLE,
					xp_driver_reason(&a, "libcuda.so.1", arena) };
	return false;
}

static struct xp_check check_btf(void)
{
	return access("/sys/kernel/btf/vmlinux", R_OK) ? (struct xp_check){ XP_FEATURE_UNAVAILABLE, "no readable /sys/kernel/btf/vmlinux" }
						       : (struct xp_check){ XP_FEATURE_AVAILABLE, NULL };
}

static struct xp_check check_lockdown(const struct xp_self *self, struct xp_arena *arena)
{
	if (!self->lockdown[0])
		return (struct xp_check){ XP_FEATURE_UNKNOWN, "/sys/kernel/security/lockdown cannot be read" };
	/* Only confidentiality keeps BPF programs from reading memory. */
	bool closed = !strcmp(self->lockdown, "confidentiality");
	return (struct xp_check){ closed ? XP_FEATURE_RESTRICTED : XP_FEATURE_AVAILABLE, xp_arena_str(arena, self->lockdown) };
}

static struct xp_check check_paranoid(const struct xp_self *self, const struct xp_feature *sample, struct xp_arena *arena)
{
	if (self->paranoid == XP_NOT_READABLE)
		return (struct xp_check){ XP_FEATURE_UNKNOWN, "kernel.perf_event_paranoid cannot be read" };
	return (struct xp_check){ sample->status, xp_arena_fmt(arena, "%lld", (long long)self->paranoid) };
}

static struct xp_check check_ptrace_scope(const struct xp_self *self, const struct xp_feature *injection, struct xp_arena *arena)
{
	if (self->ptrace_scope == XP_NOT_READABLE)
		return (struct xp_check){ XP_FEATURE_AVAILABLE, "no Yama" };
	return (struct xp_check){ injection->status, xp_arena_fmt(arena, "%lld", (long long)self->ptrace_scope) };
}

static struct xp_check check_driver(const struct xp_feature *nvml, struct xp_arena *arena)
{
	const char *version = xp_nvidia_module_version(arena);

	if (!version)
		return (struct xp_check){ nvml->status, nvml->status == XP_FEATURE_AVAILABLE ? NULL : "no NVIDIA kernel module is loaded" };
	if (nvml->status == XP_FEATURE_AVAILABLE)
		return (struct xp_check){ XP_FEATURE_AVAILABLE, version };
	return (struct xp_check){ nvml->status, xp_arena_fmt(arena, "kernel module %s; %s", version, nvml->unblock) };
}

static struct xp_check check_toolkit(struct xp_arena *arena)
{
	static const char *const places[] = { "/usr/local/cuda/version.json", "/usr/local/cuda*/lib64/libcudart.so.*",
					      "/opt/cuda*/lib64/libcudart.so.*", "/usr/lib/x86_64-linux-gnu/libcudart.so.*" };

	for (size_t i = 0; i < XP_LEN(places); i++) {
		glob_t found = { 0 };
		const char *path = glob(places[i], 0, NULL, &found) || !found.gl_pathc ? NULL : xp_arena_str(arena, found.gl_pathv[0]);

		globfree(&found);
		if (path)
			return (struct xp_check){ XP_FEATURE_AVAILABLE, path };
	}
	return (struct xp_check){ XP_FEATURE_UNAVAILABLE, "no CUDA toolkit in /usr/local, /opt or the system's libraries" };
}

static struct xp_check check_cupti(struct xp_arena *arena)
{
	const char *old = xp_cupti_path(12, arena), *new = xp_cupti_path(13, arena);

	if (!old && !new)
		return (struct xp_check){ XP_FEATURE_UNAVAILABLE, "no libcupti.so.12 or libcupti.so.13 on disk" };
	return (struct xp_check){ XP_FEATURE_AVAILABLE, xp_arena_fmt(arena, "%s%s%s%s%s", old ? "12: " : "", old ? old : "",
								     old && new ? "; " : "", new ? "13: " : "", new ? new : "") };
}

void xp_doctor_checks(const struct xp_feature features[XP_FEATURE_COUNT], struct xp_arena *arena, struct xp_checks *checks)
{
	struct xp_self self;

	xp_self_read(&self);
	checks->btf = check_btf();
	checks->ebpf_permissions = (struct xp_check){ features[XP_FEATURE_UPROBE].status, features[XP_FEATURE_UPROBE].unblock };
	checks->kernel_lockdown = check_lockdown(&self, arena);
	checks->perf_event_paranoid = check_paranoid(&self, &features[XP_FEATURE_CPU_SAMPLE], arena);
	checks->ptrace_scope = check_ptrace_scope(&self, &features[XP_FEATURE_INJECTION], arena);
	checks->nvidia_driver = check_driver(&features[XP_FEATURE_NVML], arena);
	checks->cuda_toolkit = check_toolkit(arena);
	checks->cupti = check_cupti(arena);
}

/* PRETTY_NAME of os-release. */
static const char *distribution(struct xp_arena *arena, const char *otherwise)
{
	static const char key[] = "PRETTY_NAME=";
	char text[4096] = "";
	xp_auto_fd fd = open("/etc/os-release", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return otherwise;
	char *at = strstr(text, key);
	if (!at)
		return otherwise;
	at += sizeof(key) - 1;
	at += strspn(at, "\"'");
	return xp_arena_dup(arena, at, strcspn(at, "\"'\n"));
}

/* The marks that the runtimes leave; NULL when there is none. */
static const char *container(void)
{
	static const struct {
		const char *path, *word, *kind;
	} marks[] = {
		{ "/run/.containerenv", NULL, "podman" },
		{ "/.dockerenv", NULL, "docker" },
		{ "/proc/self/cgroup", "kubepods", "kubernetes" },
		{ "/proc/self/cgroup", "/docker", "docker" },
		{ "/proc/self/cgroup", "/lxc", "lxc" },
		{ "/proc/1/environ", "container=", "container" },
	};

	if (getenv("KUBERNETES_SERVICE_HOST"))
		return "kubernetes";
	for (size_t i = 0; i < XP_LEN(marks); i++) {
		char text[8192] = "";
		xp_auto_fd fd = open(marks[i].path, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

		if (fd >= 0 && (!marks[i].word || (n > 0 && memmem(text, (size_t)n, marks[i].word, strlen(marks[i].word)))))
			return marks[i].kind;
	}
	return NULL;
}

struct xp_environment xp_doctor_environment(struct xp_arena *arena)
{
	struct utsname name;
	char ns[64] = "";

	if (uname(&name))
		memset(&name, 0, sizeof(name));
	ssize_t len = readlink("/proc/self/ns/pid", ns, sizeof(ns) - 1);
	return (struct xp_environment){
		.operating_system = distribution(arena, "Linux"),
		.architecture = xp_arena_str(arena, name.machine),
		.kernel_release = xp_arena_str(arena, name.release),
		.effective_uid = geteuid(),
		.container = container(),
		.pid_namespace = xp_arena_dup(arena, ns, len > 0 ? (size_t)len : 0),
	};
}

static struct xp_opt_u64 number(const char *path)
{
	int64_t value = xp_self_number(path);
	struct xp_opt_u64 none = { 0 };

	return value < 0 ? none : (struct xp_opt_u64)XP_SOME((uint64_t)value);
}

struct xp_limits xp_doctor_limits(void)
{
	struct xp_limits limits = {
		.perf_mlock_kb = number("/proc/sys/kernel/perf_event_mlock_kb"),
		.perf_max_sample_rate = number("/proc/sys/kernel/perf_event_max_sample_rate"),
	};
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limits.nofile_soft = (struct xp_opt_u64)XP_SOME(limit.rlim_cur);
		limits.nofile_hard = (struct xp_opt_u64)XP_SOME(limit.rlim_max);
	}
	if (!getrlimit(RLIMIT_MEMLOCK, &limit))
		limits.memlock_bytes = (struct xp_opt_u64)XP_SOME(limit.rlim_cur);
	return limits;
}
