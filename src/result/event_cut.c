/* SPDX-License-Identifier: Apache-2.0 */
/* Shorter names for Events inside results, contract 1.1 "text bounds". In: a document. Out: the same with cut names. No state. */
#include <string.h>

#include "result/event_record.h"

/* Names whose record marks a cut with name_complete carry no ellipsis. */
static const char *cut_bare(const char *text, size_t max, struct xp_arena *arena, bool *cut)
{
	size_t keep = 0;

	if (!text || strlen(text) <= max)
		return text;
	const char *clean = xp_utf8_clean(arena, text, strlen(text)), *end = clean + strlen(clean);
	for (size_t n; clean + keep < end && (n = xp_utf8_len(clean + keep, end)) && keep + n <= max;)
		keep += n;
	*cut = true;
	return xp_arena_dup(arena, clean, keep);
}

static const char *cut_marked(const char *text, size_t max, struct xp_arena *arena)
{
	return text && strlen(text) > max ? xp_utf8_cut(arena, text, max, NULL) : text;
}

static void cut_host(struct xp_event_doc *doc, size_t max, struct xp_arena *arena)
{
	struct xp_event_host_doc *host = xp_arena_new_of(arena, struct xp_event_host_doc);

	*host = *doc->host;
	host->symbol = cut_marked(host->symbol, max, arena);
	host->symbol_demangled = cut_marked(host->symbol_demangled, max, arena);
	doc->host = host;
}

/* Returns true when the kernel's name lost its end. */
static bool cut_cuda(struct xp_event_doc *doc, size_t max, struct xp_arena *arena)
{
	struct xp_event_cuda_doc *cuda = xp_arena_new_of(arena, struct xp_event_cuda_doc);
	bool cut = false;

	*cuda = *doc->cuda;
	cuda->kernel_name = cut_bare(cuda->kernel_name, max, arena, &cut);
	cuda->kernel_name_mangled = cut_bare(cuda->kernel_name_mangled, max, arena, &cut);
	doc->cuda = cuda;
	return cut;
}

static void cut_nvtx(struct xp_event_doc *doc, size_t max, struct xp_arena *arena)
{
	struct xp_event_nvtx_doc *nvtx = xp_arena_new_of(arena, struct xp_event_nvtx_doc);
	bool cut = false;

	*nvtx = *doc->nvtx;
	nvtx->name = cut_bare(nvtx->name, max, arena, &cut);
	nvtx->name_complete = nvtx->name_complete && !cut;
	doc->nvtx = nvtx;
}

/* Text values of the open map that are names; in a copy, since the map may belong to the store. */
static void cut_attributes(struct xp_event_doc *doc, size_t max, bool kernel_cut, struct xp_arena *arena)
{
	json_t *map = json_copy(doc->attributes);
	const char *key;
	json_t *value;

	if (!map)
		map = json_object();
	xp_arena_defer(arena, (void (*)(void *))json_decref, map);
	json_object_foreach(doc->attributes, key, value)
	{
		if (xp_json_is_text(value) && json_string_length(value) > max)
			json_object_set_new(map, key, xp_json_text(xp_utf8_cut(arena, json_string_value(value), max, NULL)));
	}
	if (kernel_cut)
		json_object_set_new(map, "name_complete", json_false());
	doc->attributes = map;
}

void xp_event_doc_cut(struct xp_event_doc *doc, size_t max, struct xp_arena *arena)
{
	bool kernel_cut = false;

	if (doc->host)
		cut_host(doc, max, arena);
	if (doc->cuda)
		kernel_cut = cut_cuda(doc, max, arena);
	if (doc->nvtx)
		cut_nvtx(doc, max, arena);
	if (doc->attributes || kernel_cut)
		cut_attributes(doc, max, kernel_cut, arena);
}
