/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program to be measured: it obeys one line of standard input after the other and answers each with a line. Commands:
 *   agent PATH               load the agent and start it          cupti PATH    map libcupti, as torch does
 *   set NAME VALUE / get NAME  of the fake libcupti                names         print the lengths of the long names
 *   launch THREADS N NAME NS  N kernels from each of THREADS       driver N      N kernels by the driver API
 *   capture N                 N launches into a stream that is being captured
 *   fail N   memcpy KIND SRC DST BYTES N   memset N   graph K N (made now)   old K N (a graph made at the start)   sync MS
 *   loop THREADS US   launch until `end`      fork   exec PATH   exit
 *   mixed THREADS US   the same, the first thread replays graphs and the second loads modules
 *   load MS   context MS   full MS   calls that take so long   profile start|stop   the program's own profiler (client.h)
 */
#include "client.h"
#include "fake.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char long_names[4][70001];
static const unsigned lengths[4] = { 127, 128, 4096, 70000 };
static void *cupti, *old_graph;
static volatile int looping;

struct job {
	pthread_t thread;
	unsigned index, n, pause_us;
	uint64_t ns;
	const char *name;
	uint64_t done;
};

static const char *name_of(const char *text)
{
	for (unsigned i = 0; i < 4; i++)
		if (atoi(text) == (int)lengths[i])
			return long_names[i];
	return strdup(text);
}

static void *launch_many(void *arg)
{
	struct job *job = arg;

	for (unsigned i = 0; i < job->n; i++)
		fake_launch(job->name, job->index + 1, job->ns, 0);
	return NULL;
}

static void *launch_for_ever(void *arg)
{
	struct job *job = arg;

	while (looping) {
		fake_launch(job->name, job->index + 1, 500, 0);
		job->done++;
		if (job->pause_us)
			usleep(job->pause_us);
	}
	return NULL;
}

static void *mix_for_ever(void *arg)
{
	struct job *job = arg;

	while (looping) {
		if (job->index == 0)
			fake_graph_launch(old_graph, 1);
		else if (job->index == 1)
			fake_cu_load(0);
		else
			fake_launch(job->name, job->index + 1, 500, 0);
		job->done++;
		if (job->pause_us)
			usleep(job->pause_us);
	}
	return NULL;
}

static struct job jobs[64];
static unsigned n_jobs;

static void start(unsigned threads, unsigned n, const char *name, uint64_t ns, unsigned pause_us, void *(*run)(void *))
{
	n_jobs = threads < 64 ? threads : 64;
	for (unsigned i = 0; i < n_jobs; i++) {
		jobs[i] = (struct job){ .index = i, .n = n, .ns = ns, .name = name, .pause_us = pause_us };
		pthread_create(&jobs[i].thread, NULL, run, &jobs[i]);
	}
}

static unsigned long long finish(void)
{
	unsigned long long done = 0;

	looping = 0;
	for (unsigned i = 0; i < n_jobs; i++) {
		pthread_join(jobs[i].thread, NULL);
		done += jobs[i].done;
	}
	n_jobs = 0;
	return done;
}

static int start_agent(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	int (*begin)(void) = library ? (int (*)(void))dlsym(library, "xprobe_agent_start") : NULL;

	if (!begin)
		fprintf(stderr, "%s\n", dlerror());
	return begin ? begin() : -1;
}

/* A child of a measured process goes on calling CUDA, which real ones may not, but do. */
static int in_child(void)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		for (unsigned i = 0; i < 100; i++)
			fake_cu_launch("child", 1, 10, 0, 0);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return status;
}

static unsigned long long obey_work(const char *verb, char a[4][4200], int n)
{
	if (!strcmp(verb, "launch")) {
		start((unsigned)atoi(a[0]), (unsigned)atoi(a[1]), name_of(a[2]), strtoull(a[3], NULL, 10), 0, launch_many);
		return finish();
	}
	if (!strcmp(verb, "driver"))
		for (int i = 0; i < atoi(a[0]); i++)
			fake_cu_launch("by_driver", 1, 100, 0, 0);
	else if (!strcmp(verb, "capture"))
		fake_cu_capture((unsigned)atoi(a[0]));
	else if (!strcmp(verb, "fail"))
		for (int i = 0; i < atoi(a[0]); i++)
			fake_launch("refused", 1, 100, 700);
	else if (!strcmp(verb, "memset"))
		for (int i = 0; i < atoi(a[0]); i++)
			fake_memset(7, 1024, 1);
	else if (!strcmp(verb, "old"))
		for (int i = 0; i < atoi(a[0]); i++)
			fake_graph_launch(old_graph, 1);
	else if (!strcmp(verb, "sync"))
		fake_synchronize((unsigned)atoi(a[0]));
	else if (!strcmp(verb, "load"))
		fake_cu_load((unsigned)atoi(a[0]));
	else if (!strcmp(verb, "context"))
		fake_cu_context((unsigned)atoi(a[0]));
	else if (!strcmp(verb, "full"))
		fake_cu_full_queue((unsigned)atoi(a[0]));
	else if (!strcmp(verb, "profile"))
		return !strcmp(a[0], "start") ? fake_profile_start(cupti) : fake_profile_stop(cupti);
	else
		return 99;
	return 0;
}

static unsigned long long obey(const char *verb, char a[4][4200], int n, const char *line)
{
	unsigned kind, src, dst, count;
	unsigned long long bytes;

	if (!strcmp(verb, "agent"))
		return (unsigned long long)start_agent(a[0]);
	if (!strcmp(verb, "cupti"))
		return (cupti = dlopen(a[0], RTLD_NOW | RTLD_GLOBAL)) ? 0 : 1;
	if (!strcmp(verb, "set"))
		((void (*)(const char *, uint64_t))dlsym(cupti, "fake_cupti_set"))(a[0], strtoull(a[1], NULL, 10));
	else if (!strcmp(verb, "get"))
		return ((uint64_t(*)(const char *))dlsym(cupti, "fake_cupti_get"))(a[0]);
	else if (sscanf(line, "memcpy %u %u %u %llu %u", &kind, &src, &dst, &bytes, &count) == 5)
		while (count--)
			fake_memcpy((uint8_t)kind, (uint8_t)src, (uint8_t)dst, bytes, 1);
	else if (!strcmp(verb, "graph")) {
		void *graph = fake_graph((unsigned)atoi(a[0]), "node");

		for (int i = 0; i < atoi(a[1]); i++)
			fake_graph_launch(graph, 1);
	} else if (!strcmp(verb, "loop") || !strcmp(verb, "mixed")) {
		looping = 1;
		start((unsigned)atoi(a[0]), 0, "loop", 0, (unsigned)atoi(a[1]), *verb == 'l' ? launch_for_ever : mix_for_ever);
	} else if (!strcmp(verb, "end"))
		return finish();
	else if (!strcmp(verb, "fork"))
		return (unsigned long long)in_child();
	else if (!strcmp(verb, "exec"))
		execl(a[0], a[0], "5", (char *)NULL);
	else if (!strcmp(verb, "exit"))
		exit(0);
	else
		return obey_work(verb, a, n);
	return 0;
}

int main(void)
{
	static char line[8192], a[4][4200];
	char verb[32];

	cuInit(0);
	old_graph = fake_graph(5, "old_node");
	for (unsigned i = 0; i < 4; i++)
		memset(long_names[i], 'a' + (int)i, lengths[i]);
	while (fgets(line, sizeof(line), stdin)) {
		int n = sscanf(line, "%31s %4199s %4199s %4199s %4199s", verb, a[0], a[1], a[2], a[3]);

		printf("%llu\n", n < 1 ? 98 : obey(verb, a, n - 1, line));
		fflush(stdout);
	}
	return 0;
}
