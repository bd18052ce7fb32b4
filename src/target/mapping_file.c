/* SPDX-License-Identifier: Apache-2.0 */
/* From a mapping to the file behind it, also when that was deleted, replaced, or lies in another mount namespace. No state. */
#include "target/target_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static void map_files_name(const struct xp_mapping *m, char *ret_name, size_t size)
{
	snprintf(ret_name, size, "map_files/%lx-%lx", (unsigned long)m->start, (unsigned long)m->end);
}

/* Names in maps are told up to the root of the mount namespace, so the target's own root is taken off the front first. */
static const char *below_root(const struct xp_target *target, const char *path)
{
	char root[4096];
	ssize_t len = readlinkat(xp_target_view(target), "root", root, sizeof(root) - 1);

	if (len <= 1 || strncmp(path, root, (size_t)len) || path[len] != '/')
		return path;
	return path + len;
}

int xp_target_path_open(const struct xp_target *target, const char *path)
{
	xp_auto_fd root = openat(xp_target_view(target), "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* Absolute symbolic links inside the target's root must not lead out of it; O_PATH opens no pipe or device by accident. */
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };

	if (root < 0)
		return -errno;
	long fd = syscall(SYS_openat2, root, below_root(target, path), &how, sizeof(how));
	return fd >= 0 ? (int)fd : -errno;
}

static bool is_file(const struct xp_mapping *m, const struct stat *st)
{
	return st->st_ino == m->inode && major(st->st_dev) == m->dev_major && minor(st->st_dev) == m->dev_minor;
}

bool xp_target_same_file(const struct xp_target *target, const struct xp_mapping *mapping, const struct stat *st)
{
	char name[64];
	struct stat mapped;

	if (is_file(mapping, st))
		return true;
	map_files_name(mapping, name, sizeof(name));
	return !fstatat(xp_target_view(target), name, &mapped, 0) && mapped.st_dev == st->st_dev && mapped.st_ino == st->st_ino;
}

static bool same_mapping(const struct xp_mapping *a, const struct xp_mapping *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor && !strcmp(a->path, b->path);
}

/*
 * Checks that map_files/LO-HI exists and still belongs to the mapping's file; where the snapshot's range is gone (split, merged, unmapped)
 * another range of the same file serves as well. False: no such range, or the folder may not be read.
 */
static bool find_range(const struct xp_target *target, const struct xp_mapping *mapping, char *ret_name, size_t size)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	xp_auto_err ignored = { 0 }; /* the caller goes on to the next way */
	struct xp_maps now;
	struct stat st;

	map_files_name(mapping, ret_name, size);
	int refused = fstatat(xp_target_view(target), ret_name, &st, 0) ? errno : 0;
	if (!refused && is_file(mapping, &st))
		return true;
	if (refused == EPERM || refused == EACCES || xp_target_read_maps(target, arena, &now, &ignored))
		return false;
	for (size_t i = 0; i < now.n; i++) {
		if (!same_mapping(&now.at[i], mapping))
			continue;
		map_files_name(&now.at[i], ret_name, size);
		if (!fstatat(xp_target_view(target), ret_name, &st, 0))
			return true;
	}
	return false;
}

static bool exe_fits(const struct xp_target *target, const struct xp_mapping *mapping)
{
	struct stat st;

	return !fstatat(xp_target_view(target), "exe", &st, 0) && xp_target_same_file(target, mapping, &st);
}

/* Descriptor (O_PATH) of the file at the mapping's path when it is the mapped one, else -1. */
static int path_fits(const struct xp_target *target, const struct xp_mapping *mapping)
{
	xp_auto_fd fd = mapping->path[0] == '/' ? xp_target_path_open(target, mapping->path) : -1;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || !xp_target_same_file(target, mapping, &st))
		return -1;
	return xp_steal_fd(&fd);
}

static int not_reachable(const struct xp_mapping *mapping, struct xp_err *reterr)
{
	xp_fail_call(reterr, XP_E_BINARY_NOT_MAPPED, 0, "open", "%s", mapping->path);
	xp_err_say(reterr, "no way leads to the mapped file %s (inode %lu)", mapping->path[0] ? mapping->path : "(anonymous)",
		   (unsigned long)mapping->inode);
	if (geteuid())
		xp_err_hint(reterr, "grant xprobe CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE, so that it may read /proc/PID/map_files");
	return -XP_E_BINARY_NOT_MAPPED;
}

int xp_target_open_mapping(const struct xp_target *target, const struct xp_mapping *mapping, int *ret_fd, struct xp_err *reterr)
{
	char name[64];
	int fd = -1;

	if (!mapping->inode)
		return not_reachable(mapping, reterr);
	if (find_range(target, mapping, name, sizeof(name)))
		fd = openat(xp_target_view(target), name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && exe_fits(target, mapping))
		fd = openat(xp_target_view(target), "exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		xp_auto_fd place = path_fits(target, mapping);

		if (place >= 0) {
			snprintf(name, sizeof(name), "/proc/self/fd/%d", place);
			fd = open(name, O_RDONLY | O_CLOEXEC);
		}
	}
	if (fd < 0)
		return not_reachable(mapping, reterr);
	*ret_fd = fd;
	return 0;
}

int xp_target_mapping_path(const struct xp_target *target, const struct xp_mapping *mapping, char *ret_path, size_t size,
			   struct xp_err *reterr)
{
	char name[64];
	int len = -1;

	if (mapping->inode && find_range(target, mapping, name, sizeof(name))) {
		len = snprintf(ret_path, size, "/proc/%u/%s", target->view_id, name);
	} else if (mapping->inode && exe_fits(target, mapping)) {
		len = snprintf(ret_path, size, "/proc/%u/exe", target->view_id);
	} else if (mapping->inode) {
		xp_auto_fd place = path_fits(target, mapping);

		if (place >= 0)
			len = snprintf(ret_path, size, "/proc/%u/root%s", target->view_id, below_root(target, mapping->path));
	}
	if (len < 0)
		return not_reachable(mapping, reterr);
	if ((size_t)len >= size)
		return xp_fail_call(reterr, XP_E_RESOURCE_LIMIT, ENAMETOOLONG, "snprintf", "path of %s", mapping->path);
	return 0;
}

bool xp_target_mapping_replaced(const struct xp_target *target, const struct xp_mapping *mapping)
{
	struct stat st;

	if (!mapping->inode || mapping->path[0] != '/')
		return false;
	if (mapping->deleted &&
	    (!strncmp(mapping->path, "/memfd:", 7) || !strncmp(mapping->path, "/dev/zero", 9) || !strncmp(mapping->path, "/SYSV", 5)))
		return false; /* never had a name on disk */
	xp_auto_fd fd = xp_target_path_open(target, mapping->path);
	return fd < 0 || fstat(fd, &st) || !xp_target_same_file(target, mapping, &st);
}
