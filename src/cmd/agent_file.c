/* SPDX-License-Identifier: Apache-2.0 */
/* Search order of the agent file and the warning on stderr. No state. */
#include "cmd/agent_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AGENT_NAME "libxprobe-agent.so"

static void warn(void *arg, uint32_t pid)
{
	(void)arg;
	fprintf(stderr, "xprobe: warning: activating the CUPTI agent modifies target PID %u\n", pid);
}

static const char *executable_folder(struct xp_arena *arena)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (n <= 0)
		return NULL;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	return xp_arena_str(arena, path);
}

struct xp_agent_place xp_agent_file_place(const struct xp_session *session)
{
	static const char *const beside[] = { "../lib/xprobe/" AGENT_NAME, AGENT_NAME, "agent/" AGENT_NAME };
	struct xp_agent_place place = { .before_change = warn };
	const char *given = xp_flag_text(session, "--agent", getenv("XPROBE_CUPTI_AGENT_PATH")),
		   *folder = executable_folder(session->arena);
	xp_auto_builder tried = { 0 };
	struct stat st;

	if (given && *given) {
		place.agent_path = given; /* named by the caller: no other one is tried */
		return place;
	}
	for (size_t i = 0; folder && i < XP_LEN(beside); i++) {
		char *path = xp_arena_fmt(session->arena, "%s/%s", folder, beside[i]);

		if (!stat(path, &st) && S_ISREG(st.st_mode)) {
			place.agent_path = path;
			return place;
		}
		xp_text_fmt(&tried, "%s%s", tried.len ? ", " : "", path);
	}
	place.tried = xp_arena_str(session->arena, tried.data);
	return place;
}
