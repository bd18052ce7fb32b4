/* SPDX-License-Identifier: Apache-2.0 */
/* Would a seccomp filter of the stopped thread kill it for what loading does? The filters are fetched and run here. No state. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "inject/inject_priv.h"

enum { MAX_FILTERS = 256, MAX_STEPS = 65536, CLONE_THREAD_FLAGS = 0x3d0f00 };

/* System calls of the steps, of dlopen and dlsym, of starting a thread, and of the way back. */
static const int wanted[] = {
	SYS_memfd_create, SYS_write,	SYS_ftruncate,	     SYS_openat, SYS_read, SYS_pread64, SYS_newfstatat, SYS_fstat,
	SYS_mmap,	  SYS_mprotect, SYS_munmap,	     SYS_close,	 SYS_brk,  SYS_futex,	SYS_ppoll,	SYS_rt_sigprocmask,
	SYS_clone,	  SYS_clone3,	SYS_restart_syscall,
};

struct machine {
	uint32_t a, x, memory[BPF_MEMWORDS];
};

static bool load(const struct sock_filter *i, const struct seccomp_data *data, struct machine *m)
{
	uint32_t value;

	switch (i->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		if (i->k > sizeof(*data) - sizeof(value))
			return false;
		memcpy(&value, (const char *)data + i->k, sizeof(value));
		m->a = value;
		return true;
	case BPF_LD | BPF_IMM:
		m->a = i->k;
		return true;
	case BPF_LDX | BPF_IMM:
		m->x = i->k;
		return true;
	case BPF_LD | BPF_W | BPF_LEN:
		m->a = sizeof(*data);
		return true;
	case BPF_LDX | BPF_W | BPF_LEN:
		m->x = sizeof(*data);
		return true;
	case BPF_LD | BPF_MEM:
		return i->k < BPF_MEMWORDS && (m->a = m->memory[i->k], true);
	case BPF_LDX | BPF_MEM:
		return i->k < BPF_MEMWORDS && (m->x = m->memory[i->k], true);
	default:
		return false;
	}
}

static bool compute(const struct sock_filter *i, struct machine *m)
{
	uint32_t by = BPF_SRC(i->code) == BPF_X ? m->x : i->k;

	switch (BPF_OP(i->code)) {
	case BPF_ADD:
		m->a += by;
		return true;
	case BPF_SUB:
		m->a -= by;
		return true;
	case BPF_MUL:
		m->a *= by;
		return true;
	case BPF_DIV:
		return by && (m->a /= by, true);
	case BPF_AND:
		m->a &= by;
		return true;
	case BPF_OR:
		m->a |= by;
		return true;
	case BPF_XOR:
		m->a ^= by;
		return true;
	case BPF_LSH:
		return by < 32 && (m->a <<= by, true);
	case BPF_RSH:
		return by < 32 && (m->a >>= by, true);
	case BPF_NEG:
		m->a = -m->a;
		return true;
	default:
		return false;
	}
}

static uint32_t distance(const struct sock_filter *i, const struct machine *m)
{
	uint32_t with = BPF_SRC(i->code) == BPF_X ? m->x : i->k;
	bool holds = BPF_OP(i->code) == BPF_JEQ	  ? m->a == with
		     : BPF_OP(i->code) == BPF_JGT ? m->a > with
		     : BPF_OP(i->code) == BPF_JGE ? m->a >= with
						  : (m->a & with) != 0;

	return BPF_OP(i->code) == BPF_JA ? i->k : holds ? i->jt : i->jf;
}

/* What one filter answers; KILL_PROCESS for a program that this cannot follow. */
static uint32_t run(const struct sock_filter *code, size_t n, const struct seccomp_data *data)
{
	struct machine m = { 0 };

	for (size_t at = 0, steps = 0; at < n && steps < MAX_STEPS; at++, steps++) {
		const struct sock_filter *i = &code[at];
		unsigned class = BPF_CLASS(i->code);
		bool ok = true;

		if (class == BPF_RET)
			return BPF_RVAL(i->code) == BPF_A ? m.a : i->k;
		if (class == BPF_LD || class == BPF_LDX)
			ok = load(i, data, &m);
		else if (class == BPF_ALU)
			ok = compute(i, &m);
		else if (class == BPF_JMP)
			at += distance(i, &m);
		else if (class == BPF_MISC && BPF_MISCOP(i->code) == BPF_TAX)
			m.x = m.a;
		else if (class == BPF_MISC)
			m.a = m.x;
		else
			ok = (class == BPF_ST || class == BPF_STX) && i->k < BPF_MEMWORDS &&
			     (m.memory[i->k] = class == BPF_ST ? m.a : m.x, true);
		if (!ok)
			break;
	}
	return SECCOMP_RET_KILL_PROCESS;
}

/* An errno is no harm: the step fails and is undone. Whatever else is not "allow" kills, traps or asks somebody. */
static bool harmless(uint32_t answer)
{
	uint32_t action = answer & SECCOMP_RET_ACTION_FULL;

	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG || action == SECCOMP_RET_ERRNO;
}

int xp_inject_seccomp_ok(const struct xp_tracee *tracee, bool *ret_ok)
{
	bool ok = true;

	for (unsigned long which = 0; ok && which < MAX_FILTERS; which++) {
		long n = ptrace(PTRACE_SECCOMP_GET_FILTER, (pid_t)tracee->tid, (void *)which, NULL);

		if (n < 0 && errno == ENOENT)
			break;
		xp_auto(xp_free) void *memory = n > 0 ? calloc((size_t)n, sizeof(struct sock_filter)) : NULL;
		struct sock_filter *code = memory;
		if (!code || ptrace(PTRACE_SECCOMP_GET_FILTER, (pid_t)tracee->tid, (void *)which, code) != n)
			return -errno;
		for (size_t i = 0; ok && i < XP_LEN(wanted); i++) {
			struct seccomp_data data = { .nr = wanted[i], .arch = AUDIT_ARCH_X86_64, .instruction_pointer = tracee->regs.rip };

			/* Filters look at the flags of clone, and at the protection of mmap and mprotect. */
			data.args[0] = wanted[i] == SYS_clone ? CLONE_THREAD_FLAGS : 0;
			ok = harmless(run(code, (size_t)n, &data));
			data.args[2] = PROT_READ | PROT_EXEC;
			ok = ok && harmless(run(code, (size_t)n, &data));
		}
	}
	*ret_ok = ok;
	return 0;
}
