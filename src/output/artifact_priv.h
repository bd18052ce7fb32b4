/* SPDX-License-Identifier: Apache-2.0 */
/* Between artifact.c and artifact_folder.c. */
#ifndef XP_OUTPUT_ARTIFACT_PRIV_H
#define XP_OUTPUT_ARTIFACT_PRIV_H

#include "output/artifact.h"

/* Opens a directory for creating, renaming and syncing in it; -1 and errno on failure. */
int xp_artifact_open_dir(const char *path);
/*
 * Makes the temporary for `name` in the open directory. Takes dirfd in every case. `parent` is the directory's absolute path;
 * *committed (may be NULL) is set when the file gets its final name.
 */
int xp_artifact_create(int dirfd, const char *parent, const char *name, bool *committed, struct xp_artifact_file **ret_file,
		       struct xp_err *reterr);
/* path made absolute against the working directory, not resolved; owned by the caller (free). */
int xp_artifact_absolute(const char *path, char **ret_path, struct xp_err *reterr);

#endif
