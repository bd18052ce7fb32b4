/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small shop server: one worker thread a connection, a page a request. Its recommendations look dear; what really takes the time is
 * hidden in `authorize`, which asks a permission service in another process and waits for the answer. In: a socket name. Ends on SIGTERM.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "demo.h"

enum { MAX_WORKERS = 4, ITEMS = 2048, TRAITS = 64 };

struct worker {
	pthread_t thread;
	int connection;
	int permission; /* socket of this worker's own permission service */
	pid_t service;
	unsigned number;
	const float (*traits)[TRAITS]; /* of every item */
};

struct shop {
	int listener;
	struct worker workers[MAX_WORKERS];
	float traits[ITEMS][TRAITS];
};

static bool read_whole(int fd, void *into, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = read(fd, (char *)into + done, size - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* The slow neighbour: 2 to 5 ms an answer, and 25 ms for one user in thirty-one. Runs in a process of its own. */
static void permission_service(int fd)
{
	uint32_t user;

	while (recv(fd, &user, sizeof(user), 0) == sizeof(user)) {
		long us = user % 31 == 0 ? 25000 : 2000 + (long)(user * 2654435761u % 3000);
		struct timespec pause = { .tv_nsec = us * 1000 };
		uint32_t allowed = user % 97 != 0;

		nanosleep(&pause, NULL);
		if (send(fd, &allowed, sizeof(allowed), MSG_NOSIGNAL) != sizeof(allowed))
			break;
	}
	_exit(0);
}

static bool authorize(int permission, uint32_t user)
{
	uint32_t allowed = 0;

	if (send(permission, &user, sizeof(user), MSG_NOSIGNAL) != sizeof(user))
		return false;
	return recv(permission, &allowed, sizeof(allowed), 0) == sizeof(allowed) && allowed;
}

static uint32_t price_of(uint32_t item, uint32_t quantity)
{
	uint32_t price = 199 + item * 37 % 9000;

	return quantity >= 10 ? price * quantity / 10 * 9 : price * quantity;
}

/* The item most like this one, further than `distance` away: a walk over the whole catalogue. */
static uint32_t similar_item(const struct worker *worker, uint32_t item, uint32_t distance)
{
	uint32_t best = item;
	float best_score = -1;

	for (uint32_t other = 0; other < ITEMS; other++) {
		float score = 0;

		for (unsigned i = 0; i < TRAITS; i++)
			score += worker->traits[item][i] * worker->traits[other][i];
		if (score > best_score && (other > item + distance || other + distance < item)) {
			best_score = score;
			best = other;
		}
	}
	return best;
}

static void render_page(const struct worker *worker, const struct demo_request *request, struct demo_response *response)
{
	uint32_t item = request->item % ITEMS;
	size_t used = 0;

	for (uint32_t row = 0; row < 4; row++) {
		int n = snprintf(response->page + used, sizeof(response->page) - used, "<li>item %u: %u cents</li>\n", item,
				 price_of(item, 1));
		used += n > 0 ? (size_t)n : 0;
		item = similar_item(worker, item, row);
	}
}

static void handle_request(const struct worker *worker, const struct demo_request *request, struct demo_response *response)
{
	memset(response, 0, sizeof(*response));
	response->allowed = authorize(worker->permission, request->user);
	if (!response->allowed)
		return;
	response->price_cents = price_of(request->item, request->quantity);
	render_page(worker, request, response);
}

static void *serve(void *argument)
{
	struct worker *worker = argument;
	struct demo_request request;
	struct demo_response response;
	char name[16];

	snprintf(name, sizeof(name), "worker-%u", worker->number);
	pthread_setname_np(pthread_self(), name);
	while (read_whole(worker->connection, &request, sizeof(request))) {
		handle_request(worker, &request, &response);
		if (send(worker->connection, &response, sizeof(response), MSG_NOSIGNAL) != sizeof(response))
			break;
	}
	close(worker->connection);
	return NULL;
}

/* A permission service for each worker, forked before there is any thread. */
static bool start_permission_services(struct worker *workers, const float (*traits)[TRAITS])
{
	for (unsigned i = 0; i < MAX_WORKERS; i++) {
		int pair[2];
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
			return false;
		workers[i].service = fork();
		if (workers[i].service < 0)
			return false;
		if (workers[i].service == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(pair[0]);
			permission_service(pair[1]);
		}
		close(pair[1]);
		workers[i].permission = pair[0];
		workers[i].number = i;
		workers[i].traits = traits;
	}
	return true;
}

static void *accept_connections(void *argument)
{
	struct shop *shop = argument;

	for (unsigned i = 0; i < MAX_WORKERS; i++) {
		struct worker *worker = &shop->workers[i];
		worker->connection = accept(shop->listener, NULL, NULL);
		if (worker->connection < 0 || pthread_create(&worker->thread, NULL, serve, worker) != 0)
			break;
	}
	return NULL;
}

static bool open_shop(struct shop *shop, const char *name)
{
	struct sockaddr_un address;
	socklen_t len = demo_address(name, &address);
	pthread_t acceptor;

	for (uint32_t i = 0; i < ITEMS * TRAITS; i++)
		shop->traits[i / TRAITS][i % TRAITS] = (float)(i * 2654435761u % 1000) / 1000;
	shop->listener = socket(AF_UNIX, SOCK_STREAM, 0);
	return shop->listener >= 0 && bind(shop->listener, (struct sockaddr *)&address, len) == 0 &&
	       listen(shop->listener, MAX_WORKERS) == 0 && start_permission_services(shop->workers, (const float(*)[TRAITS])shop->traits) &&
	       pthread_create(&acceptor, NULL, accept_connections, shop) == 0;
}

int main(int argc, char **argv)
{
	static struct shop shop;
	sigset_t stop;
	int signal_number;

	if (argc != 2) {
		fprintf(stderr, "usage: %s SOCKET-NAME\n", argv[0]);
		return 2;
	}
	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	if (!open_shop(&shop, argv[1])) {
		perror("demo server");
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	sigwait(&stop, &signal_number);
	for (unsigned i = 0; i < MAX_WORKERS; i++) {
		kill(shop.workers[i].service, SIGKILL);
		waitpid(shop.workers[i].service, NULL, 0);
	}
	return 0;
}
