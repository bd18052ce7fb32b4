/* SPDX-License-Identifier: Apache-2.0 */
/* What server and client of the demo agree on: one fixed-size request, one fixed-size response, over a Unix stream socket. */
#ifndef XP_DEMO_H
#define XP_DEMO_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

struct demo_request {
	uint32_t user, item, quantity;
};
struct demo_response {
	uint32_t allowed;
	uint32_t price_cents;
	char page[2040];
};

/* An abstract socket name: nothing is left in the file system. Returns the address length. */
static inline socklen_t demo_address(const char *name, struct sockaddr_un *ret_address)
{
	size_t len = strnlen(name, sizeof(ret_address->sun_path) - 1);

	memset(ret_address, 0, sizeof(*ret_address));
	ret_address->sun_family = AF_UNIX;
	memcpy(ret_address->sun_path + 1, name, len);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

#endif
