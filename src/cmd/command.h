/* SPDX-License-Identifier: Apache-2.0 */
/* One command a file and one row in command_list.def. Only cmd/ prints and chooses exit codes. */
#ifndef XP_CMD_COMMAND_H
#define XP_CMD_COMMAND_H

#include "base/note.h"

/* What a flag takes. */
enum xp_flag_kind { XP_FLAG_SWITCH, XP_FLAG_U64, XP_FLAG_SHARE, XP_FLAG_TEXT };

struct xp_flag {
	const char *name; /* "--duration-ms" */
	enum xp_flag_kind kind;
	const char *value; /* "N", "SELECTOR": for help */
	const char *doc;   /* one line, default and bounds included */
	uint64_t min, max; /* U64: outside is SESSION_LIMIT_EXCEEDED with details.limit */
	double max_share;  /* SHARE: 0..max_share */
	bool repeatable;
	unsigned modes; /* bits of the command's own mode enum; 0 = all */
};

/* One flag as given, in command-line order. */
struct xp_flag_use {
	const struct xp_flag *flag;
	const char *text;
	uint64_t number;
	double share;
};

/* A parsed command line and everything a command needs to answer. Lives in main. */
struct xp_session {
	struct xp_arena *arena;
	const char *session_id; /* xp_<command>_<pid>_<8 hex> */
	const char *program;	/* how a reader calls this xprobe again: "xprobe", "sudo build/xprobe" */
	const struct xp_command *command;
	struct xp_flag_use *uses;
	size_t n_uses;
	const char *const *words; /* arguments that are not flags */
	size_t n_words;
	bool json, pretty, color;
	struct xp_warnings warnings;
	/* Set by the command; printed by main after it returns 0. */
	const struct xp_record *record;
	const void *value;
	void (*human)(const void *value, struct xp_text *out, bool color);
	/* Shrinks value for the size budget: one step a call, false when nothing is left to cut. NULL: no lists. */
	bool (*shrink)(void *value);
	size_t budget; /* bytes of compact JSON; 0 = none */
	bool printed;  /* the command wrote its own output (jsonl) */
};

struct xp_command {
	const char *name, *summary, *usage;
	const struct xp_flag *flags;
	size_t n_flags;
	bool hidden;
	bool captures;	    /* a signal ends the window, not the command; else it ends the command at once */
	unsigned max_words; /* positional arguments allowed, e.g. `dev uprobe` */
	/* 0, or -code with *reterr filled. Sets session->record and value. */
	int (*run)(struct xp_session *session, struct xp_err *reterr);
};

/* The use of a flag, NULL when not given; the last one for repeatable flags. */
const struct xp_flag_use *xp_flag_find(const struct xp_session *session, const char *name);
bool xp_flag_on(const struct xp_session *session, const char *name);
uint64_t xp_flag_u64(const struct xp_session *session, const char *name, uint64_t otherwise);
const char *xp_flag_text(const struct xp_session *session, const char *name, const char *otherwise);
/* INVALID_ARGUMENT naming the flag when one was given whose modes exclude `mode`. */
int xp_flags_check_mode(const struct xp_session *session, unsigned mode, const char *mode_name, struct xp_err *reterr);

#endif
