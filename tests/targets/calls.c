// SPDX-License-Identifier: Apache-2.0
/*
 * Calls functions and system calls a known number of times. Arguments: MODE N. Prints "ready", runs MODE at the first byte on stdin,
 * prints "done" and lives on until stdin ends. Exits 3 when its own code or results are not what they were.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ASM_FUNCTION(name, body) \
	__asm__(".text\n\t.balign 16\n\t.globl " name "\n\t.type " name ", @function\n" name ":\n\t" body "\n\t.size " name ", .-" name)

/* One function for each way of resuming behind a probe. */
ASM_FUNCTION("begins_push", "push %rbp\n\tmov %rdi, %rax\n\tpop %rbp\n\tret");
ASM_FUNCTION("begins_endbr", "endbr64\n.globl behind_endbr\nbehind_endbr:\n\tpush %rbp\n\tmov %rdi, %rax\n\tpop %rbp\n\tret");
ASM_FUNCTION("begins_move", "mov %rdi, %rax\n\tret");
ASM_FUNCTION("only_ret", "ret");
ASM_FUNCTION("begins_trap", "int3\n\tret");
ASM_FUNCTION("begins_lock", "lock incl (%rsp)\n\tret");
/* Two exits, named: odd arguments leave by the first. */
ASM_FUNCTION("two_exits",
	     "mov %rdi, %rax\n\ttest $1, %al\n\tje 1f\n.globl two_exits_odd\ntwo_exits_odd:\n\tret\n1:\n.globl two_exits_even\n"
	     "two_exits_even:\n\tret");
/* Ends in a jump to another function. */
ASM_FUNCTION("tail_outer", "push %rbp\n\tpop %rbp\n.globl tail_jump\ntail_jump:\n\tjmp begins_push");

long begins_push(long x);
long begins_endbr(long x);
long begins_move(long x);
void only_ret(void);
long two_exits(long x);
long tail_outer(long x);

__attribute__((noinline)) long work(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

__attribute__((noinline)) long recurse(long depth)
{
	long below = depth > 1 ? recurse(depth - 1) : 0;

	__asm__ volatile("" : "+r"(below));
	return below + 1;
}

static jmp_buf away;
__attribute__((noinline)) long leaves(long x)
{
	if (x % 3 == 0)
		longjmp(away, 1);
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static void run_plain(long n)
{
	for (long i = 0; i < n; i++)
		work(i);
}

/* The cheapest probe there is, so that events come as fast as they can. */
static void run_burst(long n)
{
	for (long i = 0; i < n; i++)
		begins_push(i);
}

/* A marker with a semaphore, as sys/sdt.h makes them: fires only while a tracer holds the semaphore up. */
volatile unsigned short marker_semaphore __attribute__((section(".probes"))) = 0;
ASM_FUNCTION("marker", "nop\n\tret");
void marker(void);

static void run_marker(long n)
{
	for (long i = 0; i < n; i++)
		if (marker_semaphore)
			marker();
}

static void run_shapes(long n)
{
	for (long i = 0; i < n; i++) {
		begins_push(i);
		begins_endbr(i);
		begins_move(i);
		only_ret();
		two_exits(i);
		tail_outer(i);
	}
}

static void run_recurse(long n)
{
	for (long i = 0; i < n; i++)
		if (recurse(80) != 80)
			exit(3);
}

static void run_longjmp(long n)
{
	for (volatile long i = 0; i < n; i++)
		if (!setjmp(away))
			leaves(i);
}

static void *thread_plain(void *arg)
{
	run_plain((long)arg);
	return NULL;
}

static void run_threads(long n)
{
	/* One after the other, so that each is born while events are wanted. */
	for (int i = 0; i < 7; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, thread_plain, (void *)n))
			exit(3);
		pthread_join(thread, NULL);
	}
}

static void run_two(long n)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_plain, (void *)n))
		exit(3);
	run_plain(n);
	pthread_join(thread, NULL);
}

static void run_fork(long n)
{
	for (int i = 0; i < 3; i++) {
		pid_t child = fork();

		if (child == 0) {
			run_plain(n);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	pid_t child = vfork();

	if (child == 0) {
		run_plain(n);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	run_plain(n);
}

static void run_exec(long n)
{
	run_plain(n);
	printf("done\n");
	fflush(stdout);
	execl("/bin/cat", "cat", NULL);
	exit(3);
}

static void run_getppid(long n)
{
	for (long i = 0; i < n; i++)
		syscall(SYS_getppid, i);
}

static void on_signal(int signal)
{
}

/* Every sleep is stopped and continued once by a child: the kernel restarts it. Every pause-like sleep with a handler ends in EINTR. */
static void run_restart(long n)
{
	struct sigaction action = { .sa_handler = on_signal };
	pid_t self = getpid();

	sigaction(SIGUSR1, &action, NULL);
	for (long i = 0; i < 2 * n; i++) {
		pid_t child = fork();

		if (child == 0) {
			usleep(20000);
			kill(self, i % 2 ? SIGUSR1 : SIGSTOP);
			usleep(20000);
			kill(self, SIGCONT);
			_exit(0);
		}
		struct timespec nap = { .tv_nsec = 80000000 };

		syscall(SYS_nanosleep, &nap, NULL);
		waitpid(child, NULL, 0);
	}
}

static void run_rename(long n)
{
	for (long i = 0; i < n; i++)
		pthread_setname_np(pthread_self(), i % 2 ? "odd" : "even");
}

/* Runs until stdin ends. */
static void run_forever(long n)
{
	for (;;)
		work(n);
}

static void run_idle(long n)
{
}

static void *thread_sleep(void *ms)
{
	struct timespec nap = { .tv_sec = (long)ms / 1000, .tv_nsec = (long)ms % 1000 * 1000000 };

	/* The first sleep begins before "ready", the second one when it is over. */
	syscall(SYS_nanosleep, &nap, NULL);
	nap = (struct timespec){ .tv_nsec = 1000000 };
	syscall(SYS_nanosleep, &nap, NULL);
	return NULL;
}

static pthread_t sleepers[7];

static void start_sleepers(long ms)
{
	for (int i = 0; i < 7; i++)
		if (pthread_create(&sleepers[i], NULL, thread_sleep, (void *)ms))
			exit(3);
	usleep(50000);
}

static void run_sleepers(long ms)
{
	for (int i = 0; i < 7; i++)
		pthread_join(sleepers[i], NULL);
}

static const struct {
	const char *name;
	void (*run)(long n);
} modes[] = {
	{ "plain", run_plain },	    { "shapes", run_shapes },	  { "recurse", run_recurse }, { "longjmp", run_longjmp },
	{ "threads", run_threads }, { "two", run_two },		  { "fork", run_fork },	      { "exec", run_exec },
	{ "getppid", run_getppid }, { "restart", run_restart },	  { "rename", run_rename },   { "forever", run_forever },
	{ "idle", run_idle },	    { "sleepers", run_sleepers }, { "burst", run_burst },     { "marker", run_marker },
};

int main(int argc, char **argv)
{
	unsigned char before[16];
	char go;

	if (argc != 3)
		return 2;
	memcpy(before, (const void *)work, sizeof(before));
	if (!strcmp(argv[1], "sleepers"))
		start_sleepers(atol(argv[2]));
	printf("ready\n");
	fflush(stdout);
	if (read(0, &go, 1) != 1)
		return 0;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(modes[i].name, argv[1]))
			modes[i].run(atol(argv[2]));
	printf("done\n");
	fflush(stdout);
	while (read(0, &go, 1) == 1)
		;
	return memcmp(before, (const void *)work, sizeof(before)) ? 3 : 0;
}
