# SPDX-License-Identifier: Apache-2.0
"""Contract 6.2 as a table: each flag in each mode, its bounds from both sides, every conflict.

The target is a pid that nobody has. Flags are checked completely before the target is looked at, so a good command line ends in
TARGET_NOT_FOUND and a bad one never does.
"""
import xp

NOBODY = xp.unused_pid()
FINE = "TARGET_NOT_FOUND"
PAIR = ["--from", "syscall:mmap:entry", "--to", "syscall:mmap:exit", "--match", "exact"]
MODES = {
    "E": ["--pid", NOBODY, *PAIR, "--samples", 7],
    "I": ["--input", "/nonexistent/events.jsonl", *PAIR, "--samples", 7],
    "S": ["--spec", "/nonexistent/spec.json"],
    "A": ["--pid", NOBODY, "--from", "cuda:kernel_start", "--to", "cuda:kernel_end", "--match", "exact", "--aggregate", "--duration-ms", 100],
    "C": ["--pid", NOBODY, "--cpu-sample", "--duration-ms", 100],
    "Y": ["--pid", NOBODY, "--syscall-aggregate", "--duration-ms", 100],
    "T": ["--pid", NOBODY, "--triage", "--duration-ms", 100],
}
# How a good command line ends: no such process, or no such file.
GOOD = {mode: "TRACE_EXPORT_FAILED" if mode in "IS" else FINE for mode in MODES}

# flag: modes, minimum, maximum
NUMBERS = {
    "--samples": ("EI", 1, 10_000_000),
    "--duration-ms": ("EIACYT", 1, 3_600_000),
    "--timeout-ms": ("EACYT", 1, 3_600_000),
    "--max-events": ("EI", 1, 50_000_000),
    "--max-groups": ("ACY", 1, 1_048_576),
    "--frequency-hz": ("CT", 1, 10_000),
    "--max-samples": ("C", 1, 10_000_000),
    "--stack-depth": ("CT", 1, 512),
    "--max-threads": ("C", 1, 65_536),
    "--max-inflight": ("Y", 1, 65_536),
}
# flag: modes, a value that is fine (None: a switch)
OTHERS = {
    "--name": ("EIACYT", "a name"),
    "--events-out": ("EISCT", "/tmp/xprobe-contract-never-written"),
    "--evidence": ("EISACYT", "full"),
    "--agent": ("ESAT", "/nonexistent/libxprobe-agent.so"),
    "--max-cost": ("ESACYT", "0.5"),
    "--max-unmatched": ("EIS", "0.5"),
    "--cuda-major": ("ESAT", "12"),
    "--records-only": ("ESAT", None),
    "--allow-cxx-return": ("ES", None),
    "--off-cpu": ("C", None),
    "--tree": ("T", None),
    "--threads": ("CYT", "name~worker"),
}
# Answers of their own for a flag outside its modes.
ELSEWHERE = {("--agent", "I"): "INVALID_EVENT_SELECTOR"}


def measure(mode, *flags, without=()):
    """The base command line of a mode, with flags replaced or added."""
    line = [str(word) for word in MODES[mode]]
    for flag in {str(flag) for flag in flags if str(flag).startswith("--")} | set(without):
        if flag in line:
            at = line.index(flag)
            del line[at:at + (1 if flag in ("--aggregate", "--cpu-sample", "--syscall-aggregate", "--triage") else 2)]
    return ["measure", *line, *map(str, flags)]


def expect(code, args):
    result = xp.run(*args, timeout=20)
    assert result.code == code, f"{result.code} in place of {code}\n{result}"
    return result.details


def expect_limit(args, flag, value, minimum, maximum):
    limit = expect("SESSION_LIMIT_EXCEEDED", args)["limit"]
    assert limit["name"].replace("_", "-") == flag.lstrip("-"), f"limit {limit} for {flag}"
    assert (limit["value"], limit["minimum"], limit["maximum"]) == (value, minimum, maximum), f"limit {limit} for {flag}"


def bounds_of(flag, mode):
    _, minimum, maximum = NUMBERS[flag]
    return (100, 600_000) if flag == "--duration-ms" and mode == "T" else (minimum, maximum)


def test_the_plain_command_line_of_each_mode_reaches_its_target():
    for mode in MODES:
        expect(GOOD[mode], measure(mode))


def test_numbers_take_their_bounds_and_nothing_beyond():
    for flag, (modes, _, _) in NUMBERS.items():
        for mode in modes:
            minimum, maximum = bounds_of(flag, mode)
            # A timeout below the duration is another conflict, so that both move together.
            both = ["--timeout-ms", maximum] if flag == "--duration-ms" and mode != "I" else \
                ["--duration-ms", 100 if mode == "T" else 1] if flag == "--timeout-ms" and mode != "E" else []
            low = 100 if flag == "--timeout-ms" and mode == "T" else minimum
            expect(GOOD[mode], measure(mode, flag, low, *both))
            expect(GOOD[mode], measure(mode, flag, maximum, *both))
            expect_limit(measure(mode, flag, maximum + 1), flag, maximum + 1, minimum, maximum)
            expect_limit(measure(mode, flag, minimum - 1), flag, minimum - 1, minimum, maximum)
            if (flag, mode) != ("--duration-ms", "T"):  # refused before the mode is known
                expect_limit(measure(mode, flag, 2**64 - 1), flag, 2**64 - 1, minimum, maximum)


def test_numbers_take_nothing_but_digits():
    for flag, (modes, _, _) in NUMBERS.items():
        for text in ("x", "", "-1", "1.5", "0x10", "1 ", "10ms", "99999999999999999999999"):
            expect("INVALID_ARGUMENT", measure(modes[0], flag, text))


def test_a_flag_outside_its_modes_is_refused():
    numbers = {flag: (modes, str(minimum)) for flag, (modes, minimum, _) in NUMBERS.items()}
    for flag, (modes, value) in {**numbers, **OTHERS}.items():
        for mode in MODES:
            if mode not in modes:
                expect(ELSEWHERE.get((flag, mode), "INVALID_ARGUMENT"), measure(mode, flag, *([] if value is None else [value])))


def test_every_other_flag_is_taken_in_its_modes():
    for flag, (modes, value) in OTHERS.items():
        for mode in modes:
            expect(GOOD[mode], measure(mode, flag, *([] if value is None else [value])))


def test_a_flag_given_twice_is_refused_unless_it_repeats():
    for mode, flag, value in (("E", "--samples", 7), ("E", "--from", "syscall:mmap:entry"), ("T", "--duration-ms", 100), ("Y", "--name", "x")):
        expect("INVALID_ARGUMENT", [*measure(mode), flag, value] if flag in MODES[mode] else measure(mode, flag, value, flag, value))
    expect("INVALID_ARGUMENT", [*measure("E"), "--pid", NOBODY])
    expect("TRACE_EXPORT_FAILED", [*measure("I"), "--input", "/nonexistent/second"])


def test_equals_sign_and_blank_are_the_same():
    expect(FINE, ["measure", f"--pid={NOBODY}", "--from=syscall:mmap:entry", "--to=syscall:mmap:exit", "--match=exact", "--samples=7"])


def test_modes_and_sources_exclude_each_other():
    switches = ["--aggregate", "--cpu-sample", "--syscall-aggregate", "--triage"]
    for first in switches:
        for second in switches:
            if first < second:
                expect("INVALID_ARGUMENT", ["measure", "--pid", NOBODY, first, second, "--duration-ms", 100])
    for flags in (["--pid", NOBODY], PAIR[:2], PAIR[2:4], PAIR[4:], ["--samples", 7], ["--duration-ms", 100], ["--timeout-ms", 100],
                  ["--max-events", 10], ["--triage"], ["--input", "/nonexistent/x"], ["--name", "x"]):
        expect("INVALID_ARGUMENT", [*measure("S"), *flags])
    expect("INVALID_EVENT_SELECTOR", measure("I", "--pid", NOBODY))
    expect("INVALID_ARGUMENT", ["measure"])
    expect("INVALID_ARGUMENT", [*measure("T"), "--tree", "--pid", NOBODY - 1])
    for switch in ("--cpu-sample", "--syscall-aggregate", "--triage"):
        expect("INVALID_ARGUMENT", ["measure", "--pid", NOBODY, switch, "--duration-ms", 100, *PAIR])


def test_what_is_required_is_asked_for():
    for mode in "EI":
        expect("INVALID_EVENT_SELECTOR", measure(mode, without=["--from"]))
        expect("INVALID_EVENT_SELECTOR", measure(mode, without=["--to"]))
        expect("INVALID_CORRELATION_POLICY", measure(mode, without=["--match"]))
        expect("INVALID_CORRELATION_POLICY", measure(mode, "--match", "closest"))
    expect("SESSION_LIMIT_EXCEEDED", measure("E", without=["--samples"]))
    for mode in "ACYT":
        expect("SESSION_LIMIT_EXCEEDED", measure(mode, without=["--duration-ms"]))
    expect("INVALID_ARGUMENT", ["measure", "--triage", "--duration-ms", 100])


def test_a_duration_above_the_timeout_is_refused_where_the_window_is_fixed():
    for mode in "ACYT":
        expect("SESSION_LIMIT_EXCEEDED", measure(mode, "--duration-ms", 5000, "--timeout-ms", 4999))
        expect(GOOD[mode], measure(mode, "--duration-ms", 5000, "--timeout-ms", 5000))
    expect("SESSION_LIMIT_EXCEEDED", measure("T", "--duration-ms", 30_001))


def test_policies_have_two_spellings():
    for spelling in ("first-after", "first_after", "nearest", "exact"):
        expect(FINE, measure("E", "--match", spelling))
    pair = ["--from", "uprobe:/bin/true:main:entry", "--to", "uprobe:/bin/true:main:return"]
    for spelling in ("stack-nested", "stack_nested"):
        expect(FINE, measure("E", *pair, "--match", spelling))


def test_shares_lie_between_0_and_1():
    for flag in ("--max-cost", "--max-unmatched"):
        for text in ("0", "1", "0.05", "1e-3"):
            expect(FINE, measure("E", flag, text))
        for text in ("1.01", "2"):
            limit = expect("SESSION_LIMIT_EXCEEDED", measure("E", flag, text))["limit"]
            assert limit["name"].replace("_", "-") == flag[2:] and limit["maximum"] == 1, limit
        for text in ("-0.1", "x", "", "nan", "inf", "0.5x", "5%"):
            expect("INVALID_ARGUMENT", measure("E", flag, text))


def test_pid_is_a_number_from_1():
    for text in ("0", "x", "-1", "4294967296", ""):
        result = xp.run("measure", "--pid", text, *PAIR, "--samples", 7)
        assert result.exit in (1, 2) and result.code in ("INVALID_ARGUMENT", "SESSION_LIMIT_EXCEEDED"), result
    assert xp.run("measure", "--pid", "x", *PAIR, "--samples", 7).exit == 2


def test_at_most_16_processes_and_64_inputs():
    pids = [word for i in range(17) for word in ("--pid", str(NOBODY - i))]
    for command in (["measure", "--duration-ms", 100], ["validate"]):
        expect(FINE, [*command, *pids[:32], "--triage"])
        expect_limit([*command, *pids, "--triage"], "--pid", 17, 1, 16)
        expect("INVALID_ARGUMENT", [*command, *pids[:4], *pids[:2], "--triage"])
        expect("INVALID_ARGUMENT", [*command, *pids[:4], "--tree", "--triage"])
        expect(FINE, [*command, *pids[:2], "--tree", "--triage"])
    inputs = [word for _ in range(64) for word in ("--input", "/nonexistent/x")]
    expect("TRACE_EXPORT_FAILED", ["measure", *PAIR, "--samples", 7, *inputs])
    result = xp.run(*measure("I"), *inputs)
    assert result.code in ("SESSION_LIMIT_EXCEEDED", "INVALID_ARGUMENT"), result


def test_formats_go_with_events_out_and_their_modes():
    out = ["--events-out", "/tmp/xprobe-contract-never-written"]
    for mode in "EISCT":
        expect("TRACE_EXPORT_FAILED", measure(mode, "--format", {"C": "folded", "T": "html"}.get(mode, "jsonl")))
    for mode, fine in (("E", ["jsonl", "chrome"]), ("I", ["jsonl", "chrome"]), ("C", ["folded", "speedscope"]), ("T", ["html"])):
        for name in ("jsonl", "chrome", "folded", "speedscope", "html", "pprof", "xml", ""):
            expect(GOOD[mode] if name in fine else "INVALID_ARGUMENT", measure(mode, "--format", name, *out))
    for mode in "AY":
        expect("INVALID_ARGUMENT", measure(mode, "--format", "jsonl", *out))


def test_evidence_is_summary_or_full():
    for text in ("summary", "full"):
        expect(FINE, measure("E", "--evidence", text))
    expect("INVALID_ARGUMENT", measure("E", "--evidence", "some"))


def test_threads_take_a_name_pattern():
    expect(FINE, measure("Y", "--threads", "name~^worker-[0-9]+$"))
    for text in ("worker", "name~(", "name~(?=x)", "comm~x"):
        result = xp.run(*measure("Y", "--threads", text))
        assert result.code in ("INVALID_EVENT_SELECTOR", "INVALID_ARGUMENT"), result


def test_name_is_at_most_256_bytes():
    expect(FINE, measure("E", "--name", "x" * 256))
    result = xp.run(*measure("E", "--name", "x" * 257))
    assert result.code in ("SESSION_LIMIT_EXCEEDED", "INVALID_ARGUMENT"), result


def test_min_block_goes_with_off_cpu():
    expect(GOOD["C"], measure("C", "--off-cpu", "--min-block-us", 10_000_000))
    expect("INVALID_ARGUMENT", measure("C", "--min-block-us", 1000))
    expect("INVALID_ARGUMENT", measure("T", "--min-block-us", 1000))
    expect_limit(measure("C", "--off-cpu", "--min-block-us", 10_000_001), "--min-block-us", 10_000_001, 1, 10_000_000)


def test_validate_takes_one_form():
    base = ["validate", "--pid", NOBODY]
    for form in ([*PAIR], ["--syscall-aggregate"], ["--triage"], ["--syscall-aggregate", "--threads", "name~x"]):
        expect(FINE, [*base, *form])
    for form in (["--cpu-sample", "--triage"], ["--cpu-sample", "--syscall-aggregate"], ["--syscall-aggregate", *PAIR], ["--triage", *PAIR[:2]],
                 ["--cpu-sample", "--records-only"], ["--syscall-aggregate", "--cuda-major", "13"], ["--cpu-sample", "--tree"],
                 ["--spec", "/nonexistent/x"], ["--samples", "7"], ["--duration-ms", "100"]):
        expect("INVALID_ARGUMENT", [*base, *form])
    expect("TRACE_EXPORT_FAILED", ["validate", "--spec", "/nonexistent/x"])
    expect("INVALID_ARGUMENT", ["validate", "--spec", "/nonexistent/x", *PAIR])
    expect("INVALID_EVENT_SELECTOR", [*base, *PAIR[2:]])
    expect("INVALID_EVENT_SELECTOR", [*base, *PAIR[:2], *PAIR[4:]])
    expect("INVALID_CORRELATION_POLICY", [*base, *PAIR[:4]])
    expect("INVALID_ARGUMENT", ["validate", *PAIR])


def test_specs_keep_the_bounds_of_the_flags():
    """Contract 6.2: whatever is out of bounds names its limit. A share did not, and a large file was an unreadable one."""
    identity = {"pid": NOBODY, "process_start_time": 1}
    pair = {"schema_version": "2.0", "name": None, "target": identity, "start_selector": "cuda:kernel_start", "end_selector": "cuda:kernel_end",
            "match_policy": "exact", "samples": None, "duration_ms": 500, "timeout_ms": 1000, "max_events": 100}
    groups = {key: value for key, value in pair.items() if key != "max_events"} | {"measurement_mode": "aggregate", "max_groups": 5}
    graph = {"schema_version": "3.0", "name": None, "target": identity, "endpoints": {"a": "syscall:read:entry", "b": "syscall:read:exit"},
             "edges": [{"name": "e", "start": "a", "end": "b", "match_policy": "exact"}], "samples": 1, "duration_ms": None, "timeout_ms": 1000,
             "max_events": 100}
    calls = {"schema_version": "2.0", "name": None, "target": identity, "duration_ms": 500, "timeout_ms": 1000, "max_groups": 5, "max_inflight": 5}

    def run(spec, *flags):
        return ["measure", "--spec", xp.spec_file(spec), *flags]

    for spec in (pair, groups, calls):
        expect(FINE, run(spec))
        expect(FINE, run(spec, "--evidence", "full"))
    expect_limit(run({**pair, "max_cost": 1.5}), "--max-cost", 1.5, 0, 1)
    expect_limit(run({**groups, "max_cost": 7}), "--max-cost", 7, 0, 1)
    expect_limit(run({**groups, "duration_ms": 1001}), "--duration-ms", 1001, 1, 1000)
    expect_limit(run({**calls, "duration_ms": 1001}), "--duration-ms", 1001, 1, 1000)
    with xp.sleeper() as target:
        expect_limit(run({**graph, "target": target.identity(), "max_cost": 3}), "--max-cost", 3, 0, 1)
    limit = expect("SESSION_LIMIT_EXCEEDED", run({**pair, "name": " " * (1 << 20)}))["limit"]
    assert limit["maximum"] == 1 << 20 and limit["value"] > 1 << 20, limit
    # Nothing but events and CPU samples goes to a file of the caller's; the flag was taken and forgotten.
    for spec in (groups, calls):
        expect("INVALID_ARGUMENT", run(spec, "--events-out", "/tmp/xprobe-contract-never-written"))


def test_hidden_commands_refuse_what_they_do_not_know():
    selector = "uprobe:/bin/true:main:entry"
    expect("INVALID_ARGUMENT", ["resolve", "--pid", NOBODY, "--selector", selector, "--event", selector])
    expect(FINE, ["resolve", "--pid", NOBODY, "--event", selector])
    expect(FINE, ["dev", "agent", "--pid", NOBODY, "status"])
    expect(FINE, ["capture", "agent", "--pid", NOBODY, "disarm"])
    for words in (["agent", "--pid", NOBODY], ["agent", "--pid", NOBODY, "arm"], ["agent", "status"], ["agent", "--pid", NOBODY, "status", "x"],
                  ["lists", "x"], ["uprobe", "x"], ["cupti", "x"], ["nothing"], []):
        expect("INVALID_ARGUMENT", ["dev", *words])


def test_hints_name_only_what_the_error_has():
    """It said `use details.recommended_policy` where there was none."""
    for args in (measure("E", without=["--match"]), measure("E", "--match", "closest"), measure("A", "--match", "nearest")):
        result = xp.run(*args, code="INVALID_CORRELATION_POLICY") if "nearest" not in args else xp.run(*args)
        assert not any("details." in hint for hint in result.error["hints"]), result


def test_global_flags_and_commands():
    for args in (["doctor", "--samples", "1"], ["doctor", "--json", "--json"], ["doctor", "word"], ["doctr"], ["--json"], ["measure", "--no-such"],
                 ["doctor", "--no-such=1"], ["doctor", "--json=1"], ["measure", "--pid"]):
        expect("INVALID_ARGUMENT", args)
    result = xp.run("doctor", "--json", "--human", text=True)
    assert result.exit == 2, result
    assert xp.run(text=True, exit=2).err.startswith(b"usage"), "usage on stderr without a command"


if __name__ == "__main__":
    xp.main()
