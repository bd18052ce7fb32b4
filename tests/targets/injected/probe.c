/* SPDX-License-Identifier: Apache-2.0 */
/* The library that tests inject: says in its control memory that it was constructed, called and could start a thread; uses vector
 * registers. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../inject_probe.h"

static uint32_t constructed;

__attribute__((constructor)) static void construct(void)
{
#ifdef CONSTRUCT_MS
	poll(NULL, 0, CONSTRUCT_MS);
#endif
	constructed++;
}

/* Leaves nothing in a caller-saved register as it was. */
static void spoil_registers(void)
{
	__asm__ volatile("pcmpeqd %%xmm0, %%xmm0\n\tpcmpeqd %%xmm1, %%xmm1\n\tpcmpeqd %%xmm7, %%xmm7\n\tpcmpeqd %%xmm15, "
			 "%%xmm15\n\tfninit\n\tfldpi" ::
				 : "xmm0", "xmm1", "xmm7", "xmm15");
}

static void *run(void *arg)
{
	struct probe *probe = arg;

	__atomic_store_n(&probe->thread_ran, 1, __ATOMIC_RELEASE);
	return NULL;
}

__attribute__((visibility("default"))) int probe_start(int control, uint64_t argument)
{
	struct probe *probe = mmap(NULL, PROBE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, control, 0);
	pthread_t thread;

	if (probe == MAP_FAILED)
		return -1;
	spoil_registers();
	probe->argument = argument;
	probe->constructed = constructed;
	probe->tid = (uint32_t)syscall(SYS_gettid);
	probe->pid = (uint32_t)getpid();
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &probe->signal_mask, 8);
	free(malloc(1000003));
	if (pthread_create(&thread, NULL, run, probe))
		return -2;
	pthread_detach(thread);
	__atomic_store_n(&probe->magic, PROBE_MAGIC, __ATOMIC_RELEASE);
	return PROBE_ANSWER;
}

__attribute__((visibility("default"))) int probe_refuse(int control, uint64_t argument)
{
	return -5;
}

__attribute__((visibility("default"))) int probe_slow(int control, uint64_t argument)
{
	struct timespec pause = { .tv_nsec = (long)argument };

	/* Not nanosleep: it forgets the interrupted call of the thread, as inject.h says. */
	ppoll(NULL, 0, &pause, NULL);
	return probe_start(control, argument);
}
