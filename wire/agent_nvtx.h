/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX in the agent's memory file (contract 10.17): where the tool found copies of the header's globals, the names of ranges that were
 * seen, and what became of the copies. Both sides treat what the other one wrote as untrusted.
 */
#ifndef XP_WIRE_AGENT_NVTX_H
#define XP_WIRE_AGENT_NVTX_H

#include "wire/wire.h"

#define XP_AGENT_SITES_OFFSET 4096u
#define XP_AGENT_SITE_FILES 1024
#define XP_AGENT_SITES 5624

/* Written by the tool, kept between captures: a file that is mapped where it was looked at before is not read again. */
struct xp_agent_sites {
	__u32 n_files;
	__u32 n_sites;	/* raised behind the sites, also while a capture runs */
	__u32 overflow; /* sites that had no room */
	__u32 pad;
	__u64 looked_ns;    /* how long looking through files has taken so far, */
	__u64 looked_bytes; /* and how much of them was read */
	__u64 last_ns;	    /* the last look, at files that were known */
	__u64 zero[3];
	struct {
		__u64 start, file; /* first address of the mapped file; hash of device and inode */
	} files[XP_AGENT_SITE_FILES];
	__u64 sites[XP_AGENT_SITES]; /* addresses in the target that look like globals of an NVTX header */
};
XP_WIRE_SIZE(struct xp_agent_sites, 61440);

/* A text, written by the thread that met it first. Its id is the index + 1; records of NVTX ranges name it. */
#define XP_AGENT_NVTX_TEXT 128
struct xp_agent_nvtx_text {
	__u64 hash; /* 0: free */
	__u32 length;
	__u32 ready; /* 0 not yet, 1 whole, 2 cut */
	char text[XP_AGENT_NVTX_TEXT];
};
XP_WIRE_SIZE(struct xp_agent_nvtx_text, 144);
#define XP_AGENT_NVTX_NAMES 16384u
#define XP_AGENT_NVTX_NAMES_BYTES (XP_AGENT_NVTX_NAMES * 144u) /* a multiple of the page size */

/* Written by the agent, from ARM on. */
struct xp_agent_nvtx {
	__u64 copies;	/* hooked */
	__u64 fresh;	/* of them not used by their library yet */
	__u64 foreign;	/* left to another tool */
	__u64 refused;	/* left alone: another shape, or out of reach */
	__u64 twins;	/* that nobody uses: their tables lead to another copy of the same library */
	__u64 maths;	/* left alone: unused ones of the CUDA maths libraries */
	__u64 missed;	/* may have been called unseen in this capture before they were hooked */
	__u64 unnamed;	/* ranges whose text is a string registered before the agent knew of it */
	__u64 unplaced; /* ranges or threads that had no room */
	__u64 calls;	/* times that ours ran */
	__u64 loads;	/* libraries loaded so far: the tool looks again when it changes */
	__u64 walk_ns;	/* how long the last look at the sites took */
};
XP_WIRE_SIZE(struct xp_agent_nvtx, 96);

#endif
