// SPDX-License-Identifier: Apache-2.0
/* Building of findings and their next steps. Everything lives in the list's arena. */
#include "triage/finding.h"

#include <stdio.h>
#include <string.h>

#include "triage/size.h"

static void decref(void *value)
{
	json_decref(value);
}

struct xp_finding *xp_finding_add(struct xp_findings *list, const char *code, const char *subject, double window_share, json_t *evidence)
{
	struct xp_finding *finding = xp_arena_new_of(list->arena, struct xp_finding);

	if (list->n == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 16;
		struct xp_finding **bigger = xp_arena_array(list->arena, struct xp_finding *, cap);

		if (list->n)
			memcpy(bigger, list->at, list->n * sizeof(*bigger));
		list->at = bigger;
		list->cap = cap;
	}
	list->at[list->n++] = finding;
	finding->code = code;
	finding->subject = xp_utf8_cut(list->arena, subject, 256, NULL);
	if (window_share >= 0)
		finding->window_share = (struct xp_opt_f64)XP_SOME(window_share > 1 ? 1 : window_share);
	finding->evidence = evidence ? evidence : json_object();
	xp_arena_defer(list->arena, decref, finding->evidence);
	return finding;
}

void xp_finding_say(struct xp_findings *list, struct xp_finding *finding, const char *fmt, ...)
{
	char text[640];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	finding->message = xp_utf8_cut(list->arena, text, sizeof(text), NULL);
}

void xp_finding_absorb(struct xp_finding *finding, const char *code, const char *subject, struct xp_opt_f64 window_share)
{
	json_t *absorbed = json_object_get(finding->evidence, "absorbed"), *entry = json_object();

	if (!absorbed) {
		absorbed = json_array();
		json_object_set_new(finding->evidence, "absorbed", absorbed);
	}
	json_object_set_new(entry, "code", json_string(code));
	json_object_set_new(entry, "subject", xp_json_text(subject));
	json_object_set_new(entry, "window_share", window_share.set ? json_real(window_share.v) : json_null());
	json_array_append_new(absorbed, entry);
}

static const char *const *copy_words(struct xp_arena *arena, const char *const *words, size_t *ret_n)
{
	size_t n = 0;

	while (words && words[n])
		n++;
	*ret_n = n;
	if (!words)
		return NULL;
	const char **copy = xp_arena_array(arena, const char *, n + 1);
	for (size_t i = 0; i < n; i++)
		copy[i] = xp_arena_str(arena, words[i]);
	return copy;
}

void xp_next_action(struct xp_findings *list, struct xp_finding *finding, const char *code, const char *object, const char *const *command,
		    const char *fmt, ...)
{
	struct xp_next_action *next = xp_arena_new_of(list->arena, struct xp_next_action);
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	next->kind = XP_NEXT_ACTION;
	next->code = code;
	next->message = xp_utf8_cut(list->arena, text, sizeof(text), NULL);
	next->object = xp_arena_str(list->arena, object);
	next->command = copy_words(list->arena, command, &next->n_command);
	finding->next = next;
}

void xp_next_pair(struct xp_findings *list, struct xp_finding *finding, const struct xp_target_id *target, const char *name,
		  double per_second, enum xp_policy_id policy, const char *from, const char *to)
{
	struct xp_next_spec *next = xp_arena_new_of(list->arena, struct xp_next_spec);
	struct xp_measurement_spec *spec = xp_arena_new_of(list->arena, struct xp_measurement_spec);
	struct xp_spec_size size = xp_spec_size_of(per_second);

	spec->name = xp_utf8_cut(list->arena, xp_arena_fmt(list->arena, "triage_%s", name), 64, NULL);
	spec->target = *target;
	spec->target.pid_namespace.set = false; /* absent: the spec stays valid for a reader in another namespace */
	spec->start_selector = from;
	spec->end_selector = to;
	spec->match_policy = policy;
	xp_spec_size_apply(&size, spec);
	spec->measurement_mode = -1;
	next->kind = XP_NEXT_SPEC;
	next->spec = spec;
	finding->next = next;
}

void xp_next_function(struct xp_findings *list, struct xp_finding *finding, const struct xp_target_id *target, const char *name,
		      const char *entry, const char *leave)
{
	xp_next_pair(list, finding, target, name, 0, XP_POLICY_STACK_NESTED, entry, leave);
}

void xp_next_python_gc(struct xp_findings *list, struct xp_finding *finding, const struct xp_target_id *target)
{
	xp_next_pair(list, finding, target, "python_gc", 0, XP_POLICY_EXACT, "python:gc_start", "python:gc_end");
}

void xp_next_syscall(struct xp_findings *list, struct xp_finding *finding, const struct xp_target_id *target, const char *syscall,
		     double per_second)
{
	xp_next_pair(list, finding, target, syscall, per_second, XP_POLICY_EXACT, xp_arena_fmt(list->arena, "syscall:%s:entry", syscall),
		     xp_arena_fmt(list->arena, "syscall:%s:exit", syscall));
}
