/* SPDX-License-Identifier: Apache-2.0 */
/* The open map of an Event, contract 10.1 "Key in attributes": built from the store, and read back into it. No state. */
#include "result/event_record.h"

#include <string.h>

#include "event/api_name.h"

static void put(json_t *map, const char *key, json_t *value)
{
	json_object_set_new_nocheck(map, key, value);
}

static void put_text(json_t *map, const char *key, const char *text)
{
	if (text)
		put(map, key, xp_json_text(text));
}

static void put_host(json_t *map, const struct xp_store *store, const struct xp_event *event, const struct xp_site *site)
{
	bool function = event->type <= XP_EV_KERNEL_FUNCTION_EXIT;
	bool python = event->type == XP_EV_PYTHON_GC_START || event->type == XP_EV_PYTHON_GC_END;
	uint32_t ns_tid = 0, ns_pid = 0;
	const char *name = NULL;

	if (event->type == XP_EV_TRACEPOINT && site)
		put_text(map, "tracepoint_category", site->category);
	if (python && site)
		put_text(map, "usdt_provider", site->provider);
	if (function && (event->flags & XP_EVF_HAS_SP))
		put(map, "sp", xp_json_exact(event->host.sp));
	if (function && (event->flags & XP_EVF_GOROUTINE))
		put(map, "goroutine", xp_json_exact(event->host.key));
	if (event->flags & XP_EVF_COMPAT)
		put(map, "compat", json_true());
	if (!xp_store_thread_at(store, event->tid, &name, &ns_tid, &ns_pid))
		return;
	if (name[0])
		put_text(map, "thread_name", name);
	if (ns_pid)
		put(map, "ns_pid", json_integer(ns_pid));
	if (ns_tid)
		put(map, "ns_tid", json_integer(ns_tid));
}

static void put_graph(json_t *map, const struct xp_event *event, const struct xp_event_detail *detail)
{
	bool node = event->flags & XP_EVF_GRAPH_NODE;

	if (!node && !event->gpu.graph)
		return;
	put(map, "graph_id", json_integer(event->gpu.graph));
	if (node)
		put(map, "graph_node_id", xp_json_exact(detail->gpu.node));
	if (event->flags & XP_EVF_GRAPH_PREDATES)
		put(map, "graph_predates_attach", json_true());
	put(map, "launch_link", json_string(event->flags & XP_EVF_LAUNCH_UNKNOWN ? "unknown" : "known"));
}

static void put_cuda(json_t *map, const struct xp_store *store, const struct xp_event *event, const struct xp_event_detail *detail)
{
	bool api = event->type == XP_EV_CUDA_API_ENTRY || event->type == XP_EV_CUDA_API_EXIT;

	if (!detail)
		return;
	if (api) {
		put_text(map, "cuda_api_name", xp_store_text(store, detail->gpu.name));
		if ((detail->gpu.have & XP_GPU_DOMAIN) && detail->gpu.callback_domain < XP_API_DOMAIN_COUNT)
			put_text(map, "cuda_api_domain", xp_api_domain_names[detail->gpu.callback_domain]);
		put_text(map, "cuda_api_symbol", xp_store_text(store, detail->gpu.symbol));
		return;
	}
	put_text(map, "kernel_function", xp_store_text(store, detail->gpu.function));
	if (detail->gpu.name && !detail->gpu.name_complete)
		put(map, "name_complete", json_false());
	if (detail->gpu.have & XP_GPU_MEMORY) {
		put_text(map, "src_memory", xp_memory_kind_names[detail->gpu.src_memory]);
		put_text(map, "dst_memory", xp_memory_kind_names[detail->gpu.dst_memory]);
	}
	if (detail->gpu.have & XP_GPU_MEMSET_VALUE)
		put(map, "memset_value", json_integer(detail->gpu.memset_value));
	put_graph(map, event, detail);
}

json_t *xp_event_attributes(const struct xp_store *store, const struct xp_event *event, const struct xp_event_detail *detail,
			    const struct xp_site *site)
{
	enum xp_event_group group = xp_event_group_of(event->type);

	json_t *map = json_object();
	if (group == XP_GROUP_NVTX)
		put_text(map, "nvtx_domain", detail ? xp_store_text(store, detail->nvtx.domain) : NULL);
	else if (group == XP_GROUP_HOST)
		put_host(map, store, event, site);
	else
		put_cuda(map, store, event, detail);
	if (!json_object_size(map)) {
		json_decref(map);
		return NULL;
	}
	return map;
}

static bool get_u64(const json_t *map, const char *key, uint64_t max, uint64_t *ret_value)
{
	uint64_t value;

	if (!xp_json_get_u64(json_object_get(map, key), &value) || value > max)
		return false;
	*ret_value = value;
	return true;
}

static const char *get_text(const json_t *map, const char *key)
{
	const json_t *value = json_object_get(map, key);

	return value && xp_json_is_text(value) ? json_string_value(value) : NULL;
}

static void read_host(const json_t *map, struct xp_store *store, struct xp_event *event)
{
	uint64_t ns_tid = 0, ns_pid = 0;
	uint32_t known_tid, known_pid;
	const char *name = get_text(map, "thread_name"), *known;
	bool function = event->type <= XP_EV_KERNEL_FUNCTION_EXIT;

	if (function && get_u64(map, "sp", UINT64_MAX, &event->host.sp))
		event->flags |= XP_EVF_HAS_SP;
	if (function && get_u64(map, "goroutine", UINT64_MAX, &event->host.key))
		event->flags |= XP_EVF_GOROUTINE;
	if (json_is_true(json_object_get(map, "compat")))
		event->flags |= XP_EVF_COMPAT;
	get_u64(map, "ns_tid", UINT32_MAX, &ns_tid);
	get_u64(map, "ns_pid", UINT32_MAX, &ns_pid);
	/* The first name of a thread stays: an event with another one keeps its own map (xp_event_from_doc). */
	if ((name || ns_tid || ns_pid) && !xp_store_thread_at(store, event->tid, &known, &known_tid, &known_pid))
		xp_store_thread(store, event->tid, name ? name : "", (uint32_t)ns_tid, (uint32_t)ns_pid);
}

static void read_api(const json_t *map, struct xp_store *store, struct xp_event *event, struct xp_event_detail *detail)
{
	const char *name = get_text(map, "cuda_api_name"), *symbol = get_text(map, "cuda_api_symbol");
	const char *domain = get_text(map, "cuda_api_domain");
	size_t len;

	if (symbol)
		detail->gpu.symbol = xp_store_intern(store, symbol, strlen(symbol));
	if (!name)
		name = symbol;
	if (name) {
		name = xp_api_fold(name, &len);
		detail->gpu.name = xp_store_intern(store, name, len);
		if (xp_api_launches_graph(name, len))
			event->flags |= XP_EVF_GRAPH_LAUNCH;
	}
	for (uint32_t i = XP_API_DRIVER; domain && !(detail->gpu.have & XP_GPU_DOMAIN) && i < XP_API_DOMAIN_COUNT; i++)
		if (!strcmp(domain, xp_api_domain_names[i]))
			detail->gpu.callback_domain = i;
}

static bool memory_kind(const json_t *map, const char *key, uint8_t *ret_kind)
{
	const char *text = get_text(map, key);

	for (uint8_t i = 0; text && i < XP_MEMORY_KIND_COUNT; i++) {
		if (!strcmp(text, xp_memory_kind_names[i])) {
			*ret_kind = i;
			return true;
		}
	}
	return false;
}

static void read_activity(const json_t *map, struct xp_store *store, struct xp_event *event, struct xp_event_detail *detail)
{
	const char *function = get_text(map, "kernel_function"), *link = get_text(map, "launch_link");
	uint64_t value;

	if (function)
		detail->gpu.function = xp_store_intern(store, function, strlen(function));
	detail->gpu.name_complete = !json_is_false(json_object_get(map, "name_complete"));
	bool source = memory_kind(map, "src_memory", &detail->gpu.src_memory);
	if (memory_kind(map, "dst_memory", &detail->gpu.dst_memory) && source)
		detail->gpu.have |= XP_GPU_MEMORY;
	if (get_u64(map, "memset_value", UINT32_MAX, &value)) {
		detail->gpu.memset_value = (uint32_t)value;
		detail->gpu.have |= XP_GPU_MEMSET_VALUE;
	}
	if (get_u64(map, "graph_id", UINT32_MAX, &value))
		event->gpu.graph = (uint32_t)value;
	if (get_u64(map, "graph_node_id", UINT64_MAX, &detail->gpu.node))
		event->flags |= XP_EVF_GRAPH_NODE;
	if (json_is_true(json_object_get(map, "graph_predates_attach")))
		event->flags |= XP_EVF_GRAPH_PREDATES;
	if (link && !strcmp(link, "unknown"))
		event->flags |= XP_EVF_LAUNCH_UNKNOWN;
}

void xp_event_read_attributes(const json_t *attributes, struct xp_store *store, struct xp_event *event, struct xp_event_detail *detail)
{
	enum xp_event_group group = xp_event_group_of(event->type);

	if (group == XP_GROUP_HOST)
		read_host(attributes, store, event);
	else if (group == XP_GROUP_CUDA && (event->type == XP_EV_CUDA_API_ENTRY || event->type == XP_EV_CUDA_API_EXIT))
		read_api(attributes, store, event, detail);
	else if (group == XP_GROUP_CUDA)
		read_activity(attributes, store, event, detail);
}
