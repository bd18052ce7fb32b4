// SPDX-License-Identifier: Apache-2.0
/* Who answers to NVML's numbers in /proc, and whether its files agree. In: the list. Out: claims and confirmations. No state. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "engine/gpu_holders.h"
#include "target/gpu_files.h"
#include "target/status.h"

enum { MAX_PROCESSES = 65536, MAX_CLAIMS = 4 * XP_NVML_MAX_PROCESSES };

struct claims {
	struct xp_gpu_claim *at;
	size_t n, cap;
	bool cut;
};

static bool lists(const struct xp_nvml_list *list, uint32_t number)
{
	for (uint32_t i = 0; i < list->n_processes; i++)
		if (list->processes[i].number == number)
			return true;
	return false;
}

static void add(struct claims *claims, struct xp_arena *arena, uint32_t number, uint32_t pid, bool own)
{
	if (claims->n == MAX_CLAIMS) {
		claims->cut = true;
		return;
	}
	if (claims->n == claims->cap) {
		size_t cap = claims->cap ? 2 * claims->cap : 64;
		struct xp_gpu_claim *bigger = xp_arena_array(arena, struct xp_gpu_claim, cap);

		if (claims->n)
			memcpy(bigger, claims->at, claims->n * sizeof(*bigger));
		claims->at = bigger;
		claims->cap = cap;
	}
	claims->at[claims->n++] = (struct xp_gpu_claim){ number, pid, own };
}

/* All numbers of one process that NVML lists, our own first. */
static void claim(struct claims *claims, const struct xp_nvml_list *list, const struct xp_process_status *status, uint32_t pid,
		  struct xp_arena *arena)
{
	if (lists(list, pid))
		add(claims, arena, pid, pid, true);
	for (size_t i = 1; i < status->n_ns_pid; i++)
		if (status->ns_pid[i] != pid && lists(list, status->ns_pid[i]))
			add(claims, arena, status->ns_pid[i], pid, false);
}

static bool read_status(uint32_t pid, struct xp_process_status *ret_status)
{
	char path[32], text[16384];

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	xp_auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (len <= 0)
		return false;
	text[len] = '\0';
	return xp_status_parse(text, ret_status);
}

static void claim_all(struct claims *claims, const struct xp_nvml_list *list, struct xp_arena *arena)
{
	DIR *proc = opendir("/proc");
	unsigned n = 0;

	if (!proc)
		return;
	for (struct dirent *entry = readdir(proc); entry; entry = readdir(proc)) {
		struct xp_process_status status;
		uint64_t pid;

		if (!xp_parse_u64(entry->d_name, &pid) || pid > UINT32_MAX)
			continue;
		if (n++ == MAX_PROCESSES) {
			claims->cut = true;
			break;
		}
		if (read_status((uint32_t)pid, &status))
			claim(claims, list, &status, (uint32_t)pid, arena);
	}
	closedir(proc);
}

/* One process may be asked about for many devices; its files are looked at once. */
struct seen {
	struct xp_arena *arena;
	struct known {
		struct xp_target_id id;
		struct xp_gpu_files files;
		bool open; /* false: it cannot be inspected */
	} * at;
	size_t n, cap;
};

static struct known look_at(uint32_t pid)
{
	xp_auto(xp_target_close) struct xp_target *target = NULL;
	struct known known = { .id = { .pid = pid } };
	xp_auto_err err = { 0 };

	if (xp_target_open(pid, NULL, &target, &err))
		return known;
	known.open = true;
	known.id = *xp_target_identity(target);
	xp_gpu_files_read(target, &known.files);
	return known;
}

static const struct known *find(struct seen *seen, uint32_t pid)
{
	for (size_t i = 0; i < seen->n; i++)
		if (seen->at[i].id.pid == pid)
			return &seen->at[i];
	if (seen->n == seen->cap) {
		size_t cap = seen->cap ? 2 * seen->cap : 32;
		struct known *bigger = xp_arena_array(seen->arena, struct known, cap);

		if (seen->n)
			memcpy(bigger, seen->at, seen->n * sizeof(*bigger));
		seen->at = bigger;
		seen->cap = cap;
	}
	seen->at[seen->n] = look_at(pid);
	return &seen->at[seen->n++];
}

static bool confirm(void *arg, uint32_t pid, struct xp_opt_u32 minor, struct xp_target_id *ret_id)
{
	const struct known *known = find(arg, pid);

	*ret_id = known->id;
	return known->open && xp_gpu_files_fit(&known->files, minor);
}

void xp_gpu_holders_find(const struct xp_nvml_list *list, struct xp_arena *arena, struct xp_gpu_holders *ret_holders)
{
	struct claims claims = { 0 };
	struct seen seen = { .arena = arena };

	if (list->n_processes)
		claim_all(&claims, list, arena);
	xp_gpu_holders_choose(list, claims.at, claims.n, confirm, &seen, arena, ret_holders);
	ret_holders->cut = claims.cut;
}

/* Only a number of a nested namespace can be anybody else's as well. */
static void claim_target(struct claims *claims, const struct xp_nvml_list *list, const struct xp_target *target, struct xp_arena *arena)
{
	struct claims own = { 0 };
	struct xp_process_status status;
	xp_auto_err err = { 0 };

	if (!list->n_processes || xp_target_status(target, &status, &err))
		return;
	claim(&own, list, &status, xp_target_pid(target), arena);
	for (size_t i = 0; i < own.n; i++)
		if (!own.at[i].own) {
			claim_all(claims, list, arena);
			return;
		}
	*claims = own;
}

void xp_gpu_holders_of(const struct xp_nvml_list *list, const struct xp_target *target, struct xp_arena *arena,
		       struct xp_gpu_holders *ret_holders)
{
	struct claims claims = { 0 };
	struct seen seen = { .arena = arena };
	struct xp_gpu_holders all;

	claim_target(&claims, list, target, arena);
	*ret_holders = (struct xp_gpu_holders){ .cut = claims.cut };
	if (!claims.n)
		return;
	xp_gpu_holders_choose(list, claims.at, claims.n, confirm, &seen, arena, &all);
	for (size_t i = 0; i < all.n; i++)
		if (all.at[i].id.pid == xp_target_pid(target)) {
			ret_holders->at = &all.at[i];
			ret_holders->n = 1;
		}
}
