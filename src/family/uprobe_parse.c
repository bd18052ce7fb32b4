/* SPDX-License-Identifier: Apache-2.0 */
/* uprobe:PATH:TARGET:entry|return. In: text. Out: path, name, version or offset, boundary. No state. */
#include "family/uprobe_parse.h"

#include <string.h>

#include "base/parse.h"
#include "family/grammar.h"

enum { MAX_SELECTOR = 8192 };

static const char full_mark[] = ":symbol=";

static int refuse(struct xp_err *reterr, const char *text, const char *why)
{
	return xp_grammar_refuse(reterr, text, XP_UPROBE_GRAMMAR, why);
}

/* "NAME", "NAME@V" or "NAME@@V"; a name may begin with '@'. */
static int parse_symbol(const char *text, const char *target, struct xp_arena *arena, struct xp_endpoint *ep, struct xp_err *reterr)
{
	const char *at = *target ? strchr(target + 1, '@') : NULL;

	if (!*target)
		return refuse(reterr, text, "it names no function");
	ep->uprobe.target = XP_UPROBE_SYMBOL;
	ep->uprobe.name = at ? xp_arena_dup(arena, target, (size_t)(at - target)) : target;
	if (!at)
		return 0;
	ep->uprobe.default_version = at[1] == '@';
	ep->uprobe.version = at + 1 + ep->uprobe.default_version;
	if (!*ep->uprobe.version || strchr(ep->uprobe.version, '@'))
		return refuse(reterr, text, "behind @ or @@ comes one version name");
	return 0;
}

static int parse_offset(const char *text, const char *digits, struct xp_endpoint *ep, struct xp_err *reterr)
{
	ep->uprobe.target = XP_UPROBE_OFFSET;
	if (!xp_parse_hex(digits, &ep->uprobe.offset))
		return refuse(reterr, text, "behind +0x comes a file offset in hexadecimal digits");
	return 0;
}

static int parse_boundary(const char *text, const char *word, struct xp_endpoint *ep, struct xp_err *reterr)
{
	bool at_return = !strcmp(word, "return");

	if (!at_return && strcmp(word, "entry") != 0)
		return refuse(reterr, text, "the boundary must be entry or return");
	ep->boundary = at_return ? XP_AT_EXIT : XP_AT_ENTRY;
	ep->type = at_return ? XP_EV_HOST_FUNCTION_EXIT : XP_EV_HOST_FUNCTION_ENTRY;
	return 0;
}

int xp_uprobe_parse(const char *text, struct xp_arena *arena, struct xp_endpoint *ep, struct xp_err *reterr)
{
	if (strlen(text) > MAX_SELECTOR) {
		refuse(reterr, "uprobe selector", "it is too long");
		xp_err_limit(reterr, "selector_bytes", strlen(text), 1, MAX_SELECTOR);
		return -XP_E_INVALID_EVENT_SELECTOR;
	}
	if (strncmp(text, "uprobe:", 7) != 0)
		return refuse(reterr, text, "it does not begin with uprobe:");

	char *path = xp_arena_str(arena, text + 7), *boundary = strrchr(path, ':');
	if (!boundary)
		return refuse(reterr, text, "it has no boundary");
	*boundary++ = '\0';
	int rc = parse_boundary(text, boundary, ep, reterr);
	if (rc)
		return rc;

	char *full = strstr(path, full_mark), *target = full ? full : strrchr(path, ':');
	if (!target)
		return refuse(reterr, text, "it names no function");
	*target++ = '\0';
	if (!*path)
		return refuse(reterr, text, "it names no file");
	ep->uprobe.path = path;
	if (!full)
		return !strncmp(target, "+0x", 3) ? parse_offset(text, target + 3, ep, reterr)
						  : parse_symbol(text, target, arena, ep, reterr);
	ep->uprobe.target = XP_UPROBE_FULL_NAME;
	ep->uprobe.name = full + strlen(full_mark);
	return *ep->uprobe.name ? 0 : refuse(reterr, text, "symbol= names no function");
}
