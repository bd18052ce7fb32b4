/* SPDX-License-Identifier: Apache-2.0 */
/* Tables to schemas and reference pages. In: the descriptors that the build knows. Out: JSON documents. No state. */
#include "cmd/reference.h"

#include "base/field.h"
#include "cmd/errors.h"
#include "cmd/shell.h"
#include "engine/engine.h"
#include "family/family.h"
#include "inventory/inventory.h"
#include "output/output.h"
#include "plan/plan.h"
#include "triage/rule.h"

enum { MAX_RECORDS = 256 };

#define XP_SCHEMA(name, record) extern const struct xp_record record;
#include "cmd/schema_list.def"
#undef XP_SCHEMA

static const struct {
	const char *name;
	const struct xp_record *record;
} schemas[] = {
#define XP_SCHEMA(name, record) { name, &record },
#include "cmd/schema_list.def"
#undef XP_SCHEMA
};

void xp_reference_schemas(struct xp_json *json)
{
	xp_json_begin(json, '{');
	for (size_t i = 0; i < XP_LEN(schemas); i++) {
		xp_json_key(json, schemas[i].name);
		xp_record_schema(json, schemas[i].record);
	}
	xp_json_end(json, '}');
}

/* Records already described on a page; each is written once, its sub-records behind it. */
struct page {
	struct xp_text *out;
	const struct xp_record *done[MAX_RECORDS];
	size_t n;
};

static void describe(struct page *page, const struct xp_record *record)
{
	for (size_t i = 0; i < page->n; i++)
		if (page->done[i] == record)
			return;
	if (page->n == MAX_RECORDS)
		return;
	page->done[page->n++] = record;
	xp_record_doc(page->out, record);
	for (size_t i = 0; i < record->n_fields; i++) {
		const struct xp_field *field = &record->fields[i];

		if (field->sub)
			describe(page, field->sub);
		for (size_t v = 0; v < field->n_variants; v++)
			describe(page, field->variants[v]);
	}
}

static void records_page(struct xp_text *out)
{
	struct page page = { .out = out };

	xp_text_str(out,
		    "# Records\n\nEvery document that xprobe writes or reads, made from the field tables of the tool; the JSON Schemas in "
		    "`schemas/` come from the same tables. Rules that no table can hold are in `contract.md`.\n\n"
		    "| Schema | Record |\n|---|---|\n");
	for (size_t i = 0; i < XP_LEN(schemas); i++)
		xp_text_fmt(out, "| `%s.schema.json` | %s |\n", schemas[i].name, schemas[i].record->name);
	xp_text_char(out, '\n');
	for (size_t i = 0; i < XP_LEN(schemas); i++)
		describe(&page, schemas[i].record);
}

static void selectors_page(struct xp_text *out)
{
	size_t n;
	const struct xp_family *const *families = xp_families(&n);

	xp_text_str(out, "# Selectors\n\nA selector names one kind of event. Every family that this build knows:\n\n");
	for (size_t i = 0; i < n; i++) {
		const struct xp_family *family = families[i];

		xp_text_fmt(out, "## %s\n\n%s\n\n```ebnf\n%s\n```\n\nExample: `%s`. Event types: %s.\n\n", family->name, family->summary,
			    family->grammar, family->example, family->event_types);
	}
}

static void errors_page(struct xp_text *out)
{
	xp_text_str(out, "# Error codes\n\n`error.code` of the record that a failed command prints, and the exit status of the command.\n\n"
			 "| Code | Exit | Recoverable | When | First advice |\n|---|---|---|---|---|\n");
	for (int code = XP_E_NONE + 1; code < XP_E_COUNT; code++) {
		const struct xp_error_row *row = xp_error_row((enum xp_err_code)code);

		xp_text_fmt(out, "| `%s` | %d | %s | %s | %s |\n", xp_err_name((enum xp_err_code)code), row->exit_status,
			    row->recoverable ? "yes" : "no", row->when, row->advice ? row->advice : "");
	}
}

void xp_reference_files(struct xp_json *json)
{
	static const struct {
		const char *path;
		void (*write)(struct xp_text *out);
	} files[] = {
		{ "docs/errors.md", errors_page },
		{ "docs/records.md", records_page },
		{ "docs/selectors.md", selectors_page },
		{ "packaging/completions/xprobe.bash", xp_shell_bash },
		{ "packaging/completions/_xprobe", xp_shell_zsh },
		{ "packaging/completions/xprobe.fish", xp_shell_fish },
		{ "packaging/xprobe.1", xp_shell_man },
	};

	xp_json_begin(json, '{');
	for (size_t i = 0; i < XP_LEN(files); i++) {
		xp_auto_builder text = { 0 };

		files[i].write(&text);
		xp_json_key(json, files[i].path);
		xp_json_str(json, text.data);
	}
	xp_json_end(json, '}');
}

static void begin_list(struct xp_json *json, const char *name)
{
	xp_json_key(json, name);
	xp_json_begin(json, '[');
}

void xp_reference_lists(struct xp_json *json)
{
	size_t n;

	xp_json_begin(json, '{');
	begin_list(json, "engine");
	const struct xp_engine *const *engines = xp_engines(&n);
	for (size_t i = 0; i < n; i++)
		xp_json_str(json, engines[i]->name);
	xp_json_end(json, ']');
	begin_list(json, "family");
	const struct xp_family *const *families = xp_families(&n);
	for (size_t i = 0; i < n; i++)
		xp_json_str(json, families[i]->name);
	xp_json_end(json, ']');
	begin_list(json, "inventory");
	const struct xp_inventory_kind *const *inventories = xp_inventories(&n);
	for (size_t i = 0; i < n; i++)
		xp_json_str(json, inventories[i]->name);
	xp_json_end(json, ']');
	begin_list(json, "output");
	const struct xp_output *const *outputs = xp_outputs(&n);
	for (size_t i = 0; i < n; i++)
		xp_json_str(json, outputs[i]->name);
	xp_json_end(json, ']');
	begin_list(json, "policy");
	for (unsigned i = 0; i < XP_POLICY_COUNT; i++)
		xp_json_str(json, xp_policy_names[i]);
	xp_json_end(json, ']');
	begin_list(json, "rule");
	const struct xp_rule *const *rules = xp_rules(&n);
	for (size_t i = 0; i < n; i++)
		xp_json_str(json, rules[i]->code);
	xp_json_end(json, ']');
	xp_json_end(json, '}');
}
