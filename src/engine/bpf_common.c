/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every BPF engine shares. In: a libbpf object between open and close. Out: its configuration, the stop switch, errors as values.
 * State: libbpf's last warning, because libbpf's print hook takes no context.
 */
#include "engine/bpf_common.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "level.skel.h"
#include "target/trial.h"

/* Inode of the initial PID namespace: fixed in include/linux/proc_ns.h since Linux 3.8 (PROC_PID_INIT_INO). */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu
enum { XP_BPF_DESCRIPTORS = 32 };
#define KERNEL_ENOTSUPP 524 /* include/linux/errno.h; not in user space's errno.h */

/* The one line kept of what libbpf says. Its print hook has no context argument, so the buffer has to be reachable without one. */
static char *last_warning(void)
{
	static _Thread_local char line[192];

	return line;
}

__attribute__((format(printf, 2, 0))) static int keep_line(enum libbpf_print_level level, const char *format, va_list args)
{
	char line[192];

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(line, sizeof(line), format, args);
	line[strcspn(line, "\n")] = '\0';
	if (line[0])
		memcpy(last_warning(), line, sizeof(line));
	return 0;
}

/* Soft limit up to the hard one; more is never needed where it is refused, the failing call names the limit then. */
static void raise_limit(int resource)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(resource, &limit);
}

void xp_bpf_init(void)
{
	libbpf_set_print(keep_line);
	raise_limit(RLIMIT_MEMLOCK);
	raise_limit(RLIMIT_NOFILE);
	last_warning()[0] = '\0';
}

static enum xp_err_code code_of(int errnum)
{
	static const struct {
		int errnum;
		enum xp_err_code code;
	} codes[] = {
		{ EPERM, XP_E_PERMISSION_DENIED }, { EACCES, XP_E_PERMISSION_DENIED }, { E2BIG, XP_E_RESOURCE_LIMIT },
		{ ENOMEM, XP_E_RESOURCE_LIMIT },   { ENOSPC, XP_E_RESOURCE_LIMIT },    { EMFILE, XP_E_RESOURCE_LIMIT },
		{ ENFILE, XP_E_RESOURCE_LIMIT },   { ESRCH, XP_E_TARGET_EXITED },      { KERNEL_ENOTSUPP, XP_E_PROBE_REFUSED },
	};

	for (size_t i = 0; i < XP_LEN(codes); i++)
		if (codes[i].errnum == errnum)
			return codes[i].code;
	return XP_E_INTERNAL;
}

/* No more than libbpf wants for an object: where so few are left it fails in its own trials, and tells EINVAL for it. */
static bool descriptors_are_out(void)
{
	int fds[XP_BPF_DESCRIPTORS], n = 0;

	while (n < XP_BPF_DESCRIPTORS && (fds[n] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)) >= 0)
		n++;
	const bool out = n < XP_BPF_DESCRIPTORS;

	while (n > 0)
		close(fds[--n]);
	return out;
}

int xp_bpf_fail(struct xp_err *reterr, int errnum, const char *call, const char *object)
{
	enum xp_err_code code = code_of(errnum);

	if (code == XP_E_INTERNAL && descriptors_are_out())
		code = code_of(errnum = EMFILE);
	if (code == XP_E_RESOURCE_LIMIT && (errnum == EMFILE || errnum == ENFILE))
		object = errnum == EMFILE ? "RLIMIT_NOFILE" : "fs.file-max";

	/* Contract 15.3: a missing right reads as in the feature that tried it. */
	if (code == XP_E_PERMISSION_DENIED && !strcmp(call, "bpf(BPF_PROG_LOAD)"))
		object = XP_BPF_PROGRAMS;
	xp_fail_call(reterr, code, errnum, call, "%s", object);
	if (code == XP_E_INTERNAL && last_warning()[0])
		xp_err_say(reterr, "%s failed for %s: %s", call, object, last_warning());
	return -(int)code;
}

/* Where a global variable of the object lives: in the initial image before load, in the mapped kernel memory behind it. */
static void *find_variable(struct bpf_object *object, const char *section, const char *name, size_t size)
{
	const struct btf *btf = bpf_object__btf(object);
	int id = btf ? btf__find_by_name_kind(btf, section, BTF_KIND_DATASEC) : -1;
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;
	struct bpf_map *map;

	if (!type)
		return NULL;
	bpf_object__for_each_map(map, object)
	{
		const char *map_name = bpf_map__name(map);
		size_t map_size = 0, len = strlen(map_name), section_len = strlen(section);
		char *image = (char *)bpf_map__initial_value(map, &map_size); /* libbpf says const; the memory is ours to configure */

		/* libbpf calls the map of .data "<object>.data". */
		if (!image || len < section_len || strcmp(map_name + len - section_len, section) != 0)
			continue;
		const struct btf_var_secinfo *var = btf_var_secinfos(type);

		for (unsigned i = 0; i < btf_vlen(type); i++) {
			const struct btf_type *t = btf__type_by_id(btf, var[i].type);

			if (t && !strcmp(btf__name_by_offset(btf, t->name_off), name) && var[i].size == size &&
			    var[i].offset + size <= map_size)
				return image + var[i].offset;
		}
	}
	return NULL;
}

static int store_u32(struct bpf_object *object, const char *section, const char *name, uint32_t value, struct xp_err *reterr)
{
	volatile uint32_t *slot = find_variable(object, section, name, sizeof(*slot));

	if (!slot)
		return xp_fail(reterr, XP_E_INTERNAL, "BPF object %s has no variable %s", bpf_object__name(object), name);
	__atomic_store_n(slot, value, __ATOMIC_SEQ_CST);
	return 0;
}

static int run_level(uint32_t *ret_level, struct xp_err *reterr)
{
	struct xp_level *skel = xp_level__open_and_load();

	if (!skel)
		return xp_bpf_fail(reterr, errno, "bpf(BPF_PROG_LOAD)", "namespace level");
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int failed = bpf_prog_test_run_opts(bpf_program__fd(skel->progs.xp_level), &opts);
	int errnum = errno, level = (int)opts.retval;

	xp_level__destroy(skel);
	if (failed)
		return xp_bpf_fail(reterr, errnum, "bpf(BPF_PROG_TEST_RUN)", "namespace level");
	if (level < 0)
		return xp_fail(reterr, XP_E_INTERNAL, "the kernel told no PID namespace for this process");
	*ret_level = (uint32_t)level;
	return 0;
}

int xp_bpf_ns_level(uint32_t *ret_level, struct xp_err *reterr)
{
	struct stat st;

	/* Loading a program costs milliseconds, so the usual case is told by the inode alone. */
	if (stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == INITIAL_PID_NAMESPACE) {
		*ret_level = 0;
		return 0;
	}
	return run_level(ret_level, reterr);
}

int xp_bpf_set_target(struct bpf_object *object, uint32_t pid, struct xp_err *reterr)
{
	uint32_t level;
	int r = xp_bpf_ns_level(&level, reterr);

	if (!r)
		r = store_u32(object, ".rodata", "xp_tgid", pid, reterr);
	if (!r)
		r = store_u32(object, ".rodata", "xp_ns_level", level, reterr);
	return r;
}

static bool are_several(const struct xp_bpf_targets *targets)
{
	return targets->n > 1 || targets->as_several;
}

int xp_bpf_set_targets(struct bpf_object *object, const struct xp_bpf_targets *targets, struct xp_err *reterr)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, "xp_targets");
	int r = xp_bpf_set_target(object, targets->pids[0], reterr);

	if (r)
		return r;
	r = map ? bpf_map__set_max_entries(map, (__u32)targets->n) : -ENOENT;
	if (r)
		return xp_bpf_fail(reterr, -r, "bpf_map__set_max_entries", "table of processes");
	return store_u32(object, ".rodata", "xp_several", are_several(targets), reterr);
}

int xp_bpf_fill_targets(struct bpf_object *object, const struct xp_bpf_targets *targets, struct xp_err *reterr)
{
	int map = bpf_object__find_map_fd_by_name(object, "xp_targets");

	for (uint32_t i = 0; i < targets->n && are_several(targets); i++)
		if (bpf_map_update_elem(map, &targets->pids[i], &i, BPF_ANY))
			return xp_bpf_fail(reterr, errno, "bpf(BPF_MAP_UPDATE_ELEM)", "table of processes");
	return 0;
}

size_t xp_bpf_target_index(const struct xp_bpf_targets *targets, uint32_t pid)
{
	size_t i = 0;

	while (i < targets->n && targets->pids[i] != pid)
		i++;
	return i;
}

int xp_bpf_switch(struct bpf_object *object, bool off, struct xp_err *reterr)
{
	return store_u32(object, ".data", "xp_off", off, reterr);
}
