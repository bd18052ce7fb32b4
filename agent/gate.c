/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate itself (agent/gate.h). In: calls' entries and exits on application threads; the stop on the agent's thread. State:
 * xp_agent.gate. A thread enters with its outermost call. It waits in the kernel only while the gate is closed, which is while the stop
 * switches off.
 */
#include "agent/gate.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/work.h"

enum { PROBES = 64, SESSION_BITS = 16 };
enum { DRAIN_MS = 50, DRAIN_PAUSE_MS = 20, DRAIN_LIMIT_MS = 1000, SPIN_NS = 100000, AGE_MS = 1000, AGE_STEP_MS = 10 };

/* Driver calls beside the launches: those that load code, or make and change what a graph launch or a context is. By folded name. */
static const char *const gated[] = {
	"cuModuleLoad",	       "cuModuleUnload",   "cuModuleGet",	"cuLibraryLoad",	"cuLibraryUnload", "cuLibraryGet",
	"cuKernelGetFunction", "cuFuncLoad",	   "cuGraphUpload",	"cuGraphExec",		"cuGraphInst",	   "cuCtxCreate",
	"cuCtxDestroy",	       "cuGreenCtxCreate", "cuGreenCtxDestroy", "cuDevicePrimaryCtxRe",
};
/* Of them, those after which a switch-off crashes. */
static const char *const contexts[] = { "cuCtxCreate", "cuCtxDestroy", "cuGreenCtxCreate", "cuGreenCtxDestroy", "cuDevicePrimaryCtxRe" };
static const uint16_t driver_launches[] = { 307, 442, 477, 478, 514, 515, 652, 653 };
static const uint16_t runtime_launches[] = { 211, 214, 269, 270, 311, 312, 430, 431, 505, 506 };

static bool starts_with_one(const char *text, size_t len, const char *const *heads, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (len >= strlen(heads[i]) && !memcmp(text, heads[i], strlen(heads[i])))
			return true;
	return false;
}

static bool holds(const uint16_t *ids, size_t n, uint32_t cbid)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] == cbid)
			return true;
	return false;
}

#define LEN(array) (sizeof(array) / sizeof((array)[0]))

uint8_t xp_agent_gate_want(uint32_t domain, uint32_t cbid, const char *folded, size_t len)
{
	if (!xp_agent.gate.on)
		return 0;
	if (domain == CUPTI_DOMAIN_RUNTIME)
		return holds(runtime_launches, LEN(runtime_launches), cbid) ? WANT_GATE : 0;
	if (starts_with_one(folded, len, contexts, LEN(contexts)))
		return WANT_GATE | WANT_CONTEXT;
	return holds(driver_launches, LEN(driver_launches), cbid) || starts_with_one(folded, len, gated, LEN(gated)) ? WANT_GATE : 0;
}

int xp_agent_gate_new(void)
{
	struct gate *gate = &xp_agent.gate;

	/* A context that went while kinds were on stays a danger to switching them off. */
	gate->contexts = gate->contexts && gate->left;
	gate->overflow = false;
	if (gate->on && !gate->threads)
		gate->threads = xp_agent_map(AGENT_GATE_THREADS * sizeof(*gate->threads));
	return !gate->on || gate->threads ? XP_AGENT_OK : xp_agent_say(XP_AGENT_NO_MEMORY, "mmap", 0, "gate");
}

/* The line of this thread in this session. A line of an earlier session is free: its thread may have ended inside a call. */
static struct gate_thread *my_line(uint64_t generation)
{
	const uint64_t self = (uint64_t)xp_agent_self(), session = generation & ((1u << SESSION_BITS) - 1),
		       key = self << SESSION_BITS | session;
	const uint64_t first = (self >> 6) * 0x9e3779b97f4a7c15ull >> 32;

	for (unsigned i = 0; i < PROBES; i++) {
		struct gate_thread *line = &xp_agent.gate.threads[(first + i) % AGENT_GATE_THREADS];
		uint64_t held = __atomic_load_n(&line->key, __ATOMIC_RELAXED);

		if (held == key)
			return line;
		if (held && (held & ((1u << SESSION_BITS) - 1)) == session)
			continue;
		if (__atomic_compare_exchange_n(&line->key, &held, key, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
			__atomic_store_n(&line->depth, 0, __ATOMIC_SEQ_CST);
			return line;
		}
	}
	__atomic_store_n(&xp_agent.gate.overflow, true, __ATOMIC_SEQ_CST);
	return NULL;
}

static bool is_closed(void)
{
	return __atomic_load_n(&xp_agent.gate.closed, __ATOMIC_SEQ_CST);
}

/* False: the session is over. */
static bool wait_open(uint64_t generation)
{
	syscall(SYS_futex, &xp_agent.gate.closed, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
	return __atomic_load_n(&xp_agent.view.generation, __ATOMIC_ACQUIRE) == generation;
}

/*
 * A thread says "inside" before it looks whether the gate is closed, the stop closes before it looks who is inside: one sees the other. A
 * thread without a line has said so by `overflow`, with which no stop switches off: it may pass unless a stop that did not see it does.
 */
static bool enter(uint64_t generation)
{
	struct gate_thread *line = my_line(generation);
	uint32_t depth = line ? __atomic_load_n(&line->depth, __ATOMIC_RELAXED) : 0;

	if (depth) {
		__atomic_store_n(&line->depth, depth + 1, __ATOMIC_RELAXED);
		return true;
	}
	for (;;) {
		if (line)
			__atomic_store_n(&line->depth, 1, __ATOMIC_SEQ_CST);
		if (!is_closed())
			return true;
		if (line)
			__atomic_store_n(&line->depth, 0, __ATOMIC_SEQ_CST);
		if (!wait_open(generation))
			return false;
	}
}

/* Exits of calls that began before the session find depth 0. */
static void leave(uint64_t generation)
{
	struct gate_thread *line = my_line(generation);
	uint32_t depth = line ? __atomic_load_n(&line->depth, __ATOMIC_RELAXED) : 0;

	if (depth)
		__atomic_store_n(&line->depth, depth - 1, __ATOMIC_SEQ_CST);
}

static uint16_t want_of(void *user, uint32_t domain, uint32_t cbid)
{
	if (!xp_agent_is_live() || xp_agent_on_own_thread() || domain - 1 > 1 || cbid >= AGENT_CBIDS || !user ||
	    (uint64_t)(uintptr_t)user != __atomic_load_n(&xp_agent.view.generation, __ATOMIC_ACQUIRE))
		return 0;
	return xp_agent.view.want[domain - 1][cbid];
}

static void pass(void *user, uint32_t domain, uint32_t cbid, const void *call)
{
	const struct cupti_callback_data *data = call;
	const uint64_t generation = (uint64_t)(uintptr_t)user;
	uint16_t want = want_of(user, domain, cbid);
	int error = errno;

	if (want & WANT_CONTEXT)
		__atomic_store_n(&xp_agent.gate.contexts, true, __ATOMIC_SEQ_CST);
	if (want & WANT_GATE && data->site == CUPTI_SITE_ENTER && !enter(generation))
		want = 0;
	if (want)
		xp_agent_callback(user, domain, cbid, call);
	if (want & WANT_GATE && data->site == CUPTI_SITE_EXIT)
		leave(generation);
	errno = error;
}

cupti_callback_fn *xp_agent_gate_callback(void)
{
	return xp_agent.gate.on ? pass : xp_agent_callback;
}

static bool somebody_inside(void)
{
	const uint64_t mask = (1u << SESSION_BITS) - 1;

	for (unsigned i = 0; i < AGENT_GATE_THREADS; i++) {
		const struct gate_thread *line = &xp_agent.gate.threads[i];

		if ((__atomic_load_n(&line->key, __ATOMIC_SEQ_CST) & mask) == (xp_agent.generation & mask) &&
		    __atomic_load_n(&line->depth, __ATOMIC_SEQ_CST))
			return true;
	}
	return false;
}

static void open_gate(void)
{
	__atomic_store_n(&xp_agent.gate.closed, 0, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &xp_agent.gate.closed, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* Mostly 10 us. A thread that has no CPU of its own now gets ours. */
static bool drain(void)
{
	uint64_t begin_ns = xp_agent_now(), took_ns;

	while (somebody_inside()) {
		took_ns = xp_agent_now() - begin_ns;
		if (took_ns > DRAIN_MS * AGENT_NS_PER_MS)
			return false;
		if (took_ns > SPIN_NS)
			nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
		else
			__builtin_ia32_pause();
	}
	return true;
}

/* Until the gate is old enough, or may be tried again, records come as before. */
static void go_on(unsigned ms)
{
	xp_agent_sleep_ms(ms);
	xp_agent_tick();
}

static bool exiting(void)
{
	return __atomic_load_n(&xp_agent.exiting, __ATOMIC_ACQUIRE);
}

static uint32_t why_not(void)
{
	if (__atomic_load_n(&xp_agent.gate.contexts, __ATOMIC_SEQ_CST))
		return XP_AGENT_LEFT_CONTEXTS;
	return __atomic_load_n(&xp_agent.gate.overflow, __ATOMIC_SEQ_CST) ? XP_AGENT_LEFT_THREADS : 0;
}

/* 0: closed and nobody inside. A call that began before the gate stood is not seen; a second later none is taken to run still. */
static uint32_t close_gate(uint64_t *ret_closed_ns)
{
	uint64_t begin_ns;

	while (!why_not() && !exiting() && xp_agent_now() - xp_agent.gate.since_ns < AGE_MS * AGENT_NS_PER_MS)
		go_on(AGE_STEP_MS);
	begin_ns = xp_agent_now();
	while (!why_not() && !exiting() && xp_agent_now() - begin_ns < DRAIN_LIMIT_MS * AGENT_NS_PER_MS) {
		*ret_closed_ns = xp_agent_now();
		__atomic_store_n(&xp_agent.gate.closed, 1, __ATOMIC_SEQ_CST);
		if (drain() && !why_not())
			return 0;
		open_gate();
		go_on(DRAIN_PAUSE_MS);
	}
	return why_not() ?: XP_AGENT_LEFT_BUSY;
}

void xp_agent_gate_kinds_off(void)
{
	struct gate *gate = &xp_agent.gate;
	struct xp_agent_counters *counters = &xp_agent.control->counters;
	uint64_t closed_ns = 0;

	for (unsigned i = 0; i < xp_agent.n_kinds; i++)
		gate->left |= 1ull << xp_agent.kinds[i];
	counters->left_on = close_gate(&closed_ns);
	gate->retry_ns = 0;
	if (counters->left_on)
		return;
	/* It waits for the GPU work queued now. Opening before it has returned would bring the deadlock back. */
	for (uint32_t kind = 0; kind < 64; kind++)
		if (gate->left & 1ull << kind)
			XP_AGENT_CALL(disable(kind));
	open_gate();
	gate->left = 0;
	counters->gate_ns = xp_agent_now() - closed_ns;
}
