/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of struct xp_target, shared by the files of this folder only. */
#ifndef XP_TARGET_TARGET_PRIV_H
#define XP_TARGET_TARGET_PRIV_H

#include <sys/stat.h>

#include "base/arena.h"
#include "target/target.h"

struct xp_target {
	struct xp_target_id id;
	int pidfd;
	int proc_fd;	  /* O_PATH of /proc/PID: bound to this process, never to a later owner of the number */
	int view_fd;	  /* O_PATH of /proc/TID of a live thread when the main thread has ended (it has no memory then); else -1 */
	uint32_t view_id; /* that TID, else the pid: the number in paths handed to the kernel */
	dev_t exe_dev;
	ino_t exe_ino;
	bool exe_known;
	struct xp_arena *arena;
	struct xp_maps maps;
};

/* The directory whose memory files (maps, exe, root, map_files) are alive. */
int xp_target_view(const struct xp_target *target);
/* Chooses that directory anew. TARGET_EXITED when no thread is alive. */
int xp_target_renew_view(struct xp_target *target, struct xp_err *reterr);
/* True when the pidfd says that the whole process has ended. */
bool xp_target_gone(const struct xp_target *target);
/* A failed call on /proc/PID/relative: TARGET_EXITED when the process is gone, else by errno. */
int xp_target_fail(const struct xp_target *target, int errnum, const char *call, const char *relative, struct xp_err *reterr);

/* `text` is a NUL-terminated stat line. False when it is not one. */
bool xp_stat_parse(const char *text, struct xp_stat *ret_stat);

/*
 * `text` is the content of a maps file; it is cut into lines in place. Octal escapes are decoded; " (deleted)" stays in the path, since
 * only a look at the file system tells whether it belongs to the name. False on a line that is none.
 */
bool xp_maps_parse(char *text, struct xp_arena *arena, struct xp_maps *ret_maps);
/* Reads and parses the maps now, deleted files told apart; lives in `arena`. */
int xp_target_read_maps(const struct xp_target *target, struct xp_arena *arena, struct xp_maps *ret_maps, struct xp_err *reterr);

#endif
