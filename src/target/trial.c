/* SPDX-License-Identifier: Apache-2.0 */
/* Trials by raw system calls, so that the name of the call and its errno are exactly the kernel's answer. No state but a counter for USDT.
 */
#include "target/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "base/cleanup.h"
#include "target/self.h"

/* Where the trial probes sit: never called, so no trial costs anything while it is attached. */
__attribute__((noinline, noclone, used)) static void scratch(void)
{
	__asm__ volatile("nop");
}

/* What a USDT marker's semaphore is: lives in a writable file mapping, changed by the kernel alone. */
static volatile uint16_t semaphore __attribute__((section(".probes"), used));

/* Tail of union bpf_attr for BPF_LINK_CREATE with attach type 48: include/uapi/linux/bpf.h of Linux 6.6. */
struct uprobe_multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, pad;
};
enum { MULTI_RETURN = 1 };

static int fail(struct xp_trial *trial, int errnum, const char *call, const char *object)
{
	trial->errnum = errnum;
	trial->call = call;
	snprintf(trial->object, sizeof(trial->object), "%s", object);
	return errnum;
}

static int find_place(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct xp_own_place *place = arg;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type != PT_LOAD || place->address < start || place->address >= start + phdr->p_filesz)
			continue;
		place->offset = place->address - start + phdr->p_offset;
		snprintf(place->path, sizeof(place->path), "%s", info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe");
		return 1;
	}
	return 0;
}

int xp_own_place(const void *what, struct xp_own_place *ret_place)
{
	struct xp_own_place place = { .address = (uint64_t)(uintptr_t)what };

	if (!dl_iterate_phdr(find_place, &place))
		return -ENOENT;
	*ret_place = place;
	return 0;
}

static int locate(struct xp_trial *trial, const void *what, struct xp_own_place *ret_place)
{
	return xp_own_place(what, ret_place) ? fail(trial, ENOENT, "dl_iterate_phdr", "xprobe's own file") : 0;
}

int xp_own_link(int prog_fd, const struct xp_own_place *place, uint64_t ref_ctr_offset, bool on_return)
{
	struct uprobe_multi_attr attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = XP_ATTACH_UPROBE_MULTI,
		.path = (uint64_t)(uintptr_t)place->path,
		.offsets = (uint64_t)(uintptr_t)&place->offset,
		.ref_ctr_offsets = ref_ctr_offset ? (uint64_t)(uintptr_t)&ref_ctr_offset : 0,
		.cnt = 1,
		.multi_flags = on_return ? MULTI_RETURN : 0,
		.pid = (uint32_t)getpid(),
	};
	int link = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return link < 0 ? -errno : link;
}

/* `return 0`, the smallest program there is. Descriptor or -1. */
static int load(struct xp_trial *trial, uint32_t type, uint32_t attach_type)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = type,
		.insns = (uint64_t)(uintptr_t)insns,
		.insn_cnt = XP_LEN(insns),
		.license = (uint64_t)(uintptr_t) "GPL",
		.expected_attach_type = attach_type,
	};
	int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	if (fd < 0)
		fail(trial, errno, "bpf(BPF_PROG_LOAD)", XP_BPF_PROGRAMS);
	return fd;
}

static int link_multi(struct xp_trial *trial, const struct xp_own_place *place, uint64_t ref_ctr_offset, bool on_return)
{
	xp_auto_fd prog = load(trial, BPF_PROG_TYPE_KPROBE, XP_ATTACH_UPROBE_MULTI);

	if (prog < 0)
		return trial->errnum;
	xp_auto_fd link = xp_own_link(prog, place, ref_ctr_offset, on_return);
	if (link < 0)
		return fail(trial, -link, "bpf(BPF_LINK_CREATE)", "uprobe_multi on xprobe itself");
	if (ref_ctr_offset && semaphore != 1)
		return fail(trial, EIO, "bpf(BPF_LINK_CREATE)", "reference counter was not raised");
	return 0;
}

int xp_trial_uprobe(struct xp_trial *trial, bool on_return)
{
	struct xp_own_place place;

	return locate(trial, (const void *)scratch, &place) ? trial->errnum : link_multi(trial, &place, 0, on_return);
}

int xp_trial_usdt(struct xp_trial *trial)
{
	struct xp_own_place place, counter;

	if (locate(trial, (const void *)scratch, &place) || locate(trial, (const void *)&semaphore, &counter) ||
	    link_multi(trial, &place, counter.offset, false))
		return trial->errnum;
	return semaphore ? fail(trial, EIO, "close", "reference counter was not put back") : 0;
}

/* cpu -1: of xprobe itself; else of everything that runs there. */
static int perf_open(struct xp_trial *trial, struct perf_event_attr *attr, int cpu, const char *what)
{
	attr->size = sizeof(*attr);
	int fd = (int)syscall(SYS_perf_event_open, attr, cpu < 0 ? 0 : -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		fail(trial, errno, "perf_event_open", what);
	return fd;
}

static int set_program(struct xp_trial *trial, int event, int prog)
{
	return ioctl(event, PERF_EVENT_IOC_SET_BPF, prog)
		       ? fail(trial, errno, "ioctl(PERF_EVENT_IOC_SET_BPF)", "perf event of xprobe itself")
		       : 0;
}

int xp_trial_perf_uprobe(struct xp_trial *trial, bool on_return)
{
	int64_t type = xp_self_number("/sys/bus/event_source/devices/uprobe/type");
	struct xp_own_place place;

	if (type == XP_NOT_READABLE)
		return fail(trial, ENOENT, "open", "/sys/bus/event_source/devices/uprobe/type");
	if (locate(trial, (const void *)scratch, &place))
		return trial->errnum;
	struct perf_event_attr attr = {
		.type = (uint32_t)type,
		.config = on_return, /* format/retprobe is bit 0 on every kernel that has it */
		.config1 = (uint64_t)(uintptr_t)place.path,
		.config2 = place.offset,
	};
	xp_auto_fd prog = load(trial, BPF_PROG_TYPE_KPROBE, 0);
	if (prog < 0)
		return trial->errnum;
	xp_auto_fd event = perf_open(trial, &attr, -1, "perf uprobe on xprobe itself");
	return event < 0 ? trial->errnum : set_program(trial, event, prog);
}

int xp_trial_raw_tracepoint(struct xp_trial *trial, const char *name)
{
	xp_auto_fd prog = load(trial, BPF_PROG_TYPE_RAW_TRACEPOINT, 0);
	union bpf_attr attr = { .raw_tracepoint = { .name = (uint64_t)(uintptr_t)name, .prog_fd = (uint32_t)prog } };

	if (prog < 0)
		return trial->errnum;
	xp_auto_fd link = (int)syscall(SYS_bpf, BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
	return link < 0 ? fail(trial, errno, "bpf(BPF_RAW_TRACEPOINT_OPEN)", name) : 0;
}

static int try_clock(struct xp_trial *trial, bool with_kernel, int prog)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 10000000, /* 10 ms */
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID,
		.disabled = 1,
		.exclude_kernel = !with_kernel,
		.exclude_hv = 1,
	};
	xp_auto_fd event = perf_open(trial, &attr, prog < 0 ? -1 : sched_getcpu(),
				     prog >= 0	   ? "cpu-clock of a CPU"
				     : with_kernel ? "cpu-clock of xprobe itself, kernel included"
						   : "cpu-clock of xprobe itself");

	if (event < 0)
		return trial->errnum;
	return prog < 0 ? 0 : set_program(trial, event, prog);
}

int xp_trial_sample(struct xp_trial *trial, bool with_kernel)
{
	return try_clock(trial, with_kernel, -1);
}

int xp_trial_sampler(struct xp_trial *trial)
{
	xp_auto_fd prog = load(trial, BPF_PROG_TYPE_PERF_EVENT, 0);

	return prog < 0 ? trial->errnum : try_clock(trial, true, prog);
}
