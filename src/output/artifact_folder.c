/* SPDX-License-Identifier: Apache-2.0 */
/* The private folder of a command. In: file names. Out: artifact files inside it. State: its path and an open descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output/artifact_priv.h"

enum { MAX_SUBFOLDERS = 128 };

struct xp_artifact_folder {
	char *path; /* NULL while there is none */
	int fd;
	bool committed;
	char *subs[MAX_SUBFOLDERS]; /* made below path */
	size_t n_subs;
};

static int fail(struct xp_err *reterr, int errnum, const char *call, const char *path)
{
	return xp_fail_call(reterr, XP_E_TRACE_EXPORT_FAILED, errnum, call, "%s", path);
}

struct xp_artifact_folder *xp_artifact_folder_new(void)
{
	struct xp_artifact_folder *folder = calloc(1, sizeof(*folder));

	if (!folder)
		abort();
	folder->fd = -1;
	return folder;
}

void xp_artifact_folder_free(struct xp_artifact_folder *folder)
{
	if (!folder)
		return;
	for (size_t i = 0; i < folder->n_subs; i++) {
		if (!folder->committed)
			unlinkat(folder->fd, folder->subs[i], AT_REMOVEDIR);
		free(folder->subs[i]);
	}
	xp_close_p(&folder->fd);
	if (folder->path && !folder->committed)
		rmdir(folder->path);
	free(folder->path);
	free(folder);
}

const char *xp_artifact_folder_path(const struct xp_artifact_folder *folder)
{
	return folder->path;
}

static const char *parent_of_folders(void)
{
	const char *parent = getenv("TMPDIR");

	return parent && parent[0] ? parent : "/tmp";
}

int xp_artifact_folder_check(struct xp_err *reterr)
{
	const char *parent = parent_of_folders();
	xp_auto_fd fd = xp_artifact_open_dir(parent);

	if (fd >= 0 && !faccessat(fd, ".", W_OK | X_OK, AT_EACCESS))
		return 0;
	fail(reterr, errno, fd < 0 ? "open" : "faccessat", parent);
	xp_err_hint(reterr, "results are kept below TMPDIR, /tmp without it: set it to a folder that xprobe may write to");
	return -XP_E_TRACE_EXPORT_FAILED;
}

/* The folder must be the one just made: a directory of ours that nobody else may enter. */
static int check_private(int fd, const char *path, struct xp_err *reterr)
{
	struct stat st;

	if (fstat(fd, &st))
		return fail(reterr, errno, "fstat", path);
	if (st.st_uid == geteuid() && !(st.st_mode & 077))
		return 0;
	return xp_fail(reterr, XP_E_TRACE_EXPORT_FAILED, "the private folder %.200s was replaced by someone else's", path);
}

static int make(struct xp_artifact_folder *folder, struct xp_err *reterr)
{
	xp_auto_text parent = NULL;
	xp_auto_text path = NULL;
	int rc = xp_artifact_absolute(parent_of_folders(), &parent, reterr);

	if (rc)
		return rc;
	size_t len = strlen(parent);
	while (len > 1 && parent[len - 1] == '/')
		parent[--len] = '\0';
	if (asprintf(&path, "%s%sxprobe-XXXXXX", parent, len > 1 ? "/" : "") < 0) {
		path = NULL;
		return fail(reterr, ENOMEM, "asprintf", parent);
	}
	if (!mkdtemp(path))
		return fail(reterr, errno, "mkdtemp", path);
	xp_auto_fd fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		int errnum = errno;

		rmdir(path);
		return fail(reterr, errnum, "open", path);
	}
	rc = check_private(fd, path, reterr);
	if (rc)
		return rc;
	folder->fd = xp_steal_fd(&fd);
	folder->path = xp_steal(&path);
	return 0;
}

static bool know_sub(const struct xp_artifact_folder *folder, const char *sub)
{
	for (size_t i = 0; i < folder->n_subs; i++)
		if (!strcmp(folder->subs[i], sub))
			return true;
	return false;
}

static int make_sub(struct xp_artifact_folder *folder, const char *sub, struct xp_err *reterr)
{
	if (know_sub(folder, sub))
		return 0;
	if (folder->n_subs == MAX_SUBFOLDERS)
		return fail(reterr, 0, "mkdirat", sub);
	xp_auto_text copy = strdup(sub);
	if (!copy)
		return fail(reterr, ENOMEM, "strdup", sub);
	if (mkdirat(folder->fd, sub, 0700))
		return fail(reterr, errno, "mkdirat", sub);
	folder->subs[folder->n_subs++] = xp_steal(&copy);
	return 0;
}

int xp_artifact_open_in(struct xp_artifact_folder *folder, const char *sub, const char *name, struct xp_artifact_file **ret_file,
			struct xp_err *reterr)
{
	xp_auto_text parent = NULL;
	int rc = folder->path ? 0 : make(folder, reterr);

	if (!rc && sub)
		rc = make_sub(folder, sub, reterr);
	if (rc)
		return rc;
	if (asprintf(&parent, "%s%s%s", folder->path, sub ? "/" : "", sub ? sub : "") < 0) {
		parent = NULL;
		return fail(reterr, ENOMEM, "asprintf", name);
	}
	xp_auto_fd fd = openat(folder->fd, sub ? sub : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fail(reterr, errno, "openat", parent);
	return xp_artifact_create(xp_steal_fd(&fd), parent, name, &folder->committed, ret_file, reterr);
}
