/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Included by live tests of the exact capture: a target of tests/targets/calls.c, a plan made by hand out of its symbols, and one window
 * that opens before the target runs its mode and closes when it says "done".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/exact.h"
#include "engine/bpf_probe.h"

#define CALLS XP_BUILD_DIR "/tests/targets/calls"

struct child {
	pid_t pid;
	int in, out; /* its stdin and stdout */
};

/* How the target is to live: namespaces of its own, and a program that is bound over another one in its own mount namespace. */
struct habitat {
	unsigned long clone_flags;
	const char *program; /* NULL: CALLS */
	bool bound;	     /* mount CALLS over `program` first */
};

static inline void become(const struct habitat *habitat, const char *mode, const char *count)
{
	const char *program = habitat->program ? habitat->program : CALLS;

	if (habitat->bound && (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount(CALLS, program, NULL, MS_BIND, NULL)))
		_exit(126);
	execl(program, "calls", mode, count, NULL);
	_exit(127);
}

static inline struct child start_child_in(const struct habitat *habitat, const char *mode, unsigned long n)
{
	int in[2], out[2];
	char count[24], ready[8] = "";
	struct child child;

	snprintf(count, sizeof(count), "%lu", n);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	child.pid = (pid_t)syscall(SYS_clone, habitat->clone_flags | SIGCHLD, NULL, NULL, NULL, NULL);
	if (child.pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		become(habitat, mode, count);
	}
	close(in[0]);
	close(out[1]);
	child.in = in[1];
	child.out = out[0];
	assert_int_equal(read(child.out, ready, 6), 6);
	assert_string_equal(ready, "ready\n");
	return child;
}

/* Ends the target by closing its stdin; its exit status. */
static inline int end_child(struct child *child)
{
	int status = -1;

	close(child->in);
	waitpid(child->pid, &status, 0);
	close(child->out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* File offset of a symbol of the target program. */
static inline uint64_t symbol_offset(const char *name)
{
	int fd = open(CALLS, O_RDONLY | O_CLOEXEC);
	uint64_t value = 0, offset = 0;
	size_t n_segments = 0;
	GElf_Shdr shdr;
	GElf_Sym sym;
	GElf_Phdr phdr;

	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);

	assert_non_null(elf);
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_SYMTAB)
			continue;
		for (size_t i = 0; i < shdr.sh_size / shdr.sh_entsize; i++)
			if (gelf_getsym(elf_getdata(scn, NULL), (int)i, &sym) && !strcmp(elf_strptr(elf, shdr.sh_link, sym.st_name), name))
				value = sym.st_value;
	}
	elf_getphdrnum(elf, &n_segments);
	for (size_t i = 0; i < n_segments; i++)
		if (gelf_getphdr(elf, (int)i, &phdr) && phdr.p_type == PT_LOAD && value - phdr.p_vaddr < phdr.p_filesz)
			offset = value - phdr.p_vaddr + phdr.p_offset;
	elf_end(elf);
	close(fd);
	if (!value)
		fail_msg("%s has no symbol %s", CALLS, name);
	return offset;
}

/* One capture: filled by add_*, run by run_capture, released by end_capture. */
struct capture {
	struct child child;
	struct xp_arena *arena;
	struct xp_target *target;
	struct xp_plan plan;
	struct xp_exact *exact;
	struct xp_window window;
	struct xp_err err;
	int result;
	char answer[8];
	size_t answered;
	bool no_go;	/* the target is not told to run */
	int kill_after; /* kill the target at this drain; 0: never */
	int drains;
};

static inline void begin_capture_in(struct capture *capture, const struct habitat *habitat, const char *mode, unsigned long n)
{
	memset(capture, 0, sizeof(*capture));
	setpriority(PRIO_PROCESS, 0, 0); /* a window before this one has stepped back for good */
	capture->child = start_child_in(habitat, mode, n);
	fcntl(capture->child.out, F_SETFL, O_NONBLOCK);
	capture->arena = xp_arena_new();
	assert_int_equal(xp_target_open((uint32_t)capture->child.pid, NULL, &capture->target, &capture->err), 0);
	capture->plan = (struct xp_plan){
		.arena = capture->arena,
		.target = capture->target,
		.bounds = { .timeout_ms = 60000, .max_events = 3000000, .max_unmatched = -1 },
	};
}

static inline void begin_capture(struct capture *capture, const char *mode, unsigned long n)
{
	begin_capture_in(capture, &(struct habitat){ 0 }, mode, n);
}

static const struct xp_family host_family = { .name = "test", .host = true };

static inline unsigned add_endpoint(struct capture *capture, enum xp_event_type type, const char *selector)
{
	unsigned index = capture->plan.n_endpoints++;

	capture->plan.endpoints[index] = (struct xp_endpoint){ .family = &host_family, .selector = selector, .type = type };
	return index;
}

/* Where the target maps a symbol of its program; also the mapping's path for the kernel when `ret_path` is given. */
static inline uint64_t mapped_address(const struct xp_target *target, const char *symbol, bool code, char *ret_path, size_t size)
{
	const struct xp_maps *maps = xp_target_maps(target);
	uint64_t offset = symbol_offset(symbol);
	xp_auto_err err = {};

	for (size_t i = 0; i < maps->n; i++) {
		const struct xp_mapping *mapping = &maps->at[i];

		/* The program comes first in its address space. */
		if (mapping->exec != code || mapping->write == code || offset - mapping->offset >= mapping->end - mapping->start)
			continue;
		if (ret_path)
			assert_int_equal(xp_target_mapping_path(target, mapping, ret_path, size, &err), 0);
		return mapping->start + offset - mapping->offset;
	}
	fail_msg("%s is not mapped", symbol);
	return 0;
}

static inline uint64_t symbol_address(const struct xp_target *target, const char *symbol, char *ret_path, size_t size)
{
	return mapped_address(target, symbol, true, ret_path, size);
}

static inline uint64_t data_address(const struct xp_target *target, const char *symbol)
{
	return mapped_address(target, symbol, false, NULL, 0);
}

/* Bytes of the target's memory as they are now. */
static inline void read_memory(pid_t pid, uint64_t address, void *ret_bytes, size_t n)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_int_equal(pread(fd, ret_bytes, n, (off_t)address), n);
	close(fd);
}

/* A function endpoint with one site for each symbol in `places` (a NULL-terminated list). */
static inline unsigned add_sites(struct capture *capture, enum xp_event_type type, const char *function, const char *const *places,
				 bool uretprobe)
{
	unsigned index = add_endpoint(capture, type, function);
	struct xp_resolved *resolved = xp_arena_new_of(capture->arena, struct xp_resolved);
	struct xp_probe_site *sites = xp_arena_array(capture->arena, struct xp_probe_site, 8);

	for (; places[resolved->n_sites]; resolved->n_sites++)
		sites[resolved->n_sites] = (struct xp_probe_site){
			.offset = symbol_offset(places[resolved->n_sites]),
			.uretprobe = uretprobe,
			.exit_site = type == XP_EV_HOST_FUNCTION_EXIT && !uretprobe,
		};
	resolved->sites = sites;
	resolved->binary_path = resolved->attach_path = CALLS;
	resolved->symbol = function;
	resolved->file_offset = symbol_offset(function);
	capture->plan.endpoints[index].resolved = resolved;
	return index;
}

static inline unsigned add_entry(struct capture *capture, const char *function)
{
	return add_sites(capture, XP_EV_HOST_FUNCTION_ENTRY, function, (const char *[]){ function, NULL }, false);
}

static inline unsigned add_return(struct capture *capture, const char *function)
{
	return add_sites(capture, XP_EV_HOST_FUNCTION_EXIT, function, (const char *[]){ function, NULL }, true);
}

static inline unsigned add_syscall(struct capture *capture, enum xp_event_type type, const char *name, uint32_t number)
{
	unsigned index = add_endpoint(capture, type, name);

	capture->plan.endpoints[index].syscall.name = name;
	capture->plan.endpoints[index].syscall.number = number;
	return index;
}

static inline void add_edge(struct capture *capture, unsigned start, unsigned end, enum xp_policy_id policy)
{
	capture->plan.edges[capture->plan.n_edges++] = (struct xp_edge){ .start = start, .end = end, .policy = policy };
}

static inline int driver_nothing(void *state, struct xp_err *reterr)
{
	return 0;
}

static inline int driver_open(void *state, uint64_t start_ns, struct xp_err *reterr)
{
	struct capture *capture = state;

	if (!capture->no_go)
		assert_int_equal(write(capture->child.in, "g", 1), 1);
	return 0;
}

static inline int driver_drain(void *state, struct xp_err *reterr)
{
	struct capture *capture = state;
	ssize_t n = read(capture->child.out, capture->answer + capture->answered, sizeof(capture->answer) - 1 - capture->answered);

	capture->answered += n > 0 ? (size_t)n : 0;
	if (capture->kill_after && ++capture->drains == capture->kill_after)
		kill(capture->child.pid, SIGKILL);
	return 0;
}

static inline void driver_close(void *state, uint64_t end_ns)
{
}

static inline int driver_want_end(void *state)
{
	return !strcmp(((struct capture *)state)->answer, "done\n") ? XP_END_DURATION : -1;
}

static const struct xp_collector_ops driver_ops = {
	.name = "driver",
	.prepare = driver_nothing,
	.arm = driver_nothing,
	.open = driver_open,
	.drain = driver_drain,
	.close_window = driver_close,
	.disarm = driver_nothing,
	.want_end = driver_want_end,
};

static inline void run_capture(struct capture *capture, double max_cost)
{
	const struct xp_window_bounds bounds = { .timeout_ms = capture->plan.bounds.timeout_ms, .max_cost = max_cost };

	assert_int_equal(xp_exact_new(&capture->plan, &capture->exact, &capture->err), 0);
	struct xp_collector collectors[] = { xp_exact_collector(capture->exact), { .ops = &driver_ops, .state = capture } };

	capture->result = xp_window_run(collectors, XP_LEN(collectors), capture->target, &bounds, &capture->window, &capture->err);
	if (capture->result && capture->err.code == XP_E_PERMISSION_DENIED) {
		print_message("SKIP: %s: %s\n", capture->err.call, capture->err.errno_text);
		skip();
	}
}

static inline void run_ok(struct capture *capture)
{
	run_capture(capture, 0);
	if (capture->result)
		print_error("%s: %s (%s)\n", xp_err_name(capture->err.code), capture->err.message, capture->err.object);
	assert_int_equal(capture->result, 0);
}

static inline uint64_t count_events(struct capture *capture, unsigned endpoint)
{
	const struct xp_event *events = xp_store_events(xp_exact_store(capture->exact));
	uint64_t n = 0;

	for (uint64_t i = 0; i < xp_store_count(xp_exact_store(capture->exact)); i++)
		n += (events[i].endpoints >> endpoint) & 1;
	return n;
}

/* Account of a source, checked to add up. */
static inline struct xp_account account_of(struct capture *capture, const char *source)
{
	size_t n;
	struct xp_account *accounts = xp_exact_accounts(capture->exact, capture->arena, &n);

	for (size_t i = 0; i < n; i++) {
		assert_int_equal(accounts[i].emitted, accounts[i].delivered + accounts[i].dropped + accounts[i].filtered);
		if (!strcmp(accounts[i].source, source))
			return accounts[i];
	}
	fail_msg("no account of %s", source);
	return (struct xp_account){};
}

static inline void end_capture_as(struct capture *capture, int status)
{
	xp_exact_free(capture->exact);
	xp_target_close(capture->target);
	xp_err_done(&capture->err);
	xp_arena_free(capture->arena);
	assert_int_equal(end_child(&capture->child), status);
}

/* The target must have survived unchanged. */
static inline void end_capture(struct capture *capture)
{
	end_capture_as(capture, 0);
}
