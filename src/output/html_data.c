/* SPDX-License-Identifier: Apache-2.0 */
/* What the page shows, as JSON: the document itself, commands to paste, and bounded lists of what the sources saw. No state. */
#include <string.h>

#include "inventory/gpu_activity.h"
#include "output/command_line.h"
#include "output/flame.h"
#include "output/html.h"
#include "result/graph.h"
#include "result/triage.h"

enum { NAME_BYTES = 512 };

static void put_text(struct xp_json *json, const char *key, const char *text)
{
	xp_json_key(json, key);
	xp_json_str(json, text);
}

static void put_number(struct xp_json *json, const char *key, uint64_t value)
{
	xp_json_key(json, key);
	xp_json_u64(json, value);
}

/* A name is [text, kind, file]; nodes are name, depth and value in a row. */
static void put_flame(struct xp_json *json, const char *key, const struct xp_flame *flame)
{
	xp_json_key(json, key);
	xp_json_begin(json, '{');
	put_number(json, "total", flame->total);
	put_number(json, "left_out", flame->left_out);
	xp_json_key(json, "names");
	xp_json_begin(json, '[');
	for (size_t i = 0; i < flame->n_names; i++) {
		xp_json_begin(json, '[');
		xp_json_str(json, flame->names[i].text);
		xp_json_str(json, xp_flame_kind_names[flame->names[i].kind]);
		if (flame->names[i].file)
			xp_json_str(json, flame->names[i].file);
		xp_json_end(json, ']');
	}
	xp_json_end(json, ']');
	xp_json_key(json, "nodes");
	xp_json_begin(json, '[');
	for (size_t i = 0; i < flame->n_nodes; i++) {
		xp_json_u64(json, flame->nodes[i].name);
		xp_json_u64(json, flame->nodes[i].depth);
		xp_json_u64(json, flame->nodes[i].value);
	}
	xp_json_end(json, ']');
	xp_json_end(json, '}');
}

static void put_threads(struct xp_json *json, const struct xp_thread_time *threads)
{
	put_number(json, "threads_total", threads->n_threads);
	xp_json_key(json, "threads");
	xp_json_begin(json, '[');
	for (size_t i = 0; i < threads->n_threads && i < XP_HTML_THREADS; i++) {
		const struct xp_thread_row *row = &threads->threads[i];

		xp_json_begin(json, '{');
		put_number(json, "tid", row->tid);
		put_text(json, "name", row->name);
		put_number(json, "on_cpu_ns", row->on_cpu_ns);
		put_number(json, "runqueue_ns", row->runqueue_ns);
		put_number(json, "blocked_ns", row->blocked_ns);
		xp_json_end(json, '}');
	}
	xp_json_end(json, ']');
}

static void put_syscalls(struct xp_json *json, const struct xp_syscall_view *view)
{
	put_number(json, "syscalls_total", view->n_sums);
	xp_json_key(json, "syscalls");
	xp_json_begin(json, '[');
	for (size_t i = 0; i < view->n_sums && i < XP_HTML_SYSCALLS; i++) {
		const struct xp_call_sum *sum = &view->sums[i];

		xp_json_begin(json, '{');
		put_text(json, "syscall_name", sum->name);
		put_number(json, "number", sum->number);
		put_number(json, "count", sum->calls);
		put_number(json, "errors", sum->errors);
		put_text(json, "errno", sum->top_errno);
		put_number(json, "total_ns", sum->total_ns);
		put_number(json, "max_ns", sum->max_ns);
		xp_json_end(json, '}');
	}
	xp_json_end(json, ']');
}

static void put_kernels(struct xp_json *json, const struct xp_gpu_activity *activity, struct xp_arena *work)
{
	const struct xp_gpu_inventory *inventory = &activity->inventory;

	xp_json_key(json, "kernels");
	xp_json_begin(json, '[');
	for (size_t i = 0; i < inventory->n_groups && i < XP_HTML_KERNELS; i++) {
		const struct xp_gpu_group *group = &inventory->groups[i];

		xp_json_begin(json, '{');
		put_text(json, "name", group->name ? xp_utf8_cut(work, group->name, NAME_BYTES, NULL) : NULL);
		put_text(json, "function",
			 group->function && *group->function ? xp_utf8_cut(work, group->function, NAME_BYTES, NULL) : NULL);
		put_number(json, "count", group->count);
		put_number(json, "total_ns", group->duration_ns.total);
		xp_json_key(json, "mean_ns");
		xp_json_f64(json, group->duration_ns.mean);
		xp_json_key(json, "device_id");
		if (group->device_id.set)
			xp_json_u64(json, group->device_id.v);
		else
			xp_json_null(json);
		xp_json_end(json, '}');
	}
	xp_json_end(json, ']');
}

static void put_process(struct xp_json *json, const struct xp_triage_input *input, size_t max_nodes)
{
	xp_auto(xp_arena_free) struct xp_arena *work = xp_arena_new();

	xp_json_begin(json, '{');
	put_number(json, "pid", input->target.pid);
	if (input->threads && xp_input_has(input, XP_SOURCE_THREADS))
		put_threads(json, input->threads);
	if (input->syscalls && xp_input_has(input, XP_SOURCE_SYSCALLS))
		put_syscalls(json, input->syscalls);
	if (input->cpu && xp_input_has(input, XP_SOURCE_CPU_SAMPLES))
		put_flame(json, "cpu", xp_flame_of_samples(input->cpu, max_nodes, work));
	if (input->off_cpu && xp_input_has(input, XP_SOURCE_OFF_CPU))
		put_flame(json, "blocked", xp_flame_of_waits(input->off_cpu, max_nodes, work));
	if (input->cuda_kernels && xp_input_has(input, XP_SOURCE_CUDA_KERNELS))
		put_kernels(json, input->cuda_kernels, work);
	xp_json_end(json, '}');
}

/* In the order of the findings; null where a step has no command. */
static void put_commands(struct xp_json *json, const struct xp_triage *triage)
{
	xp_json_key(json, "commands");
	xp_json_begin(json, '[');
	for (size_t i = 0; i < triage->n_findings; i++) {
		xp_auto_builder line = { 0 };

		xp_json_str(json, xp_next_command(triage->findings[i], triage->invocation, &line) ? line.data : NULL);
	}
	xp_json_end(json, ']');
}

/* "<" stands only inside of strings, where its escape means the same. */
static void move_safely(struct xp_text *out, const struct xp_text *json)
{
	for (size_t i = 0; i < json->len; i++) {
		size_t n = strcspn(json->data + i, "<");

		xp_text_add(out, json->data + i, n);
		i += n;
		if (i < json->len)
			xp_text_str(out, "\\u003c");
	}
}

static void begin(struct xp_json *json, const char *kind, const struct xp_record *record, const void *value)
{
	xp_json_begin(json, '{');
	put_text(json, "xprobe", XPROBE_VERSION);
	put_text(json, "kind", kind);
	xp_json_key(json, "document");
	xp_record_write(json, record, value, false);
}

void xp_html_triage_data(const struct xp_html_triage *page, struct xp_text *out)
{
	xp_auto_builder text = { 0 };
	struct xp_json json = { .out = &text };

	begin(&json, "triage", &xp_triage_record, page->triage);
	put_text(&json, "invocation", page->triage->invocation ? page->triage->invocation : "xprobe");
	put_commands(&json, page->triage);
	xp_json_key(&json, "processes");
	xp_json_begin(&json, '[');
	for (size_t i = 0; i < page->n_inputs; i++)
		put_process(&json, page->inputs[i], page->n_inputs > 1 ? XP_HTML_NODES_OF_SEVERAL : XP_HTML_NODES);
	xp_json_end(&json, ']');
	xp_json_end(&json, '}');
	move_safely(out, &text);
}

void xp_html_graph_data(const void *graph, struct xp_text *out)
{
	xp_auto_builder text = { 0 };
	struct xp_json json = { .out = &text };
	const struct xp_graph_result *value = graph;

	begin(&json, "graph", &xp_graph_result_record, value);
	xp_json_key(&json, "selectors");
	xp_json_begin(&json, '[');
	for (size_t i = 0; i < value->n_edges; i++) {
		xp_json_begin(&json, '[');
		xp_json_str(&json, value->edges[i].start_selector);
		xp_json_str(&json, value->edges[i].end_selector);
		xp_json_end(&json, ']');
	}
	xp_json_end(&json, ']');
	xp_json_end(&json, '}');
	move_safely(out, &text);
}
