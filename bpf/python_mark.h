/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which code object this is. In: its address. Out: a mark of what it is now, since the tool reads its name later, when it may be gone and
 * another one in its place. A read that fails leaves zeros, so the mark fits no object, and nothing branches.
 */
#ifndef XP_BPF_PYTHON_MARK_H
#define XP_BPF_PYTHON_MARK_H

#include "python_state.h"

static __always_inline void python_text_mark(const struct python_walk *walk, __u64 *words, __u64 text)
{
	bpf_probe_read_user(words, 2 * sizeof(*words), (const void *)(text + PYTHON(walk, text_length)));
	bpf_probe_read_user(words + 2, sizeof(*words), (const void *)(text + PYTHON(walk, text_data) + words[0] - sizeof(*words)));
}

static __always_inline __u32 python_mark(struct python_walk *walk, __u64 code)
{
	struct xp_python_identity *identity = &walk->identity;
	const __u8 *head = (const __u8 *)identity->head;

	bpf_probe_read_user(identity->head, PYTHON_AT(walk, code_bytes), (const void *)(code + PYTHON(walk, code_start)));
	python_text_mark(walk, identity->name, *(const __u64 *)(head + PYTHON_HEAD_AT(walk, code_name)));
	python_text_mark(walk, identity->file, *(const __u64 *)(head + PYTHON_HEAD_AT(walk, code_file)));
	return xp_python_mark(identity);
}

#endif
