/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both halves of bench/event-cost. `target`: answers each line "call" or "syscall" with the ns that one takes. `attach PID WHAT HOW`: puts
 * probes on it, prints "ready", reads events like a capture does until stdin ends. WHAT: entry return both syscall; HOW: empty xprobe.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine/bpf_probe_priv.h"

enum { BATCHES = 400, CALLS = 100, TICK_MS = 10 };

__asm__(".text\n\t.balign 16\n\t.globl bench_site\n\t.type bench_site, @function\nbench_site:\n\tpush %rbp\n\tpop %rbp\n\tret\n\t"
	".size bench_site, .-bench_site");
void bench_site(void);

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void call_getppid(void)
{
	syscall(SYS_getppid);
}

static double quickest(void (*call)(void))
{
	uint64_t best = UINT64_MAX;

	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t begin = now();

		for (int i = 0; i < CALLS; i++)
			call();
		uint64_t took = now() - begin;

		best = took < best ? took : best;
	}
	return (double)best / CALLS;
}

static int be_target(void)
{
	char line[32];

	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		printf("%.2f\n", quickest(strcmp(line, "syscall\n") == 0 ? call_getppid : bench_site));
		fflush(stdout);
	}
	return 0;
}

/* This program is the target's program too. */
static uint64_t site_offset(void)
{
	uint64_t address = (uint64_t)(uintptr_t)bench_site, low, high, offset;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &low, &high, &offset) == 3 && address >= low && address < high)
			return address - low + offset;
	abort();
}

static int attach_failed(const struct xp_err *err)
{
	fprintf(stderr, "%s: %s\n", xp_err_name(err->code), err->message);
	return err->code == XP_E_PERMISSION_DENIED ? 77 : 1;
}

static void count_nothing(void *arg, uint32_t point, const struct xp_rec_hdr *record)
{
}

static void serve(struct xp_probes *probes)
{
	const struct xp_probe_reader reader = { .take = count_nothing };
	struct pollfd end = { .fd = 0, .events = POLLIN };
	xp_auto_err err = {};

	printf("ready\n");
	fflush(stdout);
	while (poll(&end, 1, TICK_MS) == 0)
		if (probes && xp_probes_read(probes, &reader, &err))
			break;
}

static int attach_xprobe(uint32_t pid, const char *what)
{
	bool syscalls = !strcmp(what, "syscall"), entry = strcmp(what, "return") != 0, leave = strcmp(what, "entry") != 0;
	struct xp_point points[2];
	size_t n = 0;
	xp_auto_err err = {};
	xp_auto(xp_probes_free) struct xp_probes *probes = NULL;

	if (entry)
		points[n++] = (struct xp_point){ .at = syscalls ? XP_POINT_SYSCALL_ENTRY : XP_POINT_ENTRY };
	if (leave)
		points[n++] = (struct xp_point){ .at = syscalls ? XP_POINT_SYSCALL_EXIT : XP_POINT_RETURN };
	for (size_t i = 0; i < n; i++) {
		points[i].selector = "bench_site";
		points[i].nr = syscalls ? SYS_getppid : 0;
		points[i].path = syscalls ? NULL : "/proc/self/exe";
		points[i].offset = syscalls ? 0 : site_offset();
	}
	const struct xp_probe_request request = { .points = points, .n_points = n, .pid = pid };

	if (xp_probes_new(&request, &probes, &err) || xp_probes_attach(probes, &err))
		return attach_failed(&err);
	xp_probes_switch(probes, true);
	serve(probes);
	return 0;
}

static int load_empty(enum bpf_prog_type type, enum bpf_attach_type attach, const char *tracepoint)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach);

	if (tracepoint)
		opts.attach_btf_id = (uint32_t)libbpf_find_vmlinux_btf_id(tracepoint, attach);
	return bpf_prog_load(type, "bench_empty", "GPL", insns, XP_LEN(insns), &opts);
}

static int attach_empty_syscalls(struct xp_links *links, struct xp_err *err)
{
	static const char *const names[] = { "sys_exit", "sys_enter" };

	for (size_t i = 0; i < XP_LEN(names); i++) {
		int prog_fd = load_empty(BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, names[i]);
		int r = prog_fd < 0 ? xp_bpf_fail(err, -prog_fd, "bpf(BPF_PROG_LOAD)", names[i])
				    : xp_probes_attach_raw(links, prog_fd, NULL, err);

		if (r)
			return r;
	}
	return 0;
}

static int attach_empty_functions(struct xp_links *links, uint32_t pid, const char *what, struct xp_err *err)
{
	struct xp_site_spec site = { .path = "/proc/self/exe", .offset = site_offset(), .selector = "bench_site" };
	int prog_fd = load_empty(BPF_PROG_TYPE_KPROBE, (enum bpf_attach_type)XP_TRACE_UPROBE_MULTI, NULL), r = 0;

	if (prog_fd < 0)
		return xp_bpf_fail(err, -prog_fd, "bpf(BPF_PROG_LOAD)", "empty program");
	if (strcmp(what, "return") != 0)
		r = xp_probes_attach_multi(links, prog_fd, pid, &site, 1, err);
	site.is_return = true;
	if (!r && strcmp(what, "entry") != 0)
		r = xp_probes_attach_multi(links, prog_fd, pid, &site, 1, err);
	return r;
}

static int attach_empty(uint32_t pid, const char *what)
{
	struct xp_links links = {};
	xp_auto_err err = {};

	xp_bpf_init();
	if (!strcmp(what, "syscall") ? attach_empty_syscalls(&links, &err) : attach_empty_functions(&links, pid, what, &err))
		return attach_failed(&err);
	serve(NULL);
	xp_links_close(&links, 0);
	free(links.fds);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "target"))
		return be_target();
	if (argc != 5 || strcmp(argv[1], "attach") != 0)
		return 2;
	uint32_t pid = (uint32_t)strtoul(argv[2], NULL, 10);

	return !strcmp(argv[4], "xprobe") ? attach_xprobe(pid, argv[3]) : attach_empty(pid, argv[3]);
}
