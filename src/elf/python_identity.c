// SPDX-License-Identifier: Apache-2.0
/* Marks of code objects, as the sampling programs make them (bpf/python_mark.h). In: addresses. Out: what lies there now. No state. */
#include <sys/uio.h>

#include "elf/python_identity.h"

struct piece {
	struct iovec local[2 * XP_PYTHON_BATCH], remote[2 * XP_PYTHON_BATCH];
	size_t n, bytes;
};

static void add(struct piece *piece, void *to, uint64_t from, size_t bytes)
{
	piece->local[piece->n] = (struct iovec){ to, bytes };
	piece->remote[piece->n++] = (struct iovec){ (void *)(uintptr_t)from, bytes };
	piece->bytes += bytes;
}

static bool gather(const struct xp_python *python, struct piece *piece)
{
	pid_t pid = (pid_t)xp_target_pid(python->target);
	ssize_t done = process_vm_readv(pid, piece->local, piece->n, piece->remote, piece->n, 0);
	bool whole = done == (ssize_t)piece->bytes;

	piece->n = piece->bytes = 0;
	return whole;
}

static uint64_t text_of(const struct xp_python *python, const struct xp_python_identity *identity, uint32_t member)
{
	uint64_t text;

	memcpy(&text, (const char *)identity->head + member - python->layout.code_start, sizeof(text));
	return text;
}

bool xp_python_identify(const struct xp_python *python, const uint64_t *codes, size_t n, uint32_t *ret_marks)
{
	const struct xp_python_layout *layout = &python->layout;
	struct xp_python_identity found[XP_PYTHON_BATCH] = { 0 };
	struct piece piece = { .n = 0 };

	for (size_t i = 0; i < n; i++)
		add(&piece, found[i].head, codes[i] + layout->code_start, layout->code_bytes);
	if (!gather(python, &piece))
		return false;
	for (size_t i = 0; i < n; i++) {
		add(&piece, found[i].name, text_of(python, &found[i], layout->code_name) + layout->text_length, 2 * sizeof(uint64_t));
		add(&piece, found[i].file, text_of(python, &found[i], layout->code_file) + layout->text_length, 2 * sizeof(uint64_t));
	}
	if (!gather(python, &piece))
		return false;
	for (size_t i = 0; i < n; i++) {
		uint64_t name = text_of(python, &found[i], layout->code_name), file = text_of(python, &found[i], layout->code_file);

		add(&piece, &found[i].name[2], name + layout->text_data + found[i].name[0] - sizeof(uint64_t), sizeof(uint64_t));
		add(&piece, &found[i].file[2], file + layout->text_data + found[i].file[0] - sizeof(uint64_t), sizeof(uint64_t));
	}
	if (!gather(python, &piece))
		return false;
	for (size_t i = 0; i < n; i++)
		ret_marks[i] = xp_python_mark(&found[i]);
	return true;
}
