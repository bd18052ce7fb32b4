/* SPDX-License-Identifier: Apache-2.0 */
/* ResolvedProbe of contract 10.4.1. In: a resolved endpoint and the target's identity. Out: the document's value. No state. */
#include "family/resolved_doc.h"

#include <string.h>

struct mapping_doc {
	uint64_t start_address, end_address, file_offset;
};

static const struct xp_field mapping_fields[] = {
	XP_FIELD(mapping_doc, start_address, U64, "first address of the mapping in the target"),
	XP_FIELD(mapping_doc, end_address, U64, "address behind its last byte"),
	XP_FIELD(mapping_doc, file_offset, U64, "file offset of start_address"),
};

static const struct xp_record mapping_record = {
	.name = "ProbeMapping",
	.doc = "the executable mapping that holds the probe",
	.fields = mapping_fields,
	.n_fields = XP_LEN(mapping_fields),
	.size = sizeof(struct mapping_doc),
};

struct xp_resolved_doc {
	struct xp_target_id target;
	const char *selector, *binary_path, *build_id;
	int object_kind, probe_kind;
	const char *symbol, *symbol_demangled;
	struct xp_opt_u64 symbol_virtual_address, symbol_size;
	uint64_t file_offset, runtime_address;
	struct mapping_doc mapping;
	const char *symbol_version;
	int return_method;
	uint64_t *probe_offsets;
	size_t n_probe_offsets;
	const char *device_inode;
};

static const struct xp_field fields[] = {
	XP_FIELD_CONST("schema_version", "2.0", "version of this record"),
	XP_FIELD_TRUE("ok", "always true"),
	XP_FIELD_OBJ(xp_resolved_doc, target, &xp_target_id_record, "process that was looked at"),
	XP_FIELD(xp_resolved_doc, selector, STR, "selector as given"),
	XP_FIELD(xp_resolved_doc, binary_path, STR, "file as the target maps it"),
	XP_FIELD(xp_resolved_doc, build_id, STR, "GNU build id, hexadecimal; null: the file has none", .flags = XP_NULLABLE),
	XP_FIELD_ENUM(xp_resolved_doc, object_kind, xp_object_kind_names, "kind of file"),
	XP_FIELD_ENUM(xp_resolved_doc, probe_kind, xp_probe_kind_names, "uprobe, or uretprobe for the kernel's return probe"),
	XP_FIELD(xp_resolved_doc, symbol, STR, "name in the symbol table; null: selected by offset in no symbol", .flags = XP_NULLABLE),
	XP_FIELD(xp_resolved_doc, symbol_demangled, STR, "signature; null: the name is not mangled", .flags = XP_NULLABLE),
	XP_FIELD(xp_resolved_doc, symbol_virtual_address, OPT_U64, "address of the function in the file's terms"),
	XP_FIELD(xp_resolved_doc, symbol_size, OPT_U64, "bytes of the function"),
	XP_FIELD(xp_resolved_doc, file_offset, U64, "file offset of the function, or the offset that was asked for"),
	XP_FIELD(xp_resolved_doc, runtime_address, U64, "the same place in the target's memory"),
	XP_FIELD_OBJ(xp_resolved_doc, mapping, &mapping_record, "executable mapping that holds it"),
	XP_FIELD(xp_resolved_doc, symbol_version, STR, "symbol version; null: none", .flags = XP_NULLABLE),
	XP_FIELD_ENUM(xp_resolved_doc, return_method, xp_return_method_names, "how returns are seen; null: not a return selector",
		      .flags = XP_NULLABLE),
	XP_FIELD_U64S(xp_resolved_doc, probe_offsets, "file offsets where the probes really sit"),
	XP_FIELD(xp_resolved_doc, device_inode, STR, "MAJ:MIN:INO of the mapped file"),
};

const struct xp_record xp_resolved_doc_record = {
	.name = "ResolvedProbe",
	.doc = "where a function selector leads in the target",
	.fields = fields,
	.n_fields = XP_LEN(fields),
	.size = sizeof(struct xp_resolved_doc),
};

/* Contract 1.1: names in default results. */
enum { NAME_BYTES = 256 };

static const char *cut(const char *text, size_t max, struct xp_arena *arena)
{
	return text && strlen(text) > max ? xp_utf8_cut(arena, text, max, NULL) : text;
}

const struct xp_resolved_doc *xp_resolved_doc_cut(const struct xp_resolved_doc *doc, size_t max, struct xp_arena *arena)
{
	struct xp_resolved_doc *copy = xp_arena_new_of(arena, struct xp_resolved_doc);

	*copy = *doc;
	copy->selector = cut(doc->selector, max, arena);
	return copy;
}

const struct xp_resolved_doc *xp_resolved_doc_make(const struct xp_endpoint *endpoint, const struct xp_target_id *target,
						   struct xp_arena *arena)
{
	struct xp_resolved_doc *doc = xp_arena_new_of(arena, struct xp_resolved_doc);
	const struct xp_resolved *from = endpoint->resolved;

	*doc = (struct xp_resolved_doc){
		.target = *target,
		.selector = endpoint->selector,
		.binary_path = from->binary_path,
		.build_id = from->build_id,
		.object_kind = from->object_kind,
		.probe_kind = from->n_sites && from->sites[0].uretprobe ? XP_PROBE_URETPROBE : XP_PROBE_UPROBE,
		.symbol = cut(from->symbol, NAME_BYTES, arena),
		.symbol_demangled = cut(from->symbol_demangled, NAME_BYTES, arena),
		.symbol_virtual_address = from->symbol_virtual_address,
		.symbol_size = from->symbol_size,
		.file_offset = from->file_offset,
		.runtime_address = from->runtime_address,
		.mapping = { .start_address = from->mapping.start, .end_address = from->mapping.end, .file_offset = from->mapping.offset },
		.symbol_version = from->symbol_version,
		.return_method = from->return_method,
		.probe_offsets = xp_arena_array(arena, uint64_t, from->n_sites + 1),
		.n_probe_offsets = from->n_sites,
		.device_inode = xp_arena_fmt(arena, "%u:%u:%lu", from->mapping.dev_major, from->mapping.dev_minor,
					     (unsigned long)from->mapping.inode),
	};
	for (size_t i = 0; i < from->n_sites; i++)
		doc->probe_offsets[i] = from->sites[i].offset;
	return doc;
}
