/* SPDX-License-Identifier: Apache-2.0 */
/* `measure`: its row in the command list and its flag table (contract 6.2), one row a flag. Constants only. */
#include "cmd/measure.h"

#define E XP_M_EXACT
#define I XP_M_INPUT
#define S XP_M_SPEC
#define A XP_M_AGGREGATE
#define C XP_M_CPU
#define Y XP_M_SYSCALLS
#define T XP_M_TRIAGE

#define NUMBER(flag, value_name, low, high, in, text)                                                                                 \
	{                                                                                                                             \
		.name = (flag), .kind = XP_FLAG_U64, .value = (value_name), .min = (low), .max = (high), .modes = (in), .doc = (text) \
	}
#define TEXT(flag, value_name, in, text)                                                                  \
	{                                                                                                 \
		.name = (flag), .kind = XP_FLAG_TEXT, .value = (value_name), .modes = (in), .doc = (text) \
	}
#define SHARE(flag, in, text)                                                                                         \
	{                                                                                                             \
		.name = (flag), .kind = XP_FLAG_SHARE, .value = "SHARE", .max_share = 1, .modes = (in), .doc = (text) \
	}
#define SWITCH(flag, in, text)                                                       \
	{                                                                            \
		.name = (flag), .kind = XP_FLAG_SWITCH, .modes = (in), .doc = (text) \
	}

/* --pid, --input, --agent answer misuse with codes of their own (measure.c), so their rows allow every mode. */
static const struct xp_flag flags[] = {
	{ .name = "--pid",
	  .kind = XP_FLAG_U64,
	  .value = "PID",
	  .min = 1,
	  .max = UINT32_MAX,
	  .repeatable = true,
	  .doc = "target process; repeatable (16) with --triage" },
	{ .name = "--input",
	  .kind = XP_FLAG_TEXT,
	  .value = "FILE",
	  .repeatable = true,
	  .doc = "measure a completed capture: Event JSONL, host capture, CUPTI file (repeatable, 64 files of 4 GiB)" },
	TEXT("--spec", "FILE", S, "run a spec as it stands (a proposed next step, or your own; up to 1 MiB)"),
	TEXT("--from", "SELECTOR", E | I | A, "start event"),
	TEXT("--to", "SELECTOR", E | I | A, "end event"),
	TEXT("--match", "POLICY", E | I | A, "exact, first-after, nearest, stack-nested, stream-order"),
	NUMBER("--samples", "N", 1, 10000000, E | I, "stop after N pairs (1..10,000,000)"),
	NUMBER("--duration-ms", "N", 1, 3600000, E | I | A | C | Y | T, "window length (1..3,600,000; triage 100..600,000)"),
	NUMBER("--timeout-ms", "N", 1, 3600000, E | A | C | Y | T, "bound of attach and window (default 30,000)"),
	NUMBER("--max-events", "N", 1, 50000000, E | I, "capacity of the capture (default 100,000)"),
	NUMBER("--max-groups", "N", 1, 1048576, A | C | Y, "distinct groups kept (default 256; aggregate 4,096)"),
	TEXT("--name", "TEXT", E | I | A | C | Y | T, "copied into the result (256 bytes)"),
	SWITCH("--aggregate", A, "mode: GPU activities by name, from inside the target"),
	SWITCH("--cpu-sample", C, "mode: CPU stacks"),
	SWITCH("--syscall-aggregate", Y, "mode: every system call by name, with errors and open calls"),
	SWITCH("--triage", T, "mode: one window from every side, ranked findings"),
	NUMBER("--frequency-hz", "N", 1, 10000, C | T, "samples per second of CPU time per thread (default 99)"),
	NUMBER("--max-samples", "N", 1, 10000000, C, "samples kept (default 10,000)"),
	NUMBER("--stack-depth", "N", 1, 512, C | T, "frames kept per stack (default 64)"),
	NUMBER("--max-threads", "N", 1, 65536, C, "threads sampled (default 1,024)"),
	NUMBER("--max-inflight", "N", 1, 65536, Y, "threads inside a call at one time (default 1,024)"),
	SWITCH("--off-cpu", C, "add blocked stacks"),
	NUMBER("--min-block-us", "N", 1, 10000000, C, "shorter blocks give counts, no stack (default 1,000; with --off-cpu)"),
	SWITCH("--tree", T, "the process and its descendants (64)"),
	TEXT("--threads", "name~REGEX", C | Y | T, "only threads whose name matches"),
	TEXT("--events-out", "PATH", E | I | S | C | T, "where the artifact goes (default: a private folder)"),
	TEXT("--format", "FORMAT", E | I | S | C | T,
	     "of --events-out: jsonl, chrome; --cpu-sample: folded, speedscope; --triage and graphs: html"),
	TEXT("--evidence", "MODE", 0, "summary or full: every pair or group inline, no size budget"),
	TEXT("--agent", "PATH", E | I | S | A | T, "CUPTI agent file"),
	SHARE("--max-cost", E | S | A | C | Y | T,
	      "stop when the capture costs more than this share of the target's CPU (default 0.05; 0 = no limit)"),
	SHARE("--max-unmatched", E | I | S, "fail when more than this share stays unmatched"),
	NUMBER("--cuda-major", "N", 12, 13, E | S | A | T, "which libcudart to follow where two are mapped"),
	SWITCH("--records-only", E | S | A | T, "GPU activities without a CUPTI subscription"),
	SWITCH("--allow-cxx-return", E | S, "force the kernel's return probe on C++ and Rust functions (can end the process)"),
};

const struct xp_command xp_command_measure = {
	.name = "measure",
	.summary = "triage a process, or measure exact latencies between two of its events",
	.usage = "  xprobe measure --pid PID --triage --duration-ms N\n"
		 "  xprobe measure --spec FILE\n"
		 "  xprobe measure --pid PID --from SELECTOR --to SELECTOR --match POLICY [--samples N] [--duration-ms N]\n"
		 "  xprobe measure --input FILE... --from SELECTOR --to SELECTOR --match POLICY [--samples N] [--duration-ms N]\n"
		 "  xprobe measure --pid PID --cpu-sample --duration-ms N [--events-out PATH]\n"
		 "  xprobe measure --pid PID --syscall-aggregate --duration-ms N\n",
	.flags = flags,
	.n_flags = XP_LEN(flags),
	.captures = true,
	.run = xp_measure_run,
};
