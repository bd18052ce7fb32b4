# SPDX-License-Identifier: Apache-2.0
"""H1, H5: every command, success and failure, prints exactly one document; a closed, full or broken stdout is told on stderr, with exit 1."""
import json
import os
import resource
import subprocess
import tempfile
import time

import xp

NOBODY = xp.unused_pid()
PAIR = ["--from", "syscall:mmap:entry", "--to", "syscall:mmap:exit", "--match", "exact"]
SPEC = {"schema_version": "2.0", "name": None, "target": {"pid": NOBODY, "process_start_time": 1}, "start_selector": "syscall:mmap:entry",
        "end_selector": "syscall:mmap:exit", "match_policy": "exact", "samples": 7, "duration_ms": None, "timeout_ms": 1000, "max_events": 100}


def commands():
    """Command lines whose document does not depend on rights, each with the code that it ends with (None: success)."""
    spec = xp.spec_file(SPEC)
    broken = {
        "not JSON": "{",
        "two documents": json.dumps(SPEC) * 2,
        "duplicate key": json.dumps(SPEC)[:-1] + ',"name":"x"}',
        "unknown field": json.dumps({**SPEC, "colour": 1}),
        "missing field": json.dumps({key: value for key, value in SPEC.items() if key != "end_selector"}),
        "wrong type": json.dumps({**SPEC, "samples": "7"}),
        "another version": json.dumps({**SPEC, "schema_version": "9.0"}),
        "array": "[]",
        "empty": "",
    }
    yield ["doctor"], None
    yield ["dev", "lists"], None
    yield ["validate", "--pid", NOBODY, *PAIR], "TARGET_NOT_FOUND"
    yield ["validate", "--spec", spec], "TARGET_NOT_FOUND"
    yield ["measure", "--pid", NOBODY, *PAIR, "--samples", 7], "TARGET_NOT_FOUND"
    yield ["measure", "--pid", NOBODY, "--triage", "--duration-ms", 100], "TARGET_NOT_FOUND"
    yield ["measure", "--pid", NOBODY, "--syscall-aggregate", "--duration-ms", 100], "TARGET_NOT_FOUND"
    yield ["measure", "--spec", spec], "TARGET_NOT_FOUND"
    yield ["measure", "--spec", xp.spec_file({**SPEC, "samples": 0}, "bounds.json")], "SESSION_LIMIT_EXCEEDED"
    yield ["measure", "--spec", "/nonexistent"], "TRACE_EXPORT_FAILED"
    yield ["measure", "--spec", "/dev/null"], "TRACE_EXPORT_FAILED"
    yield ["measure", "--spec", "/tmp"], "TRACE_EXPORT_FAILED"
    yield ["measure", "--input", "/nonexistent", *PAIR, "--samples", 7], "TRACE_EXPORT_FAILED"
    yield ["measure", "--input", "/dev/zero", *PAIR, "--samples", 7], "TRACE_EXPORT_FAILED"
    yield ["measure", "--pid", os.getpid(), "--from", "nonsense", "--to", "x", "--match", "exact", "--samples", 7], "INVALID_EVENT_SELECTOR"
    yield ["measure", "--pid", os.getpid(), *PAIR[:4], "--match", "closest", "--samples", 7], "INVALID_CORRELATION_POLICY"
    yield ["export", "--input", "/nonexistent", "--format", "jsonl", "--output", xp.scratch() + "/never"], "TRACE_EXPORT_FAILED"
    yield ["inspect", "--pid", NOBODY], "TARGET_NOT_FOUND"
    yield ["resolve", "--pid", NOBODY, "--selector", "uprobe:/bin/true:main:entry"], "TARGET_NOT_FOUND"
    yield ["trace", "--spec", spec], "TARGET_NOT_FOUND"
    yield ["nonsense"], "INVALID_ARGUMENT"
    for index, (name, text) in enumerate(broken.items()):
        yield ["measure", "--spec", xp.spec_file(text, f"broken{index} {name}.json")], "INVALID_EVENT_SELECTOR"


def test_every_command_prints_exactly_one_document():
    for args, code in commands():
        if args[:2] == ["dev", "lists"]:
            xp.parse_stdout(xp.run(*args, text=True, exit=0).out)
            continue
        result = xp.run(*args)
        assert result.code == code, f"{result.code} in place of {code}\n{result}"


def test_hostile_words_come_back_as_valid_text():
    for word in (b"\xff\xfe", b"a\x01b", b'"\\', "\u2028\u00e9".encode(), b"x" * 9000, b"\xed\xa0\x80"):
        result = xp.finish(xp.start("measure", "--pid", os.getpid(), "--samples", 7, "--match", "exact", "--to", "syscall:mmap:exit", "--from",
                                    prefix=["python3", "-c", "import os,sys; os.execv(sys.argv[1].encode(), [a.encode() for a in sys.argv[1:]] + "
                                            f"[{word!r}])"]))
        assert result.code == "INVALID_EVENT_SELECTOR", result


def test_human_errors_are_on_stderr_alone_with_the_same_exit():
    for args, code in commands():
        if code:
            result = xp.run(*args, "--human", text=True)
            assert result.exit == xp.EXITS.get(code, 1) and result.out == b"" and code.encode() in result.err, result


def test_no_ansi_sequence_leaves_without_a_terminal():
    assert b"\x1b" not in xp.run("doctor", "--human", text=True, exit=0).out


def run_with(redirection, args):
    """The command under sh with a redirection; its own TMPDIR, which must stay empty."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["sh", "-c", f'exec "$@" {redirection}', "sh", xp.XPROBE, *map(str, args)], capture_output=True, timeout=30,
                              env={**os.environ, "TMPDIR": folder})
        assert os.listdir(folder) == [], f"{args} left {os.listdir(folder)}"
    return done


def test_closed_stdout_is_exit_1_before_anything_happens():
    for args, _ in [*commands(), (["--help"], None), (["--version"], None)]:
        done = run_with(">&-", args)
        assert done.returncode == 1 and b"OUTPUT_FAILED" in done.stderr, (args, done)


def test_full_stdout_is_exit_1():
    for args, _ in [*commands(), (["--help"], None), (["measure", "--help"], None), (["--version"], None)]:
        done = run_with(">/dev/full", args)
        assert done.returncode == 1 and b"OUTPUT_FAILED" in done.stderr, (args, done)


def test_closed_stdin_and_stderr_change_nothing():
    for args, code in commands():
        done = run_with("<&- 2>&-", args)
        assert done.returncode == (xp.EXITS.get(code, 1) if code else 0), (args, done)
        xp.parse_stdout(done.stdout)


def test_all_three_closed():
    for args, _ in commands():
        assert run_with("<&- >&- 2>&-", args).returncode == 1, args


def test_a_reader_that_is_gone_is_exit_1_and_no_signal():
    for args, _ in commands():
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([xp.XPROBE, *map(str, args)], stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, timeout=30)
        os.close(writer)
        assert done.returncode == 1 and b"OUTPUT_FAILED" in done.stderr, (args, done)


def test_no_core_file_is_left_whatever_ends_it():
    """SIGQUIT from a terminal left one where the shell allows them."""
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if not hard:
        raise xp.Skip("no process may leave a core file here")
    process = subprocess.Popen([xp.XPROBE, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (hard, hard)))
    deadline = time.monotonic() + 10
    while resource.prlimit(process.pid, resource.RLIMIT_CORE)[0]:
        assert time.monotonic() < deadline, "core files are allowed"
        time.sleep(0.01)
    process.stdin.close()
    assert process.wait(10) == 0


def test_stdin_is_never_read():
    with open(os.path.join(xp.scratch(), "input"), "wb+") as file:
        file.write(b"measure\n")
        file.seek(0)
        xp.run("doctor", stdin=file)
        assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == 0


if __name__ == "__main__":
    xp.main()
