/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with NVTX ranges: it obeys one line of standard input after the other and answers each with a number. Commands:
 *   agent PATH              load the agent and start it            load PATH   a plugin; answers its index    unload PLUGIN
 *   push PLUGIN N TEXT      N times push and pop                   mark PLUGIN N
 *   hash PLUGIN   state PLUGIN   take PLUGIN   taken PLUGIN         PLUGIN app: the program's own copy
 *   nest DEPTH N TEXT       N times DEPTH pushes, then the pops    open N TEXT / close N: pushes alone, pops alone
 *   process N TEXT          ranges that begin here and end on another thread        wide N TEXT   attributes N TEXT
 *   domain NAME (answers its number)   register NUMBER TEXT   in NUMBER N TEXT (inline text)   by NUMBER N (registered)
 *   interleave A B N        ranges of two domains that overlap     start TEXT (answers the id)    stop ID
 *   loop THREADS TEXT US / end    sleeps US TEXT: for ever, a range around a sleep    toggle PATH TIMES: answers the records
 *   fork N TEXT             timed N TEXT   answers the median of its own durations
 *   call N TEXT             traced() in a range                     rate MS TEXT   pairs a second    pairs BURSTS N TEXT   ps a pair
 *   threads THREADS N TEXT        fresh THREADS N TEXT (one after the other)
 */
#include <nvtx3/nvToolsExt.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "plugin.c"

static const struct plugin *plugins[64];
static void *libraries[64];
static unsigned n_plugins;
static nvtxDomainHandle_t domains[64];
static nvtxStringHandle_t strings[64];
static unsigned n_domains;
static volatile int looping;

struct job {
	pthread_t thread;
	unsigned n, pause_us;
	const char *text;
	nvtxRangeId_t *ids;
	unsigned long long done;
};
static struct job jobs[64];
static unsigned n_jobs;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static const struct plugin *plugin_of(const char *text)
{
	unsigned i = (unsigned)atoi(text);

	return !strcmp(text, "app") || i >= n_plugins ? &plugin : plugins[i];
}

static nvtxEventAttributes_t attributes_of(const char *text)
{
	nvtxEventAttributes_t a = { .version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE };

	a.messageType = NVTX_MESSAGE_TYPE_ASCII;
	a.message.ascii = text;
	return a;
}

static void *push_many(void *arg)
{
	struct job *job = arg;

	for (unsigned i = 0; i < job->n; i++) {
		nvtxRangePushA(job->text);
		nvtxRangePop();
	}
	return NULL;
}

static void *push_for_ever(void *arg)
{
	struct job *job = arg;

	for (; looping; job->done++) {
		nvtxRangeId_t id = nvtxRangeStartA(job->text);

		nvtxRangePushA(job->text);
		plugin_of("0")->push(job->text);
		plugin_of("0")->pop();
		nvtxRangePop();
		nvtxRangeEnd(id);
		if (job->pause_us)
			usleep(job->pause_us);
	}
	return NULL;
}

static void *end_ranges(void *arg)
{
	struct job *job = arg;

	for (unsigned i = 0; i < job->n; i++)
		nvtxRangeEnd(job->ids[i]);
	return NULL;
}

static void start_jobs(unsigned threads, unsigned n, unsigned pause_us, const char *text, void *(*run)(void *))
{
	n_jobs = threads < 64 ? threads : 64;
	for (unsigned i = 0; i < n_jobs; i++) {
		jobs[i] = (struct job){ .n = n, .pause_us = pause_us, .text = text };
		pthread_create(&jobs[i].thread, NULL, run, &jobs[i]);
	}
}

static unsigned long long finish_jobs(void)
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

static unsigned long long process_ranges(unsigned n, const char *text)
{
	struct job job = { .n = n, .ids = calloc(n, sizeof(*job.ids)) };
	unsigned long long distinct = 0;

	for (unsigned i = 0; i < n; i++)
		job.ids[i] = nvtxRangeStartA(text);
	for (unsigned i = 0; i < n; i++)
		distinct += job.ids[i] && (!i || job.ids[i] != job.ids[i - 1]);
	pthread_create(&job.thread, NULL, end_ranges, &job);
	pthread_join(job.thread, NULL);
	free(job.ids);
	return distinct;
}

static int by_value(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static unsigned long long timed(unsigned n, const char *text)
{
	uint64_t *ns = calloc(n, sizeof(*ns)), median;

	for (unsigned i = 0; i < n; i++) {
		uint64_t begin_ns, until_ns;

		nvtxRangePushA(text);
		begin_ns = now_ns();
		until_ns = begin_ns + 20000 + i % 7 * 10000;
		while (now_ns() < until_ns)
			;
		ns[i] = now_ns() - begin_ns;
		nvtxRangePop();
	}
	qsort(ns, n, sizeof(*ns), by_value);
	median = ns[(n - 1) / 2];
	free(ns);
	return median;
}

/* Median of bursts, ps a pair: between them a reader has the time to take what was recorded. */
static unsigned long long pairs(unsigned bursts, unsigned n, const char *text)
{
	uint64_t *ps = calloc(bursts, sizeof(*ps)), median;

	for (unsigned i = 0; i < bursts; i++) {
		uint64_t begin_ns = now_ns();

		for (unsigned k = 0; k < n; k++) {
			nvtxRangePushA(text);
			nvtxRangePop();
		}
		ps[i] = (now_ns() - begin_ns) * 1000 / n;
		usleep(30000);
	}
	qsort(ps, bursts, sizeof(*ps), by_value);
	median = ps[(bursts - 1) / 2];
	free(ps);
	return median;
}

/* For probes on a host function inside a range. */
__attribute__((noinline)) unsigned traced(unsigned n);
unsigned traced(unsigned n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static unsigned long long call(unsigned n, const char *text)
{
	unsigned long long sum = 0;

	for (unsigned i = 0; i < n; i++) {
		nvtxRangePushA(text);
		sum += traced(i);
		nvtxRangePop();
	}
	return sum;
}

static unsigned long long rate(unsigned ms, const char *text)
{
	uint64_t begin_ns = now_ns(), end_ns = begin_ns + ms * 1000000ull, now = begin_ns;
	unsigned long long pairs = 0;

	for (; now < end_ns; now = now_ns())
		for (unsigned i = 0; i < 1000; i++, pairs++) {
			nvtxRangePushA(text);
			nvtxRangePop();
		}
	return pairs * 1000000000ull / (now - begin_ns);
}

static unsigned long long in_child(unsigned n, const char *text)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		for (unsigned i = 0; i < n; i++) {
			nvtxRangePushA(text);
			nvtxRangePop();
		}
		_exit(nvtxRangeStartA(text) != 0);
	}
	waitpid(child, &status, 0);
	return (unsigned)status;
}

static void by_attributes(nvtxDomainHandle_t domain, unsigned n, const nvtxEventAttributes_t *a)
{
	for (unsigned i = 0; i < n; i++) {
		nvtxDomainRangePushEx(domain, a);
		nvtxDomainRangePop(domain);
	}
}

static void in_domain(nvtxDomainHandle_t domain, unsigned n, const char *text)
{
	nvtxEventAttributes_t a = attributes_of(text);

	by_attributes(domain, n, &a);
}

static void registered(unsigned number, unsigned n)
{
	nvtxEventAttributes_t a = attributes_of(NULL);

	a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	a.message.registered = strings[number];
	by_attributes(domains[number], n, &a);
}

static void interleave(nvtxDomainHandle_t one, nvtxDomainHandle_t other, unsigned n)
{
	nvtxEventAttributes_t a = attributes_of("one"), b = attributes_of("other");

	for (unsigned i = 0; i < n; i++) {
		nvtxDomainRangePushEx(one, &a);
		nvtxDomainRangePushEx(other, &b);
		nvtxDomainRangePop(one);
		nvtxDomainRangePushEx(one, &a);
		nvtxDomainRangePop(other);
		nvtxDomainRangePop(one);
	}
}

static void wide(unsigned n, const char *text)
{
	wchar_t buffer[256];
	unsigned i = 0;

	for (; text[i] && i < 255; i++)
		buffer[i] = text[i] == '@' ? 0x20ac : text[i];
	buffer[i] = 0;
	for (i = 0; i < n; i++) {
		nvtxRangePushW(buffer);
		nvtxRangePop();
	}
}

static unsigned long long load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	libraries[n_plugins] = library;
	plugins[n_plugins] = library ? dlsym(library, "plugin") : NULL;
	return plugins[n_plugins] ? n_plugins++ : 99;
}

static unsigned long long start_agent(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	int (*begin)(void) = library ? (int (*)(void))dlsym(library, "xprobe_agent_start") : NULL;

	return begin ? (unsigned long long)begin() : 1;
}

static unsigned long long toggle(const char *path, uint64_t times)
{
	void *library = dlopen(path, RTLD_NOW);
	uint64_t (*run)(uint64_t, uint64_t) = library ? (uint64_t(*)(uint64_t, uint64_t))dlsym(library, "nvtx_toggle") : NULL;

	return run ? run((uint64_t)(uintptr_t)&nvtxGlobals_v3, times) : 0;
}

static unsigned long long obey_threads(const char *verb, char a[3][512])
{
	if (!strcmp(verb, "loop")) {
		looping = 1;
		start_jobs((unsigned)atoi(a[0]), 0, (unsigned)atoi(a[2]), strdup(a[1]), push_for_ever);
	} else if (!strcmp(verb, "threads")) {
		start_jobs((unsigned)atoi(a[0]), (unsigned)atoi(a[1]), 0, a[2], push_many);
		finish_jobs();
	} else if (!strcmp(verb, "fresh")) {
		for (int i = 0; i < atoi(a[0]); i++) {
			start_jobs(1, (unsigned)atoi(a[1]), 0, a[2], push_many);
			finish_jobs();
		}
	} else if (!strcmp(verb, "end")) {
		return finish_jobs();
	} else {
		return 98;
	}
	return 0;
}

static unsigned long long obey_plugin(const char *verb, char a[3][512])
{
	unsigned long long odd = 0;

	if (!strcmp(verb, "hash"))
		return plugin_of(a[0])->hash();
	if (!strcmp(verb, "state"))
		return plugin_of(a[0])->state();
	if (!strcmp(verb, "taken"))
		return plugin_of(a[0])->taken();
	if (!strcmp(verb, "take"))
		plugin_of(a[0])->take();
	else if (!strcmp(verb, "mark"))
		for (int i = 0; i < atoi(a[1]); i++)
			plugin_of(a[0])->mark("mark");
	else if (!strcmp(verb, "push"))
		for (int i = 0; i < atoi(a[1]); i++) {
			odd += plugin_of(a[0])->push(a[2]) != NVTX_NO_PUSH_POP_TRACKING;
			odd += plugin_of(a[0])->pop() != NVTX_NO_PUSH_POP_TRACKING;
		}
	else
		return obey_threads(verb, a);
	return odd;
}

static unsigned long long obey_domain(const char *verb, char a[3][512])
{
	unsigned number = (unsigned)atoi(a[0]) % 64, n = (unsigned)atoi(a[1]);

	if (!strcmp(verb, "domain"))
		return domains[n_domains] = nvtxDomainCreateA(a[0]), n_domains++;
	if (!strcmp(verb, "register"))
		strings[number] = nvtxDomainRegisterStringA(domains[number], a[1]);
	else if (!strcmp(verb, "in"))
		in_domain(domains[number], n, a[2]);
	else if (!strcmp(verb, "by"))
		registered(number, n);
	else if (!strcmp(verb, "interleave"))
		interleave(domains[number], domains[n % 64], (unsigned)atoi(a[2]));
	else
		return obey_plugin(verb, a);
	return 0;
}

static unsigned long long obey(const char *verb, char a[3][512])
{
	unsigned n = (unsigned)atoi(a[0]);

	if (!strcmp(verb, "agent"))
		return start_agent(a[0]);
	if (!strcmp(verb, "toggle"))
		return toggle(a[0], strtoull(a[1], NULL, 10));
	if (!strcmp(verb, "load"))
		return load(a[0]);
	if (!strcmp(verb, "unload"))
		return (unsigned long long)dlclose(libraries[n % 64]);
	if (!strcmp(verb, "process"))
		return process_ranges(n, a[1]);
	if (!strcmp(verb, "timed"))
		return timed(n, a[1]);
	if (!strcmp(verb, "call"))
		return call(n, a[1]);
	if (!strcmp(verb, "sleeps"))
		for (;; nvtxRangePop()) {
			nvtxRangePushA(a[1]);
			usleep(n);
		}
	if (!strcmp(verb, "pairs"))
		return pairs(n, (unsigned)atoi(a[1]), a[2]);
	if (!strcmp(verb, "rate"))
		return rate(n, a[1]);
	if (!strcmp(verb, "fork"))
		return in_child(n, a[1]);
	if (!strcmp(verb, "start"))
		return nvtxRangeStartA(a[0]);
	if (!strcmp(verb, "stop"))
		nvtxRangeEnd(strtoull(a[0], NULL, 10));
	else if (!strcmp(verb, "nest"))
		for (int k = 0; k < atoi(a[1]); k++) {
			for (unsigned i = 0; i < n; i++)
				nvtxRangePushA(a[2]);
			for (unsigned i = 0; i < n; i++)
				nvtxRangePop();
		}
	else if (!strcmp(verb, "open"))
		while (n--)
			nvtxRangePushA(a[1]);
	else if (!strcmp(verb, "close"))
		while (n--)
			nvtxRangePop();
	else if (!strcmp(verb, "wide"))
		wide(n, a[1]);
	else if (!strcmp(verb, "attributes"))
		in_domain(NULL, n, a[1]);
	else
		return obey_domain(verb, a);
	return 0;
}

int main(void)
{
	static char line[2048], a[3][512];
	char verb[32];

	while (fgets(line, sizeof(line), stdin)) {
		memset(a, 0, sizeof(a));
		if (sscanf(line, "%31s %511s %511s %511s", verb, a[0], a[1], a[2]) < 1)
			continue;
		printf("%llu\n", obey(verb, a));
		fflush(stdout);
	}
	return 0;
}
