/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of `xprobe dev` (and `capture`, the same) with a file of their own; dev.c holds their list and their flags. */
#ifndef XP_CMD_DEV_H
#define XP_CMD_DEV_H

#include "cmd/command.h"
#include "output/output.h"

/* Bits of xp_flag.modes. */
enum xp_dev_mode { XP_DEV_CUPTI = 1, XP_DEV_UPROBE = 2, XP_DEV_AGENT = 4 };

struct xp_dev_part {
	const char *word;
	enum xp_dev_mode mode;
	bool takes_word; /* a second word, which run() judges */
	int (*run)(struct xp_session *session, struct xp_err *reterr);
};
extern const struct xp_dev_part xp_dev_cupti, xp_dev_uprobe, xp_dev_agent;

/* Every event of the capture as JSONL on stdout; OUTPUT_FAILED, or CANCELLED by input->stop. */
int xp_dev_print_events(const struct xp_output_input *input, struct xp_err *reterr);

#endif
