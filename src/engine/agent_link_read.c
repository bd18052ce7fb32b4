/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent wrote: records, names, groups. In: the shared file. Out: copies or places that were checked against its bounds. */
#include "engine/agent_link_priv.h"

#include <string.h>
#include <sys/stat.h>

enum { TELL_PARTS = 16 }; /* of the ring: after each the agent is told that they are free */

/* The file grows behind our back, but never shrinks: what lay in it once can be read for ever. */
static bool lies_in_file(const struct xp_agent_link *link, uint64_t end)
{
	struct stat st;

	return !fstat(link->fd, &st) && end <= (uint64_t)st.st_size;
}

static struct xp_agent_slot *slot_at(const struct xp_agent_link *link, uint64_t position)
{
	return (struct xp_agent_slot *)(link->memory + XP_AGENT_DATA_OFFSET) + (position & (link->capacity - 1));
}

static void tell_tail(struct xp_agent_link *link)
{
	if (link->told != link->tail)
		__atomic_store_n(&link->control->tail, link->tail, __ATOMIC_RELEASE);
	link->told = link->tail;
}

static bool have_reserved(struct xp_agent_link *link)
{
	if (!xp_agent_link_begun(link) || link->aggregate)
		return false;
	if (link->head == link->tail)
		link->head = __atomic_load_n(&link->control->head, __ATOMIC_ACQUIRE);
	if (link->head == link->tail || link->head - link->tail > link->capacity)
		return false;
	return link->tail || lies_in_file(link, XP_AGENT_DATA_OFFSET + (uint64_t)link->capacity * sizeof(struct xp_agent_slot));
}

static void advance(struct xp_agent_link *link)
{
	link->tail++;
	if (link->tail - link->told >= link->capacity / TELL_PARTS)
		tell_tail(link);
}

bool xp_agent_link_record(struct xp_agent_link *link, struct xp_capture_event_5 *ret_record)
{
	const struct xp_agent_slot *slot;

	slot = have_reserved(link) ? slot_at(link, link->tail) : NULL;
	if (!slot || __atomic_load_n(&slot->commit, __ATOMIC_ACQUIRE) != link->tail + 1) {
		tell_tail(link);
		return false;
	}
	memcpy(ret_record, slot, sizeof(*ret_record));
	memset(ret_record->zero, 0, sizeof(ret_record->zero));
	advance(link);
	return true;
}

bool xp_agent_link_skip(struct xp_agent_link *link)
{
	if (!have_reserved(link))
		return false;
	advance(link);
	return true;
}

bool xp_agent_link_name(struct xp_agent_link *link, uint32_t *ret_id, const char **ret_text, uint32_t *ret_length)
{
	const uint64_t room = XP_AGENT_NAMES_END - XP_AGENT_NAMES_OFFSET;
	uint64_t end = __atomic_load_n(&link->control->names_bytes, __ATOMIC_ACQUIRE), next;
	const uint8_t *region = link->memory + XP_AGENT_NAMES_OFFSET;
	struct xp_capture_name head;

	if (!xp_agent_link_begun(link) || end > room || link->names_read + sizeof(head) > end)
		return false;
	memcpy(&head, region + link->names_read, sizeof(head));
	next = link->names_read + sizeof(head) + (((uint64_t)head.length + 7) & ~UINT64_C(7));
	if (!head.id || head.length > XP_AGENT_NAME_MAX || next > end)
		return false;
	*ret_id = head.id;
	*ret_text = (const char *)region + link->names_read + sizeof(head);
	*ret_length = head.length;
	link->names_read = next;
	return true;
}

const struct xp_capture_aggregate_5 *xp_agent_link_groups(const struct xp_agent_link *link, uint32_t *ret_n)
{
	uint64_t n = link->control->groups;

	*ret_n = 0;
	if (!xp_agent_link_begun(link) || !link->aggregate || n > link->capacity ||
	    !lies_in_file(link, XP_AGENT_DATA_OFFSET + n * sizeof(struct xp_capture_aggregate_5)))
		return NULL;
	*ret_n = (uint32_t)n;
	return (const struct xp_capture_aggregate_5 *)(link->memory + XP_AGENT_DATA_OFFSET);
}
