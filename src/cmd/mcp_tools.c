/* SPDX-License-Identifier: Apache-2.0 */
/* The tools: their names, and their input schemas and command lines by the flag tables of the commands they stand for. No state. */
#include <string.h>

#include "cmd/flags.h"
#include "cmd/mcp.h"
#include "cmd/measure.h"
#include "inventory/cpu_samples_spec.h"
#include "inventory/syscalls_spec.h"

/* The kernel takes 128 KiB a word. */
enum { MAX_WORDS = 256, MAX_BYTES = 65536 };

static const struct xp_mcp_tool tools[] = {
	{ .name = "doctor",
	  .title = "What works on this machine",
	  .command = "doctor",
	  .description = "Which measurements this machine and user allow, each tried, with the least change for what is refused. Touches "
			 "nothing." },
	{ .name = "discover",
	  .title = "Processes on GPUs",
	  .command = "discover",
	  .description = "The processes below a root pid that hold a CUDA context. Touches nothing." },
	{ .name = "validate",
	  .title = "Check a measurement",
	  .command = "validate",
	  .spec = true,
	  .description = "What a measurement, inventory or triage needs, whether it can run now, and whether it would modify the target "
			 "(requirements.target_mutation). Touches nothing." },
	{ .name = "triage",
	  .title = "Where the time of a process goes",
	  .command = "measure",
	  .fixed = "--triage",
	  .modes = XP_M_TRIAGE,
	  .captures = true,
	  .may_mutate = true,
	  .description =
		  "One window of a running process from every side at once: threads, CPU limits, CPU stacks down to the Python line, "
		  "blocked stacks, system calls, GPU. Findings are ranked by share of the window, each with a next step. Start here." },
	{ .name = "measure",
	  .title = "Exact latency",
	  .command = "measure",
	  .spec = true,
	  .modes = XP_M_EXACT | XP_M_INPUT | XP_M_SPEC,
	  .captures = true,
	  .may_mutate = true,
	  .description =
		  "Exact latencies between two events, every occurrence timed: pass findings[i].next.spec of a triage as `spec`, a graph "
		  "spec of up to eight edges, or pid, from, to and match. With `input` it reads a kept capture and needs no process." },
	{ .name = "inventory",
	  .title = "CPU stacks, system calls, GPU activity",
	  .command = "measure",
	  .modes = XP_M_CPU | XP_M_SYSCALLS | XP_M_AGGREGATE,
	  .captures = true,
	  .may_mutate = true,
	  .description = "One summary of a window: cpu_sample (with off_cpu for blocked stacks), syscall_aggregate, or aggregate (kernels, "
			 "copies or sets by name; from and to select them). Set exactly one of these three." },
};

const struct xp_mcp_tool *xp_mcp_tool_find(const char *name)
{
	for (size_t i = 0; i < XP_LEN(tools); i++)
		if (name && !strcmp(tools[i].name, name))
			return &tools[i];
	return NULL;
}

/* The flags of a tool: those of its modes, without what says where the command's own switches go. */
static bool has_flag(const struct xp_mcp_tool *tool, const struct xp_flag *flag)
{
	if (tool->fixed && !strcmp(flag->name, tool->fixed))
		return false;
	if (!strcmp(flag->name, "--spec"))
		return false; /* an object takes its place */
	if (!strcmp(flag->name, "--input") && tool->modes && !(tool->modes & XP_M_INPUT))
		return false;
	return !flag->modes || !tool->modes || (flag->modes & tool->modes);
}

/* "--duration-ms" is the property duration_ms. */
static void property_name(const struct xp_flag *flag, char *ret_name, size_t size)
{
	size_t n = 0;

	for (const char *c = flag->name + 2; *c && n + 1 < size; c++)
		ret_name[n++] = *c == '-' ? '_' : *c;
	ret_name[n] = '\0';
}

static json_t *value_schema(const struct xp_flag *flag)
{
	switch (flag->kind) {
	case XP_FLAG_SWITCH:
		return json_pack("{s:s}", "type", "boolean");
	case XP_FLAG_U64:
		return json_pack("{s:s, s:o, s:o}", "type", "integer", "minimum", xp_json_count(flag->min), "maximum",
				 xp_json_count(flag->max));
	case XP_FLAG_SHARE:
		return json_pack("{s:s, s:i, s:f}", "type", "number", "minimum", 0, "maximum", flag->max_share);
	case XP_FLAG_TEXT:
		break;
	}
	return json_pack("{s:s}", "type", "string");
}

static json_t *property(const struct xp_flag *flag)
{
	json_t *value = value_schema(flag);
	json_t *whole = flag->repeatable ? json_pack("{s:[O, {s:s, s:o}]}", "anyOf", value, "type", "array", "items", value) : value;

	json_object_set_new(whole, "description", json_string(flag->doc));
	return whole;
}

/* `spec`: any of the spec records. Their definitions move to the root of the schema, where their references look for them. */
static json_t *spec_property(const struct xp_mcp_tool *tool, json_t *definitions)
{
	static const struct xp_record *const records[] = { &xp_measurement_spec_record, &xp_graph_spec_record, &xp_cpu_spec_record,
							   &xp_syscalls_spec_record };

	/* Once is enough for the reader of a list. */
	if (!tool->captures)
		return json_pack("{s:s, s:s}", "type", "object", "description", "a spec, as `measure` takes it");
	json_t *any = json_array();
	for (size_t i = 0; i < XP_LEN(records); i++) {
		xp_auto_builder text = { 0 };
		struct xp_json json = { .out = &text };
		char why[128];

		xp_record_schema(&json, records[i]);
		json_t *schema = xp_json_parse(text.data, text.len, why, sizeof(why));
		json_object_update(definitions, json_object_get(schema, "$defs"));
		json_object_del(schema, "$defs");
		json_object_del(schema, "$schema");
		json_array_append_new(any, schema);
	}
	return json_pack("{s:s, s:o}", "description", "a spec as it stands, in place of pid, from, to and match", "anyOf", any);
}

static json_t *input_schema(const struct xp_mcp_tool *tool)
{
	const struct xp_command *command = xp_command_find(tool->command);
	json_t *properties = json_object(), *definitions = json_object();

	for (size_t i = 0; command && i < command->n_flags; i++) {
		char name[64];

		if (!has_flag(tool, &command->flags[i]))
			continue;
		property_name(&command->flags[i], name, sizeof(name));
		json_object_set_new(properties, name, property(&command->flags[i]));
	}
	if (tool->spec)
		json_object_set_new(properties, "spec", spec_property(tool, definitions));
	if (tool->may_mutate)
		json_object_set_new(
			properties, "allow_target_mutation",
			json_pack("{s:s, s:s}", "type", "boolean", "description",
				  "the user agreed that the agent is brought into the target; without it, a call that would do so "
				  "answers with its validation and runs nothing"));
	json_t *schema = json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties, "additionalProperties", 0);
	if (json_object_size(definitions))
		json_object_set(schema, "$defs", definitions);
	json_decref(definitions);
	return schema;
}

json_t *xp_mcp_tool_list(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < XP_LEN(tools); i++) {
		if (!xp_command_find(tools[i].command))
			continue;
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:s, s:o, s:{s:b, s:b, s:b}}", "name", tools[i].name, "title", tools[i].title,
						"description", tools[i].description, "inputSchema", input_schema(&tools[i]), "annotations",
						"readOnlyHint", !tools[i].may_mutate, "destructiveHint", 0, "openWorldHint", 0));
	}
	return json_pack("{s:o}", "tools", list);
}

static const char *word_of(const json_t *value, struct xp_arena *arena)
{
	xp_auto_builder text = { 0 };
	struct xp_json json = { .out = &text };

	if (xp_json_is_text(value))
		return xp_arena_str(arena, json_string_value(value));
	xp_json_value(&json, value);
	return xp_arena_str(arena, text.data);
}

struct words {
	const char **at;
	size_t n, bytes;
	bool full;
	const char *cut; /* a flag whose value has a NUL, behind which no command would see it */
};

static void add(struct words *words, const char *word)
{
	size_t bytes = words->bytes + strlen(word) + 1;

	if (words->n + 1 == MAX_WORDS || bytes > MAX_BYTES) {
		words->full = true;
		return;
	}
	words->at[words->n++] = word;
	words->bytes = bytes;
}

/* One word a value, so that no value can be read as a flag. */
static void add_value(struct words *words, const struct xp_flag *flag, const json_t *value, struct xp_arena *arena)
{
	if (json_is_string(value) && strlen(json_string_value(value)) != json_string_length(value))
		words->cut = flag->name;
	add(words, xp_arena_fmt(arena, "%s=%s", flag->name, word_of(value, arena)));
}

static void add_flag(struct words *words, const struct xp_flag *flag, const json_t *value, struct xp_arena *arena)
{
	size_t i;
	const json_t *one;

	if (json_is_array(value)) {
		json_array_foreach(value, i, one)
		{
			add_value(words, flag, one, arena);
		}
	} else if (flag->kind == XP_FLAG_SWITCH && json_is_boolean(value)) {
		if (json_is_true(value))
			add(words, flag->name);
	} else if (!json_is_null(value)) {
		add_value(words, flag, value, arena);
	}
}

static const struct xp_flag *flag_of(const struct xp_mcp_tool *tool, const struct xp_command *command, const char *property)
{
	for (size_t i = 0; i < command->n_flags; i++) {
		char name[64];

		property_name(&command->flags[i], name, sizeof(name));
		if (!strcmp(name, property) && has_flag(tool, &command->flags[i]))
			return &command->flags[i];
	}
	return NULL;
}

static bool own_property(const struct xp_mcp_tool *tool, const char *key)
{
	return (tool->spec && !strcmp(key, "spec")) || (tool->may_mutate && !strcmp(key, "allow_target_mutation"));
}

static int unknown(const struct xp_mcp_tool *tool, const char *key, struct xp_err *reterr)
{
	int rc = xp_fail(reterr, XP_E_INVALID_ARGUMENT, "the tool %s has no argument \"%.100s\"", tool->name, key);

	xp_err_object(reterr, "%.100s", key);
	xp_err_hint(reterr, "tools/list names the arguments of %s", tool->name);
	return rc;
}

const json_t *xp_mcp_argument(const json_t *arguments, const char *key)
{
	const json_t *value = json_object_get(arguments, key);

	return json_is_null(value) || (json_is_array(value) && !json_array_size(value)) ? NULL : value;
}

int xp_mcp_command_line(const struct xp_mcp_tool *tool, const char *command, const json_t *arguments, struct xp_arena *arena,
			const char *const **ret_argv, struct xp_err *reterr)
{
	const struct xp_command *own = xp_command_find(tool->command), *table = xp_command_find(command);
	struct words words = { .at = xp_arena_array(arena, const char *, MAX_WORDS) };
	const char *key;
	json_t *value;

	add(&words, "xprobe");
	add(&words, command);
	add(&words, "--json");
	if (tool->fixed)
		add(&words, tool->fixed);
	json_object_foreach((json_t *)arguments, key, value)
	{
		const struct xp_flag *flag = flag_of(tool, own, key);

		if (!flag && !own_property(tool, key))
			return unknown(tool, key, reterr);
		for (size_t i = 0; flag && table != own && i < table->n_flags; i++)
			if (!strcmp(table->flags[i].name, flag->name)) {
				add_flag(&words, flag, value, arena);
				break;
			}
		if (flag && table == own)
			add_flag(&words, flag, value, arena);
	}
	if (tool->spec && xp_mcp_argument(arguments, "spec")) {
		add(&words, "--spec");
		add(&words, "/proc/self/fd/3");
	}
	if (words.full)
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "more than %d values or %d bytes of arguments", MAX_WORDS, MAX_BYTES);
	if (words.cut)
		return xp_fail(reterr, XP_E_INVALID_ARGUMENT, "the value of %s contains a NUL", words.cut);
	words.at[words.n] = NULL;
	*ret_argv = words.at;
	return 0;
}
