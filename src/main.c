/* SPDX-License-Identifier: Apache-2.0 */
/* argv -> command table -> exit status. Owns the signal count, the one mutable global of the tool. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/lost_page.h"
#include "cmd/emit.h"
#include "cmd/flags.h"
#include "collect/collector.h"
#include "output/command_line.h"

static volatile sig_atomic_t interrupts;
/* Commands other than captures have nothing to clean up: a signal ends them at once. */
static volatile sig_atomic_t end_at_once, in_json;

static const char cancelled[] =
	"{\"schema_version\":\"2.0\",\"ok\":false,\"error\":{\"code\":\"CANCELLED\",\"message\":"
	"\"a signal ended the command before there was any result\",\"recoverable\":true,\"details\":{\"cancelled\":true},"
	"\"hints\":[]}}\n";

static const char cancelled_human[] = "xprobe: CANCELLED: a signal ended the command before there was any result\n";

int xp_interrupts(void)
{
	return interrupts;
}

static void on_signal(int signum)
{
	interrupts++;
	if (!end_at_once)
		return;
	int fd = in_json ? STDOUT_FILENO : STDERR_FILENO;
	const char *text = in_json ? cancelled : cancelled_human;

	if (write(fd, text, strlen(text)) < 0)
		_exit(1);
	_exit(1);
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < XP_LEN(signals); i++) {
		sigaction(signals[i], &action, NULL);
		sigaddset(&set, signals[i]);
	}
	/* A caller may have blocked them, `mcp` does until here. */
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	xp_lost_pages_read_as_zero();
	signal(SIGXFSZ, SIG_IGN); /* a file over RLIMIT_FSIZE is a write that fails, not our end */
}

static void block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Descriptors 0 to 2 exist afterwards, so that no artifact can land on them. False when stdout was closed. */
static bool open_standard_descriptors(void)
{
	bool stdout_open = fcntl(STDOUT_FILENO, F_GETFD) >= 0;

	for (;;) {
		int fd = open("/dev/null", O_RDWR);

		if (fd < 0)
			break;
		if (fd > STDERR_FILENO) {
			close(fd);
			break;
		}
	}
	return stdout_open;
}

static bool given(int argc, char **argv, const char *word)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], word))
			return true;
	return false;
}

static void choose_output(struct xp_session *session, int argc, char **argv)
{
	bool terminal = isatty(STDOUT_FILENO);

	session->json = given(argc, argv, "--json") || (!terminal && !given(argc, argv, "--human"));
	session->pretty = terminal;
	session->color = terminal && !given(argc, argv, "--no-color") && !getenv("NO_COLOR");
	in_json = session->json;
}

static const char *make_session_id(struct xp_arena *arena, const char *command)
{
	uint32_t nonce = 0;

	if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
		nonce = (uint32_t)getpid() * 2654435761u;
	return xp_arena_fmt(arena, "xp_%s_%d_%08x", command, (int)getpid(), nonce);
}

/*
 * For commands to paste: the path that was typed, where one was, and sudo where that was the way to root. Files of a run belong to that
 * user, so that the next command has to be root's as well.
 */
static const char *make_program(struct xp_arena *arena, const char *typed)
{
	xp_auto_builder text = { 0 };

	xp_text_str(&text, geteuid() == 0 && getenv("SUDO_USER") ? "sudo " : "");
	if (typed && strchr(typed, '/') && typed[0] != '-')
		xp_shell_word(&text, typed);
	else
		xp_text_str(&text, "xprobe");
	return xp_arena_str(arena, text.data);
}

static int print_help(const struct xp_command *command)
{
	xp_auto_builder out = { 0 };

	if (command)
		xp_help_command(command, &out);
	else
		xp_help_overview(&out);
	return xp_emit_bytes(out.data, out.len) ? 0 : 1;
}

static int print_version(void)
{
	static const char version[] = "xprobe " XPROBE_VERSION "\n";

	return xp_emit_bytes(version, sizeof(version) - 1) ? 0 : 1;
}

static int fail(struct xp_session *session, struct xp_err *err)
{
	if (err->code == XP_E_INVALID_ARGUMENT)
		fprintf(stderr, "usage: xprobe %s [FLAGS]; see --help\n", session->command ? session->command->name : "COMMAND");
	return xp_emit_error(session, err);
}

static int run(struct xp_session *session, int argc, char **argv)
{
	xp_auto_err err = { 0 };

	session->command = xp_command_find(argv[1]);
	if (!session->command) {
		xp_fail(&err, XP_E_INVALID_ARGUMENT, "%.100s is not a command of xprobe", argv[1]);
		xp_err_object(&err, "%.100s", argv[1]);
		return fail(session, &err);
	}
	session->session_id = make_session_id(session->arena, session->command->name);
	if (given(argc, argv, "--help") || given(argc, argv, "-h"))
		return print_help(session->command);
	if (xp_flags_parse(session, argc - 2, argv + 2, &err))
		return fail(session, &err);
	if (xp_flag_on(session, "--version"))
		return print_version();
	end_at_once = !session->command->captures;
	int rc = session->command->run(session, &err);
	/* From here on exactly one document leaves; a signal must not cut it. */
	block_signals();
	return rc ? fail(session, &err) : xp_emit_result(session);
}

int main(int argc, char **argv)
{
	bool stdout_open = open_standard_descriptors();
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_session session = { .arena = arena, .warnings = { .arena = arena } };

	session.program = make_program(arena, argc ? argv[0] : NULL);

	catch_signals();
	/* Contract 1.3: no core file, whatever ends us. */
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
	choose_output(&session, argc, argv);
	if (!stdout_open) {
		fprintf(stderr, "xprobe: OUTPUT_FAILED: stdout is closed\n");
		return 1;
	}
	if (argc < 2) {
		fprintf(stderr, "usage: xprobe COMMAND [FLAGS]; see xprobe --help\n");
		if (session.json) {
			xp_auto_err err = { 0 };

			xp_fail(&err, XP_E_INVALID_ARGUMENT, "no command given");
			return xp_emit_error(&session, &err);
		}
		return 2;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return print_help(NULL);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		return print_version();
	return run(&session, argc, argv);
}
