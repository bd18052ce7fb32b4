/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_target MODE THREADS: says "ready", works in MODE until its stdin closes, then checks what must not have changed. Exit 0: nothing
 * has; else the number of the check. Every mode keeps its main thread at the same work as the others, so that no thread waits in a handy
 * place.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/futex.h>

enum { MAX_THREADS = 64, RESULT_WRONG = 10, ERRNO_WRONG, REGISTERS_WRONG, SIGNALS_LOST, CHILD_WRONG, TIME_WRONG, LOAD_WRONG };

static atomic_int ending, failed, rounds;

static void fail(int what)
{
	int none = 0;

	atomic_compare_exchange_strong(&failed, &none, what);
}

static int is_end(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };

	if (poll(&in, 1, 0) > 0)
		ending = 1;
	return ending;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void do_malloc(void)
{
	for (unsigned i = 1; i < 400; i++) {
		char *volatile p = malloc(i * 37 % 4000 + 1);

		p[0] = 1;
		free(p);
	}
}

static void do_load(void)
{
	void *library = dlopen("libresolv.so.2", RTLD_NOW);

	if (!library)
		fail(LOAD_WRONG);
	else
		dlclose(library);
}

static void do_fork(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(7);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
		fail(CHILD_WRONG);
}

static void do_vfork(void)
{
	int status;
	pid_t pid = vfork();

	if (!pid) {
		struct timespec pause = { .tv_nsec = 300000000 };

		syscall(SYS_nanosleep, &pause, NULL);
		_exit(7);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
		fail(CHILD_WRONG);
}

/* Waits that a stop must not show in: results, times, errno. One kind a thread. */
static void wait_once(unsigned kind)
{
	static __thread int epoll = -1;
	struct timespec pause = { .tv_nsec = 50000000 };
	struct timeval tv = { .tv_usec = 50000 };
	struct epoll_event event;
	uint32_t word = 5;
	double start = now();

	if (epoll < 0)
		epoll = epoll_create1(EPOLL_CLOEXEC);
	errno = 7177;
	long result = kind % 7 == 0   ? nanosleep(&pause, NULL)
		      : kind % 7 == 1 ? poll(NULL, 0, 50)
		      : kind % 7 == 2 ? select(0, NULL, NULL, NULL, &tv)
		      : kind % 7 == 3 ? ppoll(NULL, 0, &pause, NULL)
		      : kind % 7 == 4 ? epoll_wait(epoll, &event, 1, 50)
		      : kind % 7 == 5 ? clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL)
				      : syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 5, &pause, NULL, 0);
	if (kind % 7 == 6 ? result != -1 || errno != ETIMEDOUT : result != 0)
		fail(RESULT_WRONG);
	if (kind % 7 != 6 && errno != 7177)
		fail(ERRNO_WRONG);
	if (now() - start < 0.0495)
		fail(TIME_WRONG);
}

/*
 * long hold(const void *pattern, long nr, long spins): fills callee-saved, vector and x87 registers, makes a system call through the C
 * library (20 ms of poll when nr is that), spins on its red zone, and counts what has changed.
 */
__asm__(".text\nhold:\n\t.cfi_startproc\n\t"
	"push %rbp\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset 6, -16\n\tmov %rsp, %rbp\n\t.cfi_def_cfa_register 6\n\t"
	"push %rbx\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\tsub $8, %rsp\n\t"
	"mov %rdi, %r12\n\tmov %rdx, %r13\n\tmov $0x5a5a5a5a5a5a5a5a, %r14\n\tmov %r14, %r15\n\t"
	"vmovdqa (%r12), %ymm0\n\tvmovdqa %ymm0, %ymm1\n\tvmovdqa %ymm0, %ymm7\n\tvmovdqa %ymm0, %ymm15\n\t"
	"fninit\n\tfld1\n\tfld1\n\tfaddp\n\t"
	"mov %rsi, %rdi\n\txor %esi, %esi\n\txor %edx, %edx\n\tmov $20, %ecx\n\tcall syscall@PLT\n\t"
	"xor %ebx, %ebx\n\t"
	"1:\ttest %r13, %r13\n\tjz 2f\n\tdec %r13\n\tmov %r13, -8(%rsp)\n\tmov %r13, -120(%rsp)\n\tcmp %r13, -8(%rsp)\n\tjne 3f\n\t"
	"cmp %r13, -120(%rsp)\n\tje 1b\n"
	"3:\tinc %rbx\n"
	"2:\tvmovdqa (%r12), %ymm2\n\tvpxor %ymm2, %ymm0, %ymm0\n\tvpxor %ymm2, %ymm1, %ymm1\n\tvpxor %ymm2, %ymm7, %ymm7\n\t"
	"vpxor %ymm2, %ymm15, %ymm15\n\tvpor %ymm1, %ymm0, %ymm0\n\tvpor %ymm7, %ymm0, %ymm0\n\tvpor %ymm15, %ymm0, %ymm0\n\t"
	"vptest %ymm0, %ymm0\n\tjz 4f\n\tinc %rbx\n"
	"4:\tvzeroupper\n\tfistpl -4(%rsp)\n\tcmpl $2, -4(%rsp)\n\tje 6f\n\tinc %rbx\n"
	"6:\tmov $0x5a5a5a5a5a5a5a5a, %rax\n\tcmp %rax, %r14\n\tjne 5f\n\tcmp %rax, %r15\n\tjne 5f\n\t"
	"lea -48(%rbp), %rax\n\tcmp %rax, %rsp\n\tje 7f\n"
	"5:\tinc %rbx\n"
	"7:\tmov %rbx, %rax\n\tadd $8, %rsp\n\tpop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbx\n\tpop "
	"%rbp\n\tret\n\t.cfi_endproc\n");
long hold(const void *pattern, long nr, long spins);

static void hold_registers(unsigned kind)
{
	static const unsigned long pattern[4]
		__attribute__((aligned(32))) = { 0x1122334455667788, 0x99aabbccddeeff00, 0x0f1e2d3c4b5a6978, 0x8796a5b4c3d2e1f0 };

	if (hold(pattern, kind % 2 ? SYS_getpid : SYS_poll, kind % 2 ? 3000000 : 0))
		fail(REGISTERS_WRONG);
}

static atomic_long sent, received, sent_sum, received_sum;

static void on_signal(int signum, siginfo_t *info, void *context)
{
	received++;
	received_sum += info->si_value.sival_int;
}

/* Real-time signals with values, to this thread: each must come, once, with its value. */
static void do_signal(unsigned kind)
{
	struct timespec pause = { .tv_nsec = 20000 };
	int value = (int)(rounds % 1009);
	siginfo_t info = { .si_signo = SIGRTMIN + (int)kind % 3, .si_code = SI_QUEUE };

	info.si_pid = getpid();
	info.si_value.sival_int = value;
	if (syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), info.si_signo, &info) == 0) {
		sent++;
		sent_sum += value;
	}
	nanosleep(&pause, NULL);
}

/* Sleeps with a lock of the loader held. */
static int sleep_in_loader(struct dl_phdr_info *info, size_t size, void *arg)
{
	while (!is_end())
		poll(NULL, 0, 20);
	return 1;
}

static const char *mode;

static void work(unsigned kind)
{
	rounds++;
	if (!strcmp(mode, "malloc"))
		do_malloc();
	else if (!strcmp(mode, "dlopen"))
		do_load();
	else if (!strcmp(mode, "fork"))
		do_fork();
	else if (!strcmp(mode, "vforks") || (!strcmp(mode, "vfork") && kind))
		do_vfork();
	else if (!strcmp(mode, "vfork"))
		do_malloc();
	else if (!strcmp(mode, "wait"))
		wait_once(kind);
	else if (!strcmp(mode, "registers"))
		hold_registers(kind);
	else if (!strcmp(mode, "signals"))
		do_signal(kind);
	else if (!strcmp(mode, "mixed"))
		kind % 4 == 0 ? do_malloc() : kind % 4 == 1 ? do_load() : kind % 4 == 2 ? do_fork() : do_signal(kind);
	else if (!strcmp(mode, "lock") && !kind)
		dl_iterate_phdr(sleep_in_loader, NULL);
	else if (!strcmp(mode, "leader") && is_end())
		exit(failed);
	else
		poll(NULL, 0, 20);
}

static void *run(void *arg)
{
	while (!ending)
		work((unsigned)(uintptr_t)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };
	pthread_t threads[MAX_THREADS];

	mode = argc > 1 ? argv[1] : "idle";
	for (int i = 0; i < 3; i++)
		sigaction(SIGRTMIN + i, &action, NULL);
	for (unsigned i = 0; i < n && i < MAX_THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)(i + 1)))
			return 2;
	if (write(1, "ready\n", 6) != 6)
		return 2;
	if (!strcmp(mode, "idle")) {
		char byte;

		while (read(0, &byte, 1) > 0)
			;
		return failed;
	}
	if (!strcmp(mode, "leader"))
		pthread_exit(NULL);
	while (!is_end())
		work(0);
	for (unsigned i = 0; i < n && i < MAX_THREADS; i++)
		pthread_join(threads[i], NULL);
	if (sent != received || sent_sum != received_sum)
		fail(SIGNALS_LOST);
	return failed;
}
