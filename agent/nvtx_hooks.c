/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that stand in the slots of NVTX headers, one for each call of the API that begins, ends or names ranges. In: the call's
 * arguments. Out: a message and a domain for nvtx_range.c. Return values are those of a process without a tool, but for ids and handles.
 */
#include "agent/nvtx.h"

#include <string.h>
#include <wchar.h>

enum { OTHER_DOMAIN = 0xffff };

static size_t put_utf8(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | (c >> 18 & 7));
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static struct nvtx_message ascii(const char *text)
{
	return (struct nvtx_message){ .text = text, .length = text ? strlen(text) : 0, .complete = true };
}

static struct nvtx_message wide(const wchar_t *text, char buffer[XP_AGENT_NVTX_TEXT])
{
	struct nvtx_message message = { .text = text ? buffer : NULL, .complete = true };

	for (; text && *text; text++) {
		if (message.length + 4 >= XP_AGENT_NVTX_TEXT) {
			message.complete = false;
			break;
		}
		message.length += put_utf8(buffer + message.length, (uint32_t)*text);
	}
	return message;
}

static struct nvtx_message registered(const void *handle)
{
	const struct xp_agent_nvtx_text *text = xp_agent_nvtx_text_at(&xp_agent.nvtx.strings, handle);

	if (!text)
		return (struct nvtx_message){ 0 };
	return (struct nvtx_message){ .text = text->text, .length = text->length, .complete = text->ready == 1 };
}

static struct nvtx_message of_attributes(const struct nvtx_attributes *attributes, char buffer[XP_AGENT_NVTX_TEXT])
{
	if (!attributes || attributes->size < sizeof(*attributes))
		return (struct nvtx_message){ 0 };
	switch (attributes->message_type) {
	case NVTX_MESSAGE_ASCII:
		return ascii(attributes->message);
	case NVTX_MESSAGE_WIDE:
		return wide(attributes->message, buffer);
	case NVTX_MESSAGE_REGISTERED:
		return registered(attributes->message);
	default:
		return (struct nvtx_message){ 0 };
	}
}

/* 0: the default one, or one made before we came, which has no handle. */
static uint32_t domain_of(const void *handle)
{
	const struct xp_agent_nvtx_text *text = handle ? xp_agent_nvtx_text_at(&xp_agent.nvtx.domains, handle) : NULL;

	if (!handle)
		return 0;
	return text ? (uint32_t)(text - xp_agent.nvtx.domains.at) + 1 : OTHER_DOMAIN;
}

static int push_a(const char *text)
{
	const struct nvtx_message message = ascii(text);

	xp_agent_nvtx_push(0, &message);
	return NVTX_NO_TRACKING;
}

static int push_w(const wchar_t *text)
{
	char buffer[XP_AGENT_NVTX_TEXT];
	const struct nvtx_message message = wide(text, buffer);

	xp_agent_nvtx_push(0, &message);
	return NVTX_NO_TRACKING;
}

static int domain_push(const void *domain, const struct nvtx_attributes *attributes)
{
	char buffer[XP_AGENT_NVTX_TEXT];
	const struct nvtx_message message = of_attributes(attributes, buffer);

	xp_agent_nvtx_push(domain_of(domain), &message);
	return NVTX_NO_TRACKING;
}

static int push_ex(const struct nvtx_attributes *attributes)
{
	return domain_push(NULL, attributes);
}

static int domain_pop(const void *domain)
{
	xp_agent_nvtx_pop(domain_of(domain));
	return NVTX_NO_TRACKING;
}

static int pop(void)
{
	return domain_pop(NULL);
}

static uint64_t start_a(const char *text)
{
	const struct nvtx_message message = ascii(text);

	return xp_agent_nvtx_start(0, &message);
}

static uint64_t start_w(const wchar_t *text)
{
	char buffer[XP_AGENT_NVTX_TEXT];
	const struct nvtx_message message = wide(text, buffer);

	return xp_agent_nvtx_start(0, &message);
}

static uint64_t domain_start(const void *domain, const struct nvtx_attributes *attributes)
{
	char buffer[XP_AGENT_NVTX_TEXT];
	const struct nvtx_message message = of_attributes(attributes, buffer);

	return xp_agent_nvtx_start(domain_of(domain), &message);
}

static uint64_t start_ex(const struct nvtx_attributes *attributes)
{
	return domain_start(NULL, attributes);
}

static void domain_end(const void *domain, uint64_t id)
{
	xp_agent_nvtx_end(id);
}

/* A handle is the place of the text, which is never freed: the program may keep it for ever. NULL, as without a tool, in forked children.
 */
static const void *handle_of(const struct nvtx_texts *texts, const struct nvtx_message *message)
{
	uint32_t id = xp_agent_is_live() && texts->at && message->text ? xp_agent_nvtx_text(texts, message) : 0;

	return id ? &texts->at[id - 1] : NULL;
}

static const void *register_a(const void *domain, const char *text)
{
	const struct nvtx_message message = ascii(text);

	return handle_of(&xp_agent.nvtx.strings, &message);
}

static const void *register_w(const void *domain, const wchar_t *text)
{
	char buffer[XP_AGENT_NVTX_TEXT];
	const struct nvtx_message message = wide(text, buffer);

	return handle_of(&xp_agent.nvtx.strings, &message);
}

static const void *create_a(const char *name)
{
	const struct nvtx_message message = ascii(name);

	return handle_of(&xp_agent.nvtx.domains, &message);
}

static const void *create_w(const wchar_t *name)
{
	char buffer[XP_AGENT_NVTX_TEXT];
	const struct nvtx_message message = wide(name, buffer);

	return handle_of(&xp_agent.nvtx.domains, &message);
}

uint64_t xp_agent_nvtx_nothing(void)
{
	return 0;
}

#define CORE(id) [NVTX_CORE + (id)-1]
#define CORE2(id) [NVTX_CORE2 + (id)-1]
void *const xp_agent_nvtx_hooks[NVTX_SLOTS] = {
	CORE(4) = start_ex,	 CORE(5) = start_a,	 CORE(6) = start_w,	 CORE(7) = xp_agent_nvtx_end,
	CORE(8) = push_ex,	 CORE(9) = push_a,	 CORE(10) = push_w,	 CORE(11) = pop,
	CORE2(2) = domain_start, CORE2(3) = domain_end,	 CORE2(4) = domain_push, CORE2(5) = domain_pop,
	CORE2(10) = register_a,	 CORE2(11) = register_w, CORE2(12) = create_a,	 CORE2(13) = create_w,
};

bool xp_agent_nvtx_makes_handles(unsigned slot)
{
	return slot >= NVTX_CORE2 + 9 && slot <= NVTX_CORE2 + 12;
}
