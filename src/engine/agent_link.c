/* SPDX-License-Identifier: Apache-2.0 */
/* The link to a target's agent: identity, lease, commands. In: the shared file, of which nothing is believed unchecked. Owns its mapping.
 */
#include "engine/agent_link.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine/agent_find.h"
#include "engine/agent_link_priv.h"

enum { STALE_NS = 1000000000, SEAL_SHRINK = 2, GET_SEALS = 1034 };

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* The innermost of NSpid: what the target calls itself. */
static uint32_t own_pid_of(const struct xp_target *target)
{
	char status[4096];
	ssize_t n = xp_target_read(target, "status", status, sizeof(status));
	const char *line = n > 0 ? strstr(status, "\nNSpid:") : NULL;
	uint32_t pid = xp_target_pid(target);

	for (const char *p = line ? line + strlen("\nNSpid:") : "\n"; *p && *p != '\n'; p++)
		if (*p >= '0' && *p <= '9') {
			pid = (uint32_t)strtoul(p, (char **)&p, 10);
			p--;
		}
	return pid;
}

/* Magic and owner. An agent that could not read /proc knows no start time; a copy in a forked child is told by its pid then. */
static bool is_of_target(const struct xp_target *target, const struct xp_agent_identity *identity)
{
	uint64_t start = xp_target_identity(target)->process_start_time;

	return !memcmp(identity->magic, XP_AGENT_MAGIC, sizeof(identity->magic)) && identity->owner_pid == own_pid_of(target) &&
	       (!identity->owner_start_time || identity->owner_start_time == start);
}

static bool identity_fits(const struct xp_target *target, const struct xp_agent_identity *identity)
{
	return identity->version == XP_AGENT_VERSION && identity->control_size == sizeof(struct xp_agent_control) &&
	       is_of_target(target, identity);
}

/* An agent of another control version: idle it is left alone, at work nobody else can be. */
static int check_other(const struct xp_target *target, int fd, struct xp_err *reterr)
{
	struct {
		struct xp_agent_identity identity;
		struct xp_agent_word word;
	} other;
	int rc;

	if (pread(fd, &other, sizeof(other), 0) != sizeof(other) || other.identity.version == XP_AGENT_VERSION ||
	    !is_of_target(target, &other.identity) || other.word.state == XP_AGENT_IDLE || other.word.state == XP_AGENT_GONE)
		return 0;
	rc = xp_fail(reterr, XP_E_TARGET_BUSY, "an agent of control version %u is at work in the target; this xprobe speaks version %d",
		     other.identity.version, XP_AGENT_VERSION);
	xp_err_detail(reterr, "holder", json_sprintf("agent of control version %u", other.identity.version));
	xp_err_hint(reterr, "wait until it is idle, or use the xprobe that brought it");
	return rc;
}

/* A file that could shrink could end us by SIGBUS: only a sealed one is mapped. It is mapped to its largest size, since it grows at ARM. */
static int map_file(struct xp_agent_link *link, int fd)
{
	int seals = fcntl(fd, GET_SEALS);
	struct stat st;
	void *memory;

	if (seals < 0 || !(seals & SEAL_SHRINK) || fstat(fd, &st) || st.st_size < XP_AGENT_DATA_OFFSET)
		return -1;
	memory = mmap(NULL, XP_AGENT_FILE_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (memory == MAP_FAILED)
		return -1;
	link->memory = memory;
	link->control = memory;
	link->fd = fd;
	return 0;
}

static void unmap_file(struct xp_agent_link *link)
{
	if (link->memory)
		munmap(link->memory, XP_AGENT_FILE_MAX);
	if (link->fd >= 0)
		close(link->fd);
	link->memory = NULL;
	link->fd = -1;
}

int xp_agent_link_open(struct xp_target *target, struct xp_agent_link **ret_link, struct xp_err *reterr)
{
	xp_auto(xp_agent_link_close) struct xp_agent_link *link = calloc(1, sizeof(*link));
	xp_auto_err refused = {}, busy = {};
	uint64_t cursor = 0;
	int fd;

	if (!link)
		return xp_fail_sys(reterr, ENOMEM, "calloc", "agent link");
	link->fd = -1;
	while ((fd = xp_agent_find_next(target, &cursor, &refused)) != -1) {
		if (fd < 0)
			continue;
		if (check_other(target, fd, &busy)) {
			close(fd);
			return xp_err_move(reterr, &busy);
		}
		if (map_file(link, fd)) {
			close(fd);
			continue;
		}
		if (identity_fits(target, &link->control->identity)) {
			link->sequence = link->control->word.sequence;
			*ret_link = xp_steal(&link);
			return 0;
		}
		unmap_file(link);
	}
	if (refused.code)
		return xp_err_move(reterr, &refused);
	return xp_fail(reterr, XP_E_CUPTI_AGENT_NOT_LOADED, "process %u has no agent of control version %d", xp_target_pid(target),
		       XP_AGENT_VERSION);
}

void xp_agent_link_close(struct xp_agent_link *link)
{
	if (!link)
		return;
	/* The records' pages are charged to the target, and read by now; an agent that is still stopping may write yet. */
	if (link->token && xp_agent_link_state(link) == XP_AGENT_IDLE)
		fallocate(link->fd, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, XP_AGENT_DATA_OFFSET, XP_AGENT_DATA_MAX);
	if (link->token)
		__atomic_compare_exchange_n(&link->control->lease.owner, &(__u64){ link->token }, 0, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
	unmap_file(link);
	free(link);
}

static int held_by_other(const struct xp_agent_lease *lease, struct xp_err *reterr)
{
	char holder[sizeof(lease->session) + 1] = "";
	int rc;

	memcpy(holder, lease->session, sizeof(lease->session));
	rc = xp_fail(reterr, XP_E_TARGET_BUSY, "another xprobe session holds the agent of the target");
	xp_err_detail(reterr, "holder", json_string(holder));
	return rc;
}

static bool renewed_lately(const struct xp_agent_lease *lease)
{
	return now_ns() - __atomic_load_n(&lease->renewed_ns, __ATOMIC_RELAXED) < STALE_NS;
}

struct xp_agent_lease xp_agent_link_lease(const struct xp_agent_link *link)
{
	struct xp_agent_lease lease = link->control->lease;

	if (lease.owner == link->token || !renewed_lately(&lease))
		lease.owner = 0;
	return lease;
}

/* Compare-and-swap decides between two tools; a lease that nobody renewed for a second is nobody's. */
int xp_agent_link_acquire(struct xp_agent_link *link, const char *session, struct xp_err *reterr)
{
	struct xp_agent_lease *lease = &link->control->lease;
	__u64 owner = __atomic_load_n(&lease->owner, __ATOMIC_ACQUIRE), token = 0;
	bool fresh = owner && owner != link->token && renewed_lately(lease);

	if (getrandom(&token, sizeof(token), 0) != sizeof(token) || !token)
		token = (uint64_t)getpid() << 32 | (now_ns() & UINT32_MAX) | 1;
	if (fresh || !__atomic_compare_exchange_n(&lease->owner, &owner, token, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return held_by_other(lease, reterr);
	link->token = token;
	memset(lease->session, 0, sizeof(lease->session));
	snprintf(lease->session, sizeof(lease->session), "%s", session);
	lease->tool_pid = (uint32_t)getpid();
	lease->open_ns = 0;
	lease->close_ns = 0;
	xp_agent_link_renew(link);
	return 0;
}

void xp_agent_link_renew(struct xp_agent_link *link)
{
	__atomic_store_n(&link->control->lease.renewed_ns, now_ns(), __ATOMIC_RELAXED);
	__atomic_fetch_add(&link->control->lease.renewals, 1, __ATOMIC_RELAXED);
}

void xp_agent_link_window(struct xp_agent_link *link, uint64_t open_ns, uint64_t close_ns)
{
	__atomic_store_n(&link->control->lease.open_ns, open_ns, __ATOMIC_SEQ_CST);
	__atomic_store_n(&link->control->lease.close_ns, close_ns, __ATOMIC_SEQ_CST);
}

void xp_agent_link_send(struct xp_agent_link *link, uint32_t command, const struct xp_agent_request *request)
{
	struct xp_agent_word *word = &link->control->word;

	if (request) {
		link->control->request = *request;
		link->capacity = request->capacity;
		link->aggregate = request->mode == XP_AGENT_AGGREGATE;
		link->tail = 0;
		link->head = 0;
		link->told = 0;
		link->names_read = 0;
		link->captures = link->control->captures;
	}
	word->command = command;
	link->sequence++;
	link->sequence += !link->sequence; /* 0 cancels nothing */
	__atomic_store_n(&word->sequence, link->sequence, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &word->sequence, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

bool xp_agent_link_answered(const struct xp_agent_link *link)
{
	return __atomic_load_n(&link->control->word.reply, __ATOMIC_ACQUIRE) == link->sequence;
}

void xp_agent_link_cancel(struct xp_agent_link *link)
{
	__atomic_store_n(&link->control->word.cancel, link->sequence, __ATOMIC_SEQ_CST);
}

uint32_t xp_agent_link_state(const struct xp_agent_link *link)
{
	return __atomic_load_n(&link->control->word.state, __ATOMIC_ACQUIRE);
}

uint32_t xp_agent_link_ended(const struct xp_agent_link *link)
{
	return link->control->word.ended;
}

struct xp_agent_counters xp_agent_link_counters(const struct xp_agent_link *link)
{
	return link->control->counters;
}

uint64_t xp_agent_link_clock_error(const struct xp_agent_link *link)
{
	return link->control->clock_error_ns;
}

struct xp_agent_identity xp_agent_link_identity(const struct xp_agent_link *link)
{
	return link->control->identity;
}

const char *xp_agent_link_cupti_path(struct xp_agent_link *link)
{
	memcpy(link->cupti_path, link->control->cupti_path, sizeof(link->cupti_path) - 1);
	return link->cupti_path;
}
