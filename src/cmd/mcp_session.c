/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One session of the Model Context Protocol: JSON-RPC messages in, answers out. A tool call runs its command in a process of its own; one
 * that could modify the target is validated first. Owns the calls under way.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd/emit.h"
#include "cmd/errors.h"
#include "cmd/mcp.h"

enum { PARSE_ERROR = -32700, INVALID_REQUEST = -32600, UNKNOWN_METHOD = -32601, INVALID_PARAMS = -32602 };

/* Versions of the protocol whose messages are those written here; the newest first. */
static const char *const versions[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" };

static const char instructions[] =
	"xprobe measures running Linux processes. Call triage on a pid first; it ranks what held the process up. Then call measure with "
	"findings[0].next.spec as `spec` for exact latencies. When a result is a validation whose requirements.target_mutation is true, "
	"nothing "
	"was run: ask the user whether the agent may be brought into the process, then call again with allow_target_mutation: true. null "
	"means "
	"not measured, never zero. Repeat quality issues and what was not covered in your answer.";

/* A tools/call under way. */
struct call {
	struct call *next;
	const struct xp_mcp_tool *tool;
	json_t *id, *arguments;
	bool validating, cancelled;
};

struct xp_mcp {
	struct xp_calls *calls;
	struct call *first;
	bool deaf;   /* nobody takes our output any more, or a signal came while nobody did */
	bool ending; /* no command is started any more */
};

struct xp_mcp *xp_mcp_new(struct xp_calls *calls)
{
	struct xp_mcp *mcp = calloc(1, sizeof(*mcp));

	if (mcp)
		mcp->calls = calls;
	return mcp;
}

static void send_message(struct xp_mcp *mcp, json_t *message)
{
	xp_auto_builder text = { 0 };
	struct xp_json json = { .out = &text };

	xp_json_value(&json, message);
	xp_text_char(&text, '\n');
	json_decref(message);
	if (!mcp->deaf && !xp_calls_tell(STDOUT_FILENO, text.data, text.len))
		mcp->deaf = true;
}

/* Takes result. */
static void send_result(struct xp_mcp *mcp, json_t *id, json_t *result)
{
	send_message(mcp, json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result));
}

static void send_error(struct xp_mcp *mcp, json_t *id, int code, const char *message)
{
	send_message(mcp, json_pack("{s:s, s:o, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", id ? json_incref(id) : json_null(), "error", "code",
				    code, "message", message));
}

static struct call *call_of(struct xp_mcp *mcp, const json_t *id)
{
	for (struct call *call = mcp->first; call; call = call->next)
		if (json_equal(call->id, id))
			return call;
	return NULL;
}

static void drop(struct xp_mcp *mcp, struct call *call)
{
	for (struct call **at = &mcp->first; *at; at = &(*at)->next) {
		if (*at != call)
			continue;
		*at = call->next;
		break;
	}
	json_decref(call->id);
	json_decref(call->arguments);
	free(call);
}

/* document: a record of ours, taken; note: a sentence for the model, or NULL. Ends the call. */
static void answer(struct xp_mcp *mcp, struct call *call, json_t *document, const char *note)
{
	xp_auto_builder text = { 0 };
	struct xp_json json = { .out = &text };

	xp_json_value(&json, document);
	json_t *content = json_pack("[{s:s, s:s}]", "type", "text", "text", text.data);
	if (note)
		json_array_append_new(content, json_pack("{s:s, s:s}", "type", "text", "text", note));
	bool failed = json_is_false(json_object_get(document, "ok"));
	json_t *result = json_pack("{s:o, s:o, s:b}", "content", content, "structuredContent", document, "isError", failed);

	/* A client that cancelled takes no answer any more. */
	if (call->cancelled)
		json_decref(result);
	else
		send_result(mcp, call->id, result);
	drop(mcp, call);
}

static void answer_failed(struct xp_mcp *mcp, struct call *call, const struct xp_err *err)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_error_doc doc = xp_error_doc_make(err, arena);
	xp_auto_builder text = { 0 };
	char why[128];

	xp_render(&xp_error_record, &doc, false, 0, NULL, &text);
	answer(mcp, call, xp_json_parse(text.data, strlen(text.data), why, sizeof(why)), NULL);
}

/* The spec as a file without a name, -1 when there is none to pass. */
static int spec_file(const struct call *call, int *ret_fd, struct xp_err *reterr)
{
	const json_t *spec = call->tool->spec ? xp_mcp_argument(call->arguments, "spec") : NULL;
	xp_auto_builder text = { 0 };
	struct xp_json json = { .out = &text };

	*ret_fd = -1;
	if (!spec)
		return 0;
	xp_json_value(&json, spec);
	xp_auto_fd fd = memfd_create("spec", MFD_CLOEXEC);
	if (fd < 0)
		return xp_fail_sys(reterr, errno, "memfd_create", "spec");
	for (size_t done = 0; done < text.len;) {
		ssize_t n = write(fd, text.data + done, text.len - done);

		if (n < 0)
			return xp_fail_sys(reterr, errno, "write", "spec");
		done += (size_t)n;
	}
	*ret_fd = xp_steal_fd(&fd);
	return 0;
}

static int start(struct xp_mcp *mcp, struct call *call, const char *command, struct xp_err *reterr)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	const char *const *argv;
	xp_auto_fd spec = -1;
	int rc = xp_mcp_command_line(call->tool, command, call->arguments, arena, &argv, reterr);

	if (!rc)
		rc = spec_file(call, &spec, reterr);
	return rc ? rc : xp_calls_start(mcp->calls, argv, spec, call, reterr);
}

static bool is_on(const json_t *arguments, const char *key)
{
	return json_is_true(json_object_get(arguments, key));
}

/* Only what may bring the agent in is validated first; a kept capture and host inventories touch no target. */
static bool wants_validation(const struct call *call)
{
	const json_t *arguments = call->arguments;

	return call->tool->may_mutate && !is_on(arguments, "allow_target_mutation") && !xp_mcp_argument(arguments, "input") &&
	       !is_on(arguments, "cpu_sample") && !is_on(arguments, "syscall_aggregate");
}

static int refuse_second_capture(const struct xp_mcp *mcp, const struct call *call, struct xp_err *reterr)
{
	for (const struct call *other = mcp->first; other && call->tool->captures; other = other->next) {
		if (other == call || !other->tool->captures)
			continue;
		int rc = xp_fail(reterr, XP_E_TARGET_BUSY, "a %s of this session is still running; one capture at a time",
				 other->tool->name);

		xp_err_detail(reterr, "holder", json_string("this xprobe mcp session"));
		xp_err_hint(reterr, "wait for its answer, or cancel it");
		return rc;
	}
	return 0;
}

static int fail_ended(struct xp_err *reterr)
{
	return xp_fail(reterr, XP_E_CANCELLED, "the session ended before there was any result");
}

static void begin_call(struct xp_mcp *mcp, json_t *id, const json_t *params)
{
	const struct xp_mcp_tool *tool = xp_mcp_tool_find(json_string_value(json_object_get(params, "name")));
	json_t *arguments = json_object_get(params, "arguments");
	xp_auto_err err = { 0 };

	if (!tool)
		return send_error(mcp, id, INVALID_PARAMS, "params.name is not a tool of xprobe; tools/list names them");
	if (arguments && !json_is_object(arguments))
		return send_error(mcp, id, INVALID_PARAMS, "params.arguments is not an object");
	if (call_of(mcp, id))
		return send_error(mcp, id, INVALID_REQUEST, "a request of this id is under way");
	struct call *call = calloc(1, sizeof(*call));
	if (!call)
		return send_error(mcp, id, INVALID_REQUEST, "out of memory");
	*call = (struct call){
		.next = mcp->first, .tool = tool, .id = json_incref(id), .arguments = arguments ? json_incref(arguments) : json_object()
	};
	mcp->first = call;
	call->validating = wants_validation(call);
	int rc = mcp->ending ? fail_ended(&err) : refuse_second_capture(mcp, call, &err);
	if (!rc)
		rc = start(mcp, call, call->validating ? "validate" : tool->command, &err);
	if (rc)
		answer_failed(mcp, call, &err);
}

void xp_mcp_done(struct xp_mcp *mcp, const struct xp_call_news *news)
{
	struct call *call = news->owner;
	xp_auto_err err = { 0 };
	char why[128];
	json_t *document = news->cut ? NULL : xp_json_parse(news->text, news->len, why, sizeof(why));

	if (!document) {
		xp_fail(&err, XP_E_INTERNAL, "the command %s of this tool ended without a whole document", call->tool->command);
		answer_failed(mcp, call, &err);
		return;
	}
	bool mutation = is_on(json_object_get(document, "requirements"), "target_mutation");
	if (!call->validating || call->cancelled || mutation || json_is_false(json_object_get(document, "ok"))) {
		answer(mcp, call, document,
		       call->validating && mutation
			       ? "Nothing was run: this would bring the agent into the target, where it stays mapped and leaves "
				 "kernel launches dearer. Ask the user; then call again with allow_target_mutation: true."
			       : NULL);
		return;
	}
	json_decref(document);
	call->validating = false;
	if (mcp->ending ? fail_ended(&err) : start(mcp, call, call->tool->command, &err))
		answer_failed(mcp, call, &err);
}

static void initialize(struct xp_mcp *mcp, json_t *id, const json_t *params)
{
	const char *asked = json_string_value(json_object_get(params, "protocolVersion")), *version = versions[0];

	for (size_t i = 0; asked && i < XP_LEN(versions); i++)
		if (!strcmp(asked, versions[i]))
			version = versions[i];
	send_result(mcp, id,
		    json_pack("{s:s, s:{s:{}}, s:{s:s, s:s}, s:s}", "protocolVersion", version, "capabilities", "tools", "serverInfo",
			      "name", "xprobe", "version", XPROBE_VERSION, "instructions", instructions));
}

static void cancel(struct xp_mcp *mcp, const json_t *params)
{
	struct call *call = call_of(mcp, json_object_get(params, "requestId"));

	/* A second signal would give the artifact up (contract 6.10). */
	if (!call || call->cancelled)
		return;
	call->cancelled = true;
	xp_calls_interrupt(mcp->calls, call);
}

static void request(struct xp_mcp *mcp, const char *method, json_t *id, const json_t *params)
{
	if (!strcmp(method, "initialize"))
		initialize(mcp, id, params);
	else if (!strcmp(method, "ping"))
		send_result(mcp, id, json_object());
	else if (!strcmp(method, "tools/list"))
		send_result(mcp, id, xp_mcp_tool_list());
	else if (!strcmp(method, "tools/call"))
		begin_call(mcp, id, params);
	else
		send_error(mcp, id, UNKNOWN_METHOD, "this server knows initialize, ping, tools/list and tools/call");
}

void xp_mcp_message(struct xp_mcp *mcp, const char *text, size_t len)
{
	char why[128];

	if (strspn(text, " \t\r") == len)
		return;
	json_t *message = xp_json_parse(text, len, why, sizeof(why));
	json_t *id = json_object_get(message, "id");
	const char *method = json_string_value(json_object_get(message, "method"));
	bool known_id = json_is_string(id) || json_is_integer(id);

	if (!message)
		send_error(mcp, NULL, PARSE_ERROR, "not one JSON document a line");
	else if (json_object_get(message, "result") || json_object_get(message, "error"))
		; /* an answer, though nothing was asked */
	else if (!method || (id && !known_id))
		send_error(mcp, known_id ? id : NULL, INVALID_REQUEST,
			   "not a JSON-RPC 2.0 request with a method and an id of text or number");
	else if (id)
		request(mcp, method, id, json_object_get(message, "params"));
	else if (!strcmp(method, "notifications/cancelled"))
		cancel(mcp, json_object_get(message, "params"));
	json_decref(message);
}

void xp_mcp_too_long(struct xp_mcp *mcp)
{
	send_error(mcp, NULL, PARSE_ERROR, "a line above 4 MiB was skipped");
}

void xp_mcp_end(struct xp_mcp *mcp)
{
	mcp->ending = true;
	for (struct call *call = mcp->first; call; call = call->next)
		if (call->tool->captures && !call->cancelled)
			xp_calls_interrupt(mcp->calls, call);
}

bool xp_mcp_heard(const struct xp_mcp *mcp)
{
	return !mcp->deaf;
}

void xp_mcp_free(struct xp_mcp *mcp)
{
	while (mcp && mcp->first)
		drop(mcp, mcp->first);
	free(mcp);
}
