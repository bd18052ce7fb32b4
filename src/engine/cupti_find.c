/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses a libcupti by the mappings of a target and the files beside them. In: target. Out: path and major. No state. */
#include "engine/cupti_find.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/cupti_find_priv.h"

enum { OLDEST = XP_CUDA_OLDEST, NEWEST = XP_CUDA_NEWEST, PATH_BYTES = 4096, ENVIRON_BYTES = 1 << 17 };

/* A regular file at that path in the target's own view. */
static bool exists(const struct xp_target *target, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	struct stat st;
	xp_auto_fd root = xp_target_openat(target, "root");
	xp_auto_fd file = root >= 0 ? (int)syscall(SYS_openat2, root, path, &how, sizeof(how)) : -1;

	return file >= 0 && !fstat(file, &st) && S_ISREG(st.st_mode);
}

struct search {
	const struct xp_target *target;
	struct xp_arena *arena;
	const char *found;
	struct xp_text tried;
};

static bool try_path(struct search *search, const char *path)
{
	if (search->found)
		return true;
	if (exists(search->target, path)) {
		search->found = xp_arena_str(search->arena, path);
		return true;
	}
	if (search->tried.len < 1024)
		xp_text_fmt(&search->tried, "%s%s", search->tried.len ? ", " : "", path);
	return false;
}

/* Beside a mapped libcudart: the toolkit's extras, the wheel of the same tree (nvidia/cu13/lib, nvidia/cuda_cupti/lib). */
static void try_beside(struct search *search, const char *cudart, unsigned major)
{
	static const char *const places[] = { "libcupti.so.%u", "../extras/CUPTI/lib64/libcupti.so.%u",
					      "../../../extras/CUPTI/lib64/libcupti.so.%u", "../../cuda_cupti/lib/libcupti.so.%u" };
	const char *slash = strrchr(cudart, '/');
	char place[64], path[PATH_BYTES];

	for (size_t i = 0; slash && i < XP_LEN(places); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(place, sizeof(place), places[i], major);
#pragma GCC diagnostic pop
		snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - cudart), cudart, place);
		if (try_path(search, path))
			return;
	}
}

static void try_usual(struct search *search, unsigned major)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.%u", major);
	try_path(search, path);
	snprintf(path, sizeof(path), "/usr/local/cuda-%u/extras/CUPTI/lib64/libcupti.so.%u", major, major);
	try_path(search, path);
	for (unsigned minor = 10; minor-- > 0 && !search->found;) {
		snprintf(path, sizeof(path), "/usr/local/cuda-%u.%u/extras/CUPTI/lib64/libcupti.so.%u", major, minor, major);
		if (exists(search->target, path))
			try_path(search, path);
	}
	snprintf(path, sizeof(path), "/usr/lib/x86_64-linux-gnu/libcupti.so.%u", major);
	try_path(search, path);
}

static int not_found(struct search *search, struct xp_err *reterr)
{
	int rc = xp_fail(reterr, XP_E_CUPTI_NOT_AVAILABLE, "no libcupti in the target's view; tried %s",
			 search->tried.data ? search->tried.data : "");

	xp_err_object(reterr, "libcupti");
	xp_err_hint(reterr, "install the CUPTI of the CUDA version that the program uses (toolkit, or the nvidia-cuda-cupti wheel)");
	return rc;
}

/* A colon-separated list of folders: each with `below` behind it. */
static void try_folders(struct search *search, const char *list, const char *below, unsigned major)
{
	char path[PATH_BYTES];

	for (const char *p = list; *p && !search->found;) {
		size_t len = strcspn(p, ":");

		snprintf(path, sizeof(path), "%.*s/%slibcupti.so.%u", (int)len, p, below, major);
		if (len && *p == '/' && exists(search->target, path))
			try_path(search, path);
		p += len + (p[len] == ':');
	}
}

/* Where the program itself was told to look for CUDA, the plainest word first. Its environment is read for these names only, and kept
 * nowhere. */
static void try_environment(struct search *search, unsigned major)
{
	static const struct {
		const char *name, *below;
	} hints[] = {
		{ "CUDA_HOME=", "extras/CUPTI/lib64/" },
		{ "CUDA_PATH=", "extras/CUPTI/lib64/" },
		{ "LD_LIBRARY_PATH=", "" },
		{ "PATH=", "../extras/CUPTI/lib64/" },
		{ "PATH=", "../lib64/" },
	};
	xp_auto(xp_free) void *block = calloc(1, ENVIRON_BYTES);
	ssize_t n = block ? xp_target_read(search->target, "environ", block, ENVIRON_BYTES) : -1;

	for (size_t i = 0; i < XP_LEN(hints); i++)
		for (const char *p = block; n > 0 && p < (char *)block + n && !search->found; p += strlen(p) + 1)
			if (!strncmp(p, hints[i].name, strlen(hints[i].name)))
				try_folders(search, p + strlen(hints[i].name), hints[i].below, major);
}

/* Which major the target speaks: asked for, else its libcudart's, else its driver's or newest mapped libcupti's, else unknown (0). */
static int choose_major(const struct xp_cuda_seen *seen, unsigned cuda_major, unsigned *ret_major, struct xp_err *reterr)
{
	bool both = seen->cudart[OLDEST] && seen->cudart[NEWEST];

	if (both && !cuda_major) {
		int rc = xp_fail(reterr, XP_E_AMBIGUOUS_TARGET, "the target maps libcudart of CUDA 12 and of CUDA 13");

		xp_err_detail(reterr, "candidates", json_pack("[s,s]", seen->cudart[OLDEST], seen->cudart[NEWEST]));
		xp_err_hint(reterr, "choose one with --cuda-major");
		return rc;
	}
	*ret_major = cuda_major;
	for (unsigned major = OLDEST; !*ret_major && major <= NEWEST; major++)
		if (seen->cudart[major])
			*ret_major = major;
	if (!*ret_major && seen->driver_major && seen->cupti[seen->driver_major])
		*ret_major = seen->driver_major;
	for (unsigned major = NEWEST; !*ret_major && major >= OLDEST; major--)
		if (seen->cupti[major])
			*ret_major = major;
	if (*ret_major || !seen->other_major)
		return 0;
	int rc = xp_fail(reterr, XP_E_UNSUPPORTED_CUDA_VERSION, "the target uses CUDA %u; 12 and 13 are supported", seen->other_major);
	xp_err_object(reterr, "libcudart");
	return rc;
}

int xp_cupti_find(const struct xp_target *target, unsigned cuda_major, struct xp_arena *arena, struct xp_cupti_choice *ret_choice,
		  struct xp_err *reterr)
{
	struct xp_cuda_seen seen = xp_cuda_look(target);
	struct search search = { .target = target, .arena = arena };
	unsigned major;

	if (!seen.driver)
		return xp_fail(reterr, XP_E_CUDA_CONTEXT_NOT_FOUND, "process %u does not map libcuda, so it has no CUDA context",
			       xp_target_pid(target));
	int rc = choose_major(&seen, cuda_major, &major, reterr);
	if (rc)
		return rc;
	if (major && seen.cupti[major]) {
		*ret_choice = (struct xp_cupti_choice){ .major = major, .mapped = true, .path = xp_arena_str(arena, seen.cupti[major]) };
		return 0;
	}
	for (unsigned m = NEWEST; m >= OLDEST && !search.found; m--) {
		if (major ? m != major : seen.driver_major && m > seen.driver_major)
			continue;
		if (seen.cudart[m])
			try_beside(&search, seen.cudart[m], m);
		try_environment(&search, m);
		try_usual(&search, m);
		if (search.found)
			major = m;
	}
	rc = search.found ? 0 : not_found(&search, reterr);
	xp_text_done(&search.tried);
	if (!rc)
		*ret_choice = (struct xp_cupti_choice){ .major = major, .path = search.found };
	return rc;
}
