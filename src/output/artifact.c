/* SPDX-License-Identifier: Apache-2.0 */
/* One file, whole or not at all. In: bytes through a sink. Out: the file under its final name. State: the open temporary. */
#include "output/artifact.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output/artifact_priv.h"

enum { BUFFER = 256 * 1024, TEMP_TRIES = 1000 };

struct xp_artifact_file {
	int dirfd, fd;
	char *path;		 /* absolute final path */
	const char *name;	 /* its last part, inside path */
	char temp[NAME_MAX + 1]; /* "" when there is no temporary (any more) */
	struct xp_text buffer;
	uint64_t bytes;
	bool *committed;
};

static int fail(struct xp_err *reterr, int errnum, const char *call, const char *path)
{
	return xp_fail_call(reterr, XP_E_TRACE_EXPORT_FAILED, errnum, call, "%s", path);
}

static int refuse(struct xp_err *reterr, const char *path, const char *why)
{
	int rc = xp_fail(reterr, XP_E_TRACE_EXPORT_FAILED, "cannot write %.200s: %s", path, why);

	xp_err_object(reterr, "%s", path);
	return rc;
}

int xp_artifact_absolute(const char *path, char **ret_path, struct xp_err *reterr)
{
	char *absolute;

	if (path[0] == '/') {
		absolute = strdup(path);
		if (!absolute)
			return fail(reterr, ENOMEM, "strdup", path);
	} else {
		xp_auto_text here = getcwd(NULL, 0);

		if (!here)
			return fail(reterr, errno, "getcwd", path);
		if (asprintf(&absolute, "%s%s%s", here, strcmp(here, "/") ? "/" : "", path) < 0)
			return fail(reterr, ENOMEM, "asprintf", path);
	}
	*ret_path = absolute;
	return 0;
}

int xp_artifact_open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* A folder that may be entered and written but not listed serves as well; it is only not synced. */
	if (fd < 0 && errno == EACCES)
		fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd;
}

/* What lies under the name must be nothing, a file or a link. The name itself is looked at, never what it points to. */
static int check_name(int dirfd, const char *name, const char *path, struct xp_err *reterr)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : fail(reterr, errno, "fstatat", path);
	if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
		return 0;
	if (S_ISDIR(st.st_mode))
		return refuse(reterr, path, "it is a directory");
	if (S_ISFIFO(st.st_mode))
		return refuse(reterr, path, "it is a FIFO");
	if (S_ISSOCK(st.st_mode))
		return refuse(reterr, path, "it is a socket");
	return refuse(reterr, path, "it is a device");
}

/* Splits an absolute path and opens its parent; *ret_name points into `path`. */
static int open_parent(char *path, int *ret_dirfd, char **ret_parent, const char **ret_name, struct xp_err *reterr)
{
	const char *name = strrchr(path, '/') + 1;

	if (!name[0])
		return refuse(reterr, path, "it names a directory");
	xp_auto_text parent = strndup(path, name - 1 == path ? 1 : (size_t)(name - 1 - path));
	if (!parent)
		return fail(reterr, ENOMEM, "strndup", path);
	xp_auto_fd dirfd = xp_artifact_open_dir(parent);
	if (dirfd < 0) {
		fail(reterr, errno, "open", parent);
		xp_err_hint(reterr, "name a file in a folder that exists: none is made");
		return -XP_E_TRACE_EXPORT_FAILED;
	}
	int rc = check_name(dirfd, name, path, reterr);
	if (rc)
		return rc;
	if (faccessat(dirfd, ".", W_OK | X_OK, AT_EACCESS))
		return fail(reterr, errno, "faccessat", parent);
	*ret_dirfd = xp_steal_fd(&dirfd);
	*ret_parent = xp_steal(&parent);
	*ret_name = name;
	return 0;
}

static int prepare(const char *path, char **ret_path, int *ret_dirfd, char **ret_parent, const char **ret_name, struct xp_err *reterr)
{
	xp_auto_text absolute = NULL;
	int rc;

	if (!path[0])
		return refuse(reterr, path, "the path is empty");
	rc = xp_artifact_absolute(path, &absolute, reterr);
	if (!rc)
		rc = open_parent(absolute, ret_dirfd, ret_parent, ret_name, reterr);
	if (!rc)
		*ret_path = xp_steal(&absolute);
	return rc;
}

int xp_artifact_check_destination(const char *path, struct xp_err *reterr)
{
	xp_auto_text absolute = NULL;
	xp_auto_text parent = NULL;
	xp_auto_fd dirfd = -1;
	const char *name;

	return prepare(path, &absolute, &dirfd, &parent, &name, reterr);
}

int xp_artifact_open(const char *path, struct xp_artifact_file **ret_file, struct xp_err *reterr)
{
	xp_auto_text absolute = NULL;
	xp_auto_text parent = NULL;
	xp_auto_fd dirfd = -1;
	const char *name;
	int rc = prepare(path, &absolute, &dirfd, &parent, &name, reterr);

	return rc ? rc : xp_artifact_create(xp_steal_fd(&dirfd), parent, name, NULL, ret_file, reterr);
}

/* A name that someone planted is an existing file to O_EXCL, a link to O_NOFOLLOW: the next number is tried. */
static int create_temporary(struct xp_artifact_file *file, struct xp_err *reterr)
{
	enum { OVERHEAD = 48 }; /* "." ".xprobe-" pid "-" n ".tmp" */

	for (unsigned n = 0; n < TEMP_TRIES; n++) {
		char temp[NAME_MAX + 1];

		snprintf(temp, sizeof(temp), ".%.*s.xprobe-%d-%u.tmp", NAME_MAX - OVERHEAD, file->name, (int)getpid(), n);
		file->fd = openat(file->dirfd, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (file->fd >= 0) {
			memcpy(file->temp, temp, sizeof(temp));
			return 0;
		}
		if (errno != EEXIST)
			return fail(reterr, errno, "openat", file->path);
	}
	return refuse(reterr, file->path, "every name for its temporary file is taken");
}

int xp_artifact_create(int dirfd, const char *parent, const char *name, bool *committed, struct xp_artifact_file **ret_file,
		       struct xp_err *reterr)
{
	xp_auto_fd owned = dirfd;
	xp_auto(xp_artifact_close) struct xp_artifact_file *file = calloc(1, sizeof(*file));

	if (!file)
		return fail(reterr, ENOMEM, "calloc", name);
	file->fd = -1;
	file->dirfd = xp_steal_fd(&owned);
	file->committed = committed;
	if (asprintf(&file->path, "%s%s%s", parent, strcmp(parent, "/") ? "/" : "", name) < 0) {
		file->path = NULL;
		return fail(reterr, ENOMEM, "asprintf", name);
	}
	file->name = file->path + strlen(file->path) - strlen(name);
	int rc = create_temporary(file, reterr);
	if (rc)
		return rc;
	*ret_file = xp_steal(&file);
	return 0;
}

void xp_artifact_close(struct xp_artifact_file *file)
{
	if (!file)
		return;
	if (file->temp[0])
		unlinkat(file->dirfd, file->temp, 0);
	xp_close_p(&file->fd);
	xp_close_p(&file->dirfd);
	xp_text_done(&file->buffer);
	free(file->path);
	free(file);
}

static int write_out(struct xp_artifact_file *file, const char *bytes, size_t len, struct xp_err *reterr)
{
	while (len) {
		ssize_t n = write(file->fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(reterr, n ? errno : EIO, "write", file->path);
		bytes += n;
		len -= (size_t)n;
		file->bytes += (uint64_t)n;
	}
	return 0;
}

static int flush(struct xp_artifact_file *file, struct xp_err *reterr)
{
	size_t len = file->buffer.len;

	file->buffer.len = 0;
	return write_out(file, file->buffer.data, len, reterr);
}

static int sink_write(void *arg, const char *bytes, size_t len, struct xp_err *reterr)
{
	struct xp_artifact_file *file = arg;
	int rc = 0;

	if (file->buffer.len + len > BUFFER)
		rc = flush(file, reterr);
	if (!rc && len > BUFFER)
		rc = write_out(file, bytes, len, reterr);
	else if (!rc)
		xp_text_add(&file->buffer, bytes, len);
	return rc;
}

struct xp_sink xp_artifact_sink(struct xp_artifact_file *file)
{
	return (struct xp_sink){ .write = sink_write, .arg = file };
}

/* EINVAL and ENOTSUP: the file system has no such call, EBADF: the folder was opened by O_PATH. Neither says that data is lost. */
static bool sync_failed(int fd)
{
	return fsync(fd) && errno != EINVAL && errno != ENOTSUP && errno != EBADF;
}

int xp_artifact_commit(struct xp_artifact_file *file, struct xp_arena *arena, struct xp_artifact *ret_artifact, struct xp_err *reterr)
{
	int rc = flush(file, reterr);

	if (rc)
		return rc;
	if (sync_failed(file->fd))
		return fail(reterr, errno, "fsync", file->path);
	rc = check_name(file->dirfd, file->name, file->path, reterr);
	if (rc)
		return rc;
	if (renameat(file->dirfd, file->temp, file->dirfd, file->name))
		return fail(reterr, errno, "renameat", file->path);
	file->temp[0] = '\0';
	if (sync_failed(file->dirfd)) {
		int errnum = errno;

		unlinkat(file->dirfd, file->name, 0);
		return fail(reterr, errnum, "fsync", file->path);
	}
	if (file->committed)
		*file->committed = true;
	*ret_artifact = (struct xp_artifact){ .path = xp_arena_str(arena, file->path), .bytes = file->bytes };
	return 0;
}

int xp_artifact_write_record(struct xp_artifact_file *file, const struct xp_record *record, const void *value, struct xp_arena *arena,
			     struct xp_artifact *ret_artifact, struct xp_err *reterr)
{
	xp_auto(xp_artifact_close) struct xp_artifact_file *owned = file;
	xp_auto_builder text = { 0 };
	struct xp_json json = { .out = &text };

	xp_record_write(&json, record, value, false);
	xp_text_char(&text, '\n');
	int rc = sink_write(owned, text.data, text.len, reterr);
	if (!rc)
		rc = xp_artifact_commit(owned, arena, ret_artifact, reterr);
	if (!rc)
		ret_artifact->format = "json";
	return rc;
}
