/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's life: start, memory file, its one thread and its commands, the end of the process. Owns the one state of the agent. */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/compat.h"
#include "agent/gate.h"

struct agent xp_agent = { .fd = -1 };

enum { TID_OFFSET = 0x2d0, START_TIME_FIELD = 22 };

uint64_t xp_agent_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * AGENT_NS_PER_S + (uint64_t)now.tv_nsec;
}

void xp_agent_sleep_ms(unsigned ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l };

	nanosleep(&time, NULL);
}

static uint32_t tid_by_offset(unsigned offset)
{
	uint32_t tid;

	memcpy(&tid, (const char *)xp_agent_self() + offset, sizeof(tid));
	return tid;
}

/* A callback may not enter the kernel: glibc keeps the thread id in the thread's own block, at one place since 2.3.4. */
uint32_t xp_agent_tid(void)
{
	return xp_agent.tid_offset ? tid_by_offset(xp_agent.tid_offset) : (uint32_t)syscall(SYS_gettid);
}

static unsigned find_tid_offset(void)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);

	return tid_by_offset(TID_OFFSET) == tid ? TID_OFFSET : 0;
}

void *xp_agent_map(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

int xp_agent_say(uint32_t status, const char *call, int cupti_status, const char *detail)
{
	struct xp_agent_word *word = &xp_agent.control->word;

	memset(word->call, 0, sizeof(word->call));
	memset(word->detail, 0, sizeof(word->detail));
	if (call)
		strncpy(word->call, call, sizeof(word->call) - 1);
	if (detail)
		strncpy(word->detail, detail, sizeof(word->detail) - 1);
	word->cupti_status = (uint32_t)cupti_status;
	return (int)status;
}

uint64_t xp_agent_stat_field(unsigned number)
{
	char text[1024];
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	uint64_t value = 0;
	const char *p;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	p = strrchr(text, ')');
	for (unsigned field = 2; p && field < number; field++)
		p = strchr(p + 1, ' ');
	for (p = p ? p + 1 : ""; *p >= '0' && *p <= '9'; p++)
		value = value * 10 + (uint64_t)(*p - '0');
	return value;
}

static int note_build_id(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct xp_agent_identity *identity = arg;
	ElfW(Addr) self = (ElfW(Addr))(uintptr_t)&xp_agent;
	bool ours = false;

	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		ours |= info->dlpi_phdr[i].p_type == PT_LOAD &&
			self - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz;
	for (unsigned i = 0; ours && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		const char *at = (const char *)info->dlpi_addr + phdr->p_vaddr, *end = at + phdr->p_memsz;

		while (phdr->p_type == PT_NOTE && end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *note = (const void *)at;
			const char *name = at + sizeof(*note), *id = name + ((note->n_namesz + 3) & ~3u);

			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !memcmp(name, "GNU", 4) && note->n_descsz <= 20) {
				memcpy(identity->build_id, id, note->n_descsz);
				identity->build_id_bytes = note->n_descsz;
			}
			at = id + ((note->n_descsz + 3) & ~3u);
		}
	}
	return ours;
}

/* Kernels from 6.3 on may insist on the third flag; older ones do not know it. */
static int make_file(void)
{
	const unsigned flags = 1u /* MFD_CLOEXEC */ | 2u /* MFD_ALLOW_SEALING */;
	int fd = (int)syscall(SYS_memfd_create, XP_AGENT_MEMFD, flags | 8u /* MFD_NOEXEC_SEAL */);

	return fd < 0 && errno == EINVAL ? (int)syscall(SYS_memfd_create, XP_AGENT_MEMFD, flags) : fd;
}

/*
 * The descriptor stays open for the tool to find. MADV_DONTFORK keeps the mapping out of forked children, the wiped page tells callbacks
 * there to stay away from it, also where a child was made around fork handlers.
 */
static int make_memory(void)
{
	int fd = make_file();
	long page = sysconf(_SC_PAGESIZE);
	void *live, *memory;

	if (fd < 0)
		return -errno;
	live = xp_agent_map((size_t)page);
	memory = mmap(NULL, XP_AGENT_FILE_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (!live || madvise(live, (size_t)page, 18 /* MADV_WIPEONFORK */) || memory == MAP_FAILED || ftruncate(fd, XP_AGENT_DATA_OFFSET) ||
	    fcntl(fd, 1033 /* F_ADD_SEALS */, 2 /* F_SEAL_SHRINK */)) {
		int error = errno;

		if (live)
			munmap(live, (size_t)page);
		if (memory != MAP_FAILED)
			munmap(memory, XP_AGENT_FILE_MAX);
		close(fd);
		return -error;
	}
	madvise(memory, XP_AGENT_FILE_MAX, MADV_DONTFORK);
	xp_agent.fd = fd;
	xp_agent.memory = memory;
	xp_agent.control = memory;
	xp_agent.live = live;
	return 0;
}

static void fill_identity(void)
{
	struct xp_agent_identity *identity = &xp_agent.control->identity;

	xp_agent.pid = (uint32_t)getpid();
	identity->version = XP_AGENT_VERSION;
	identity->control_size = sizeof(*xp_agent.control);
	identity->owner_pid = xp_agent.pid;
	identity->owner_start_time = xp_agent_stat_field(START_TIME_FIELD);
	xp_agent_objects(note_build_id, identity);
	/* The magic comes last: with it the rest is whole. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(identity->magic, XP_AGENT_MAGIC, sizeof(identity->magic));
}

static bool armed(void)
{
	return xp_agent.control->word.state == XP_AGENT_ARMED;
}

/* A counter that stands still for a second on our own clock: the tool is dead, stopped, or starved beyond use. */
bool xp_agent_lease_lost(void)
{
	uint64_t renewals = __atomic_load_n(&xp_agent.control->lease.renewals, __ATOMIC_RELAXED), now_ns = xp_agent_now();

	if (renewals != xp_agent.lease_seen || !xp_agent.lease_ns) {
		xp_agent.lease_seen = renewals;
		xp_agent.lease_ns = now_ns;
	}
	return now_ns - xp_agent.lease_ns > AGENT_LEASE_MS * AGENT_NS_PER_MS;
}

bool xp_agent_cancelled(uint32_t sequence)
{
	const struct xp_agent_word *word = &xp_agent.control->word;

	return __atomic_load_n(&xp_agent.exiting, __ATOMIC_ACQUIRE) || __atomic_load_n(&word->cancel, __ATOMIC_ACQUIRE) == sequence ||
	       xp_agent_lease_lost();
}

static void stop_capture(uint32_t why)
{
	struct xp_agent_word *word = &xp_agent.control->word;

	word->ended = why;
	__atomic_store_n(&word->state, XP_AGENT_STOPPING, __ATOMIC_RELEASE);
	xp_agent_stop();
	__atomic_store_n(&word->state, XP_AGENT_IDLE, __ATOMIC_RELEASE);
}

static int arm(uint32_t sequence)
{
	struct xp_agent_word *word = &xp_agent.control->word;
	int status;

	if (armed())
		return xp_agent_say(XP_AGENT_WRONG_STATE, NULL, 0, "armed");
	xp_agent.lease_ns = 0;
	word->ended = 0;
	__atomic_store_n(&word->state, XP_AGENT_ARMING, __ATOMIC_RELEASE);
	status = xp_agent_arm(sequence);
	__atomic_store_n(&word->state, status ? XP_AGENT_IDLE : XP_AGENT_ARMED, __ATOMIC_RELEASE);
	return status;
}

static int obey(uint32_t sequence, uint32_t command)
{
	xp_agent_say(XP_AGENT_OK, NULL, 0, NULL);
	switch (command) {
	case XP_AGENT_ARM:
		return arm(sequence);
	case XP_AGENT_STOP:
		if (armed())
			stop_capture(0);
		return XP_AGENT_OK;
	case XP_AGENT_STATUS:
		if (armed())
			xp_agent_tick();
		return XP_AGENT_OK;
	default:
		return xp_agent_say(XP_AGENT_BAD_REQUEST, NULL, 0, "command");
	}
}

static void answer(uint32_t sequence, int status)
{
	struct xp_agent_word *word = &xp_agent.control->word;

	word->status = (uint32_t)status;
	__atomic_store_n(&word->reply, sequence, __ATOMIC_RELEASE);
	syscall(SYS_futex, &word->reply, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void wait_for_command(uint32_t answered, int timeout_ms)
{
	struct timespec time = { .tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000l };

	syscall(SYS_futex, &xp_agent.control->word.sequence, FUTEX_WAIT, answered, timeout_ms < 0 ? NULL : &time, NULL, 0);
}

static void watch_capture(void)
{
	xp_agent_tick();
	if (xp_agent_lease_lost())
		stop_capture(XP_AGENT_ENDED_LEASE);
	else if (xp_agent_now() > xp_agent.deadline_ns)
		stop_capture(XP_AGENT_ENDED_DEADLINE);
	else if (xp_agent.flush.behind)
		stop_capture(XP_AGENT_ENDED_BEHIND);
}

static void *run(void *arg)
{
	uint32_t answered = 0;

	prctl(PR_SET_NAME, "xprobe-agent");
	/* Both threads that look must find their id at the same place. */
	if (xp_agent.tid_offset && find_tid_offset() != xp_agent.tid_offset)
		xp_agent.tid_offset = 0;
	xp_agent.thread = pthread_self();
	xp_agent.control->identity.agent_tid = (uint32_t)syscall(SYS_gettid);
	xp_agent_objects_guard();
	fill_identity();
	while (!__atomic_load_n(&xp_agent.exiting, __ATOMIC_ACQUIRE)) {
		uint32_t sequence = __atomic_load_n(&xp_agent.control->word.sequence, __ATOMIC_ACQUIRE);

		if (sequence != answered) {
			answer(sequence, obey(sequence, xp_agent.control->word.command));
			answered = sequence;
		} else {
			bool waiting = xp_agent_quarantine_release();

			int idle_ms = armed() ? AGENT_TICK_MS : xp_agent_gate_idle(waiting ? AGENT_QUARANTINE_MS : -1, answered);

			wait_for_command(answered, idle_ms);
		}
		if (armed())
			watch_capture();
	}
	return arg;
}

/* Runs before libcupti's own exit handlers, since it was registered later: from here on no call enters CUPTI; one under way may end. */
void xp_agent_exit(void)
{
	if (!xp_agent_is_live())
		return;
	__atomic_store_n(&xp_agent.exiting, true, __ATOMIC_SEQ_CST);
	__atomic_store_n(&xp_agent.view.generation, 0, __ATOMIC_SEQ_CST);
	xp_agent.control->word.ended = XP_AGENT_ENDED_EXIT;
	/* A stop that holds the program's threads must not be left half way. */
	for (unsigned i = 0; i < (xp_agent.gate.closed ? 2000 : 50) && __atomic_load_n(&xp_agent.in_cupti, __ATOMIC_SEQ_CST); i++)
		xp_agent_sleep_ms(1);
	__atomic_store_n(&xp_agent.control->word.state, XP_AGENT_GONE, __ATOMIC_RELEASE);
}

static int start_thread(void)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, AGENT_STACK_BYTES);
	/* The new thread inherits a full mask: signals of the program are never delivered to us. */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, &attr, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -error;
}

/* 0, also when it runs already; negative errno. Loads nothing and calls nothing of CUDA. */
int xprobe_agent_start(void)
{
	static int started;
	int error;

	if (__atomic_exchange_n(&started, 1, __ATOMIC_SEQ_CST))
		return xp_agent_is_live() ? 0 : -EBUSY;
	xp_agent.tid_offset = find_tid_offset();
	error = make_memory();
	if (error)
		return error;
	*xp_agent.live = AGENT_LIVE;
	return start_thread();
}

/* CUDA_INJECTION64_PATH: called by the driver in cuInit; 1 is good. */
__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
	xprobe_agent_start();
	return 1;
}
