/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files for the caller, contract 12: written beside their final name and renamed over it whole, so that a reader never sees half a
 * file, a planted link is replaced rather than followed, and a failure leaves nothing behind. Every failure is TRACE_EXPORT_FAILED.
 */
#ifndef XP_OUTPUT_ARTIFACT_H
#define XP_OUTPUT_ARTIFACT_H

#include "collect/document.h"
#include "output/sink.h"

/*
 * For --events-out, before anything is attached: the parent must be a directory that lets us create files, and the name free, a
 * regular file or a symlink (which will be replaced). Directories, FIFOs, sockets and devices are refused.
 */
int xp_artifact_check_destination(const char *path, struct xp_err *reterr);

struct xp_artifact_file;

/* Checks the destination and makes the temporary beside it. Returns owned. */
int xp_artifact_open(const char *path, struct xp_artifact_file **ret_file, struct xp_err *reterr);
/* Buffers; borrowed by the sink until commit or close. */
struct xp_sink xp_artifact_sink(struct xp_artifact_file *file);
/*
 * Everything to disk, then under the final name. Fills path (absolute, in `arena`) and bytes of *ret_artifact; format and event_count
 * are the caller's. On failure the final name is as before or, when the folder could not be synced, free.
 */
int xp_artifact_commit(struct xp_artifact_file *file, struct xp_arena *arena, struct xp_artifact *ret_artifact, struct xp_err *reterr);
/* Removes the temporary unless it was committed. Accepts NULL. */
void xp_artifact_close(struct xp_artifact_file *file);
XP_DEFINE_AUTO(struct xp_artifact_file *, xp_artifact_close);

/* One compact JSON document and a line end under the folder or path that `file` was opened for; commits. Takes file. */
int xp_artifact_write_record(struct xp_artifact_file *file, const struct xp_record *record, const void *value, struct xp_arena *arena,
			     struct xp_artifact *ret_artifact, struct xp_err *reterr);

/* The private folder of one command, $TMPDIR/xprobe-XXXXXX; made when its first file is opened. */
struct xp_artifact_folder;
struct xp_artifact_folder *xp_artifact_folder_new(void);
/* Removes the folder again when no file was committed in it. Accepts NULL. */
void xp_artifact_folder_free(struct xp_artifact_folder *folder);
XP_DEFINE_AUTO(struct xp_artifact_folder *, xp_artifact_folder_free);
/* Before anything is attached: $TMPDIR, or /tmp, is a directory that lets us create files. */
int xp_artifact_folder_check(struct xp_err *reterr);
/* `sub`: subfolder such as pid-4242, or NULL. Returns owned; the folder must outlive the file. */
int xp_artifact_open_in(struct xp_artifact_folder *folder, const char *sub, const char *name, struct xp_artifact_file **ret_file,
			struct xp_err *reterr);
/* Absolute path; NULL while the folder is not there. */
const char *xp_artifact_folder_path(const struct xp_artifact_folder *folder);

#endif
