/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts, each once, in tables that any thread may add to: names of ranges (in the shared file), domains, registered strings. A place is
 * taken by writing its hash, and usable once it is ready. In: a text. Out: its id.
 */
#include "agent/nvtx.h"

#include <string.h>

enum { MOST_PROBES = 64, PATIENCE = 1000 };

static uint64_t hash_of(const char *text, size_t len)
{
	uint64_t h = len + 1;

	for (; len >= 8; text += 8, len -= 8) {
		uint64_t word;

		memcpy(&word, text, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	for (; len; text++, len--)
		h = (h ^ (uint8_t)*text) * 0x9e3779b97f4a7c15ull;
	h ^= h >> 32;
	return h ? h : 1;
}

/* The thread that took the place may be between two instructions for long; then the text has no id this time. */
static bool wait_ready(const struct xp_agent_nvtx_text *entry)
{
	for (unsigned i = 0; i < PATIENCE; i++) {
		if (__atomic_load_n(&entry->ready, __ATOMIC_ACQUIRE))
			return true;
		__builtin_ia32_pause();
	}
	return false;
}

static void fill(struct xp_agent_nvtx_text *entry, const char *text, size_t len, bool whole)
{
	memcpy(entry->text, text, len);
	entry->text[len] = '\0';
	entry->length = (uint32_t)len;
	__atomic_store_n(&entry->ready, whole ? 1 : 2, __ATOMIC_RELEASE);
}

uint32_t xp_agent_nvtx_text(const struct nvtx_texts *texts, const struct nvtx_message *message)
{
	size_t len = message->length < XP_AGENT_NVTX_TEXT - 1 ? message->length : XP_AGENT_NVTX_TEXT - 1;
	bool whole = message->complete && len == message->length;
	uint64_t hash = hash_of(message->text, len) + !whole;

	for (uint64_t i = 0; i < MOST_PROBES; i++) {
		uint32_t index = (uint32_t)((hash >> 16) + i) & (texts->capacity - 1);
		struct xp_agent_nvtx_text *entry = &texts->at[index];
		__u64 held = __atomic_load_n(&entry->hash, __ATOMIC_ACQUIRE);

		if (!held && __atomic_compare_exchange_n(&entry->hash, &held, hash, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			fill(entry, message->text, len, whole);
			return index + 1;
		}
		if (held != hash)
			continue;
		if (!wait_ready(entry))
			return 0;
		if (entry->length == len && !memcmp(entry->text, message->text, len))
			return index + 1;
	}
	return 0;
}

const struct xp_agent_nvtx_text *xp_agent_nvtx_text_at(const struct nvtx_texts *texts, const void *handle)
{
	uintptr_t offset = (uintptr_t)handle - (uintptr_t)texts->at;
	const struct xp_agent_nvtx_text *entry = handle;

	if (!texts->at || offset >= texts->capacity * sizeof(*entry) || offset % sizeof(*entry) ||
	    !__atomic_load_n(&entry->ready, __ATOMIC_ACQUIRE))
		return NULL;
	return entry;
}
